#include "collective/executor/local_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hawser::collective {
namespace {

// Both types have gaps: through a piece of memory that stays in the first-level cache.
void copy_between_layouts(const ConstBuffer& from, const Buffer& to, Count bytes) {
  std::array<std::byte, 8192> piece;
  for (Count done = 0; done < bytes;) {
    const Count step = std::min<Count>(bytes - done, piece.size());
    from.type->pack(from.data, from.count, done, piece.data(), step);
    to.type->unpack(to.data, to.count, done, piece.data(), step);
    done += step;
  }
}

}  // namespace

Result<void> copy_items(const ConstBuffer& from, const Buffer& to) {
  const Count available = bytes_of(from);
  const Count room = bytes_of(to);
  const Count bytes = std::min(available, room);
  if (bytes > 0) {
    if (from.type->is_dense()) {
      const auto* data = static_cast<const std::byte*>(from.data) + from.type->true_lower_bound();
      to.type->unpack(to.data, to.count, 0, data, bytes);
    } else if (to.type->is_dense()) {
      auto* data = static_cast<std::byte*>(to.data) + to.type->true_lower_bound();
      from.type->pack(from.data, from.count, 0, data, bytes);
    } else {
      copy_between_layouts(from, to, bytes);
    }
  }
  if (available > room) {
    return Error(ErrorClass::truncate,
                 fmt::format("this process sends {} bytes to itself, but its receive buffer takes "
                             "{}; both must be equal",
                             available, room));
  }
  return {};
}

Result<Ref<Request>> start_send(p2p::Engine& engine, const ConstBuffer& buffer,
                                const p2p::Envelope& envelope) {
  p2p::LaneLock lock(engine);
  if (engine.backend().try_send(buffer, envelope)) {
    // To itself on another communicator's thread: it may be asleep.
    if (engine.is_threaded()) engine.notify();
    return Ref<Request>();
  }
  return engine.isend(buffer, envelope, p2p::SendMode::standard);
}

}  // namespace hawser::collective
