// SendBuffers: the memory that frames are written into and sent from.
//
//   | note, which ends with the record's header | frame … | seal and zeros |
//
// A frame stays where it is until it is released and none of its sendings is under way: so it can
// be sent again by another connection. An encrypted copy of it has a buffer of its own.
// Ownership: owns the pools; borrows the ledger. Every frame comes back before it ends.
// Threads:   the lane lock.
// Bounds:    each link has so many frames of each size at most, and all together as many as the
//            pools grow to; where there is no room, whoever wants some has to wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.hpp"
#include "memory/ledger/ledger.hpp"
#include "memory/pool/buffer_pool.hpp"
#include "transport/tcp/wire.hpp"

namespace hawser::transport::tcp {

/// Memory that no device needs to know.
class NoDevice final : public memory::Registrar {
 public:
  memory::Result<memory::RegistrationHandle> add(std::uintptr_t, std::size_t) override {
    return memory::RegistrationHandle{0};
  }
  void remove(memory::RegistrationHandle) override {}
};

class SendBuffers {
 public:
  static constexpr std::size_t short_frame_bytes = 2048;

  /// How many frames of a link there are, of each size. More long ones would find no room in the
  /// cache between being filled and being sent.
  struct Share {
    static constexpr std::uint32_t short_max = 256;
    static constexpr std::uint32_t long_max = 24;

    std::uint32_t short_frames = 0;
    std::uint32_t long_frames = 0;

    [[nodiscard]] bool is_empty() const { return short_frames == 0 && long_frames == 0; }
  };

  explicit SendBuffers(memory::Ledger& ledger);

  /// In front of a frame, in the same buffer.
  struct alignas(base::cache_line_bytes) Note {
    memory::BufferPool* pool;
    memory::BufferPool::Buffer* buffer;
    std::uint32_t* counted;        // the number in its link's share
    std::uint32_t connection = 0;  // the number of the one that it was given to last
    std::uint32_t under_way = 0;   // sendings that the system has not taken whole yet
    bool is_released = false;
    std::array<std::byte, 23> unused{};
    RecordHeader header{};
  };
  static_assert(sizeof(Note) == 64 && offsetof(Note, header) == 56);
  static Note& note_of(std::byte* frame) { return *reinterpret_cast<Note*>(frame - sizeof(Note)); }

  /// Room for a frame of BYTES, and what the wire wants around it, out of SHARE; null if there is
  /// none now.
  std::byte* reserve(Share& share, std::size_t bytes);

  static void note_given(std::byte* frame) { ++note_of(frame).under_way; }
  static void note_left(std::byte* frame);
  /// FRAME is not needed any more, though perhaps still under way.
  static void release(std::byte* frame);
  /// There is nothing to send, and may not be for long: gives memory back.
  void release_idle() {
    short_.release_idle();
    long_.release_idle();
  }

 private:
  static void free_if_done(Note& note);

  NoDevice no_device_;
  memory::BufferPool short_;
  memory::BufferPool long_;
};

}  // namespace hawser::transport::tcp
