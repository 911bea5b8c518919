// StrictMode: an adapter of hardware pins the memory of a region, and reaches it even when the
// program has unmapped it and has other memory at its address. Here an access would reach the other
// memory, and a registration cache that missed the change would seem to be right. In strict mode
// such an access is refused, with a sentence on standard error.
//
// Ownership: borrows watch, device and attachment. Threads: the adapter's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "platform/memory_watch.hpp"
#include "softrdma/device/device.hpp"
#include "softrdma/memory/region_table.hpp"
#include "softrdma/verbs/attachment.hpp"

namespace softrdma::verbs {

class StrictMode final : private memory::AccessObserver, private hawser::platform::MemoryListener {
 public:
  StrictMode(hawser::platform::MemoryWatch& watch, device::Device& device, Attachment& attachment);
  ~StrictMode() override;
  StrictMode(const StrictMode&) = delete;
  StrictMode& operator=(const StrictMode&) = delete;

  /// MEMORY is about to be registered for ACCESS (ibv_access_flags): what happened to it before
  /// does not count, what happens from now on does.
  void before_registration(std::span<const std::byte> memory, unsigned access);

 private:
  void before_access() override;
  void on_stale_access(const memory::StaleAccess& access) override;
  void on_memory_change() override { attachment_.wake(); }

  hawser::platform::MemoryWatch& watch_;
  device::Device& device_;
  Attachment& attachment_;
  std::uint64_t position_;  // among the changes
  int sentences_ = 0;
  bool told_of_unwatched_ = false;
};

}  // namespace softrdma::verbs
