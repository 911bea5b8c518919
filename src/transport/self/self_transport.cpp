#include "transport/self/self_transport.hpp"

#include <algorithm>
#include <cstring>

namespace hawser::transport::self {

std::byte* SelfLink::reserve(ChannelKind, std::size_t bytes) {
  reserved_ = {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
  return reserved_.data.get();
}

void SelfLink::commit(ChannelKind) {
  ledger_.charge(memory::Account::sender_fifo, reserved_.bytes);
  frames_.push_back(std::move(reserved_));
}

std::int64_t SelfLink::get(std::span<const MemoryPiece> local,
                           std::span<const MemoryPiece> remote) {
  std::int64_t copied = 0;
  std::size_t from = 0;
  std::uint64_t from_offset = 0;
  for (const MemoryPiece& to : local) {
    for (std::uint64_t done = 0; done < to.bytes && from < remote.size();) {
      const std::uint64_t bytes = std::min(to.bytes - done, remote[from].bytes - from_offset);
      std::memmove(reinterpret_cast<void*>(to.address + done),
                   reinterpret_cast<const void*>(remote[from].address + from_offset), bytes);
      copied += static_cast<std::int64_t>(bytes);
      done += bytes;
      from_offset += bytes;
      if (from_offset == remote[from].bytes) {
        ++from;
        from_offset = 0;
      }
    }
  }
  return copied;
}

bool SelfLink::deliver(Sink& sink) {
  const std::size_t count = frames_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Frame frame = std::move(frames_.front());
    frames_.pop_front();
    ledger_.refund(memory::Account::sender_fifo, frame.bytes);
    sink.on_frame(*this, ChannelKind::self, std::span(frame.data.get(), frame.bytes));
  }
  return count > 0;
}

}  // namespace hawser::transport::self
