// SendBuffers: the registered memory that frames are written into and sent from, by whatever queue
// pair they leave.
//
//   | note 64 | header of a datagram 24 | frame … | trailer of a ring's slot 16 |
//
// A frame stays where it is until it is released and none of its sendings is under way: so it can
// be sent again, by the same channel or another one.
// Ownership: owns the pools; borrows port and ledger. Every frame comes back before it ends.
// Threads:   the lane lock.
// Bounds:    the pools of each size grow with the frames that peers leave unanswered, up to a
// limit,
//            where whoever wants one has to wait; a few small ones are for what needs no answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"
#include "memory/ledger/ledger.hpp"
#include "memory/pool/buffer_pool.hpp"
#include "transport/verbs/port_registrar.hpp"
#include "transport/verbs/wire.hpp"

namespace hawser::transport::verbs {

class SendBuffers {
 public:
  /// Of a frame that is sent briefly, and of the shortest that are kept.
  static constexpr std::size_t brief_bytes = 192;

  SendBuffers(const Port& port, const Settings& settings, memory::Ledger& ledger);

  /// In front of a frame's datagram, in the same buffer.
  struct alignas(base::cache_line_bytes) Note {
    memory::BufferPool* pool;
    memory::BufferPool::Buffer* buffer;
    std::uint32_t under_way = 0;   // sendings
    std::uint32_t connection = 0;  // the number of the one that it left by last; 0: a datagram
    std::uint32_t ring = 0;        // the number of the one whose slot it fills; 0: none
    std::uint32_t slot = 0;        // of that ring
    std::uint32_t parts_id = 0;    // under which it was sent in parts; 0: never
    bool is_released = false;
    bool is_large = false;  // longer than an eager frame
    bool is_low = false;    // it left with low priority
  };
  static Note& note_of(std::byte* frame) {
    return *reinterpret_cast<Note*>(frame - sizeof(DatagramHeader) - sizeof(Note));
  }
  static std::uint32_t local_key(std::byte* frame) {
    return PortRegistrar::local_key(note_of(frame).buffer->handle());
  }
  /// The first BYTES of FRAME, for the adapter.
  static ibv_sge piece_of(std::byte* frame, std::size_t bytes) {
    return {reinterpret_cast<std::uint64_t>(frame), static_cast<std::uint32_t>(bytes),
            local_key(frame)};
  }

  /// Room for a frame of BYTES, and its trailer, in the smallest buffer; null if there is none now.
  std::byte* reserve(std::size_t bytes);
  /// reserve(BYTES) would take one that is there already.
  [[nodiscard]] bool has_free(std::size_t bytes) { return pool_for(bytes).has_free(); }
  /// The same for a frame of at most brief_bytes that will be released as soon as it is posted.
  std::byte* reserve_briefly() { return take(brief_); }
  /// Most of the buffers for datagrams that there may be are taken.
  [[nodiscard]] bool is_scarce() const { return datagrams_taken_ > datagrams_taken_if_scarce_; }

  /// FRAME was posted to a queue pair; one such sending has ended.
  static void note_posted(std::byte* frame) { ++note_of(frame).under_way; }
  void note_left(std::byte* frame);
  /// FRAME is not needed any more, though perhaps still under way.
  void release(std::byte* frame);

 private:
  using Buffer = memory::BufferPool::Buffer;

  [[nodiscard]] memory::BufferPool& pool_for(std::size_t bytes);
  [[nodiscard]] bool is_of_datagrams(const memory::BufferPool& pool) const {
    return &pool == &small_ || &pool == &datagrams_;
  }
  std::byte* take(memory::BufferPool& pool);
  void free_if_done(std::byte* frame);

  const std::size_t datagram_frame_bytes_;
  const std::size_t eager_frame_bytes_;
  const std::size_t datagrams_taken_if_scarce_;
  std::size_t datagrams_taken_ = 0;
  PortRegistrar registrar_;
  memory::BufferPool brief_;
  memory::BufferPool small_;
  memory::BufferPool datagrams_;
  memory::BufferPool eager_;
  memory::BufferPool large_;
};

}  // namespace hawser::transport::verbs
