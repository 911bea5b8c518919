#include "channel/endpoint/endpoint.hpp"

#include <utility>

#include "base/assert.hpp"

namespace hawser::channel {

Endpoint::~Endpoint() {
  for (const Waiting& waiting : fifo_) ledger_.refund(memory::Account::sender_fifo, waiting.bytes);
}

std::byte* Endpoint::enqueue(std::size_t frame_bytes) {
  HAWSER_ASSERT(frame_bytes <= frame_bytes_guaranteed);
  ledger_.charge(memory::Account::sender_fifo, frame_bytes);
  has_waiting_ = true;
  fifo_.push_back({std::make_unique_for_overwrite<std::byte[]>(frame_bytes), frame_bytes, nullptr});
  return fifo_.back().frame.get();
}

void Endpoint::defer(void* message) {
  ledger_.charge(memory::Account::sender_fifo, sizeof(Waiting));
  has_waiting_ = true;
  fifo_.push_back({nullptr, sizeof(Waiting), message});
}

bool Endpoint::flush(FrameHandler& handler) {
  bool moved = false;
  has_waiting_ = false;  // what is sent in here has its turn
  while (!fifo_.empty() && is_open() && send_waiting(fifo_.front(), handler)) {
    ledger_.refund(memory::Account::sender_fifo, fifo_.front().bytes);
    fifo_.pop_front();
    moved = true;
  }
  has_waiting_ = !fifo_.empty();
  return moved;
}

bool Endpoint::send_waiting(const Waiting& waiting, FrameHandler& handler) {
  if (waiting.message != nullptr) return handler.on_turn(waiting.message);
  std::byte* room = link_->reserve(frame_channel_, waiting.bytes);
  if (room == nullptr) return false;
  std::memcpy(room, waiting.frame.get(), waiting.bytes);
  link_->commit(frame_channel_);
  return true;
}

void Endpoint::drop_waiting(FrameHandler& handler) {
  const std::deque<Waiting> dropped = std::exchange(fifo_, {});
  has_waiting_ = false;
  for (const Waiting& waiting : dropped) {
    ledger_.refund(memory::Account::sender_fifo, waiting.bytes);
    if (waiting.message != nullptr) handler.on_turn(waiting.message);
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
