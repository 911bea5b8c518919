#include "channel/endpoint/endpoint.hpp"

#include <utility>

#include "base/assert.hpp"

namespace hawser::channel {

Endpoint::~Endpoint() {
  for (const Waiting& frame : fifo_) ledger_.refund(memory::Account::sender_fifo, frame.bytes);
}

std::byte* Endpoint::enqueue(std::size_t frame_bytes, void* owner) {
  HAWSER_ASSERT(frame_bytes <= frame_bytes_guaranteed);
  ledger_.charge(memory::Account::sender_fifo, frame_bytes);
  fifo_.push_back({std::make_unique_for_overwrite<std::byte[]>(frame_bytes), frame_bytes, owner});
  return fifo_.back().data.get();
}

bool Endpoint::flush(FrameHandler& handler) {
  bool moved = false;
  while (!fifo_.empty() && is_open()) {
    const Waiting& frame = fifo_.front();
    std::byte* room = link_->reserve(frame_channel_, frame.bytes);
    if (room == nullptr) break;
    std::memcpy(room, frame.data.get(), frame.bytes);
    link_->commit(frame_channel_);
    ledger_.refund(memory::Account::sender_fifo, frame.bytes);
    void* const owner = frame.owner;
    fifo_.pop_front();
    if (owner != nullptr) handler.on_left(owner);
    moved = true;
  }
  return moved;
}

void Endpoint::drop_waiting(FrameHandler& handler) {
  const std::deque<Waiting> dropped = std::exchange(fifo_, {});
  for (const Waiting& frame : dropped) {
    ledger_.refund(memory::Account::sender_fifo, frame.bytes);
    if (frame.owner != nullptr) handler.on_left(frame.owner);
  }
}

void Endpoint::use_table(const SendTable& table) {
  table_ = &table;
  const ChannelSet channels = link_->channels();
  for (std::size_t kind = 0; kind < transport::channel_kind_count; ++kind)
    frame_bytes_max_[kind] = link_->frame_bytes_max(static_cast<ChannelKind>(kind));
  for (const ChannelKind kind : {ChannelKind::ring, ChannelKind::shared_queue, ChannelKind::self})
    if (channels.has(kind)) {
      frame_channel_ = kind;
      return;
    }
}

}  // namespace hawser::channel
