// Events: descriptors that one thread makes readable for another.
#pragma once

#include <cstdint>

#include "platform/file.hpp"

namespace hawser::platform {

/// One that is not readable yet.
Result<FileDescriptor> make_event();
/// Makes EVENT readable until clear_event().
void signal_event(const FileDescriptor& event);
void clear_event(const FileDescriptor& event);

/// One that becomes readable every PERIOD_NS by itself, until clear_event().
Result<FileDescriptor> make_timer(std::uint64_t period_ns);

}  // namespace hawser::platform
