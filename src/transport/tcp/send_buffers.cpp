#include "transport/tcp/send_buffers.hpp"

#include <new>

namespace hawser::transport::tcp {

namespace {

constexpr std::size_t short_frames_per_slab = 32;
constexpr std::size_t short_slabs_max = 4096;
constexpr std::size_t long_frames_per_slab = 4;
constexpr std::size_t long_slabs_max = 1024;

/// As many slabs stay as one link can use: the next burst would have the system make their pages
/// again, which takes longer than filling them.
memory::BufferPoolSettings pool_for(std::size_t frame_bytes, std::size_t per_slab,
                                    std::size_t slabs_max, std::size_t frames_of_link) {
  return {.account = memory::Account::network_buffers,
          .buffer_bytes = sizeof(SendBuffers::Note) + record_bytes(frame_bytes, true),
          .slab_buffers = per_slab,
          .slabs_max = slabs_max,
          .idle_slabs_kept = frames_of_link / per_slab};
}

}  // namespace

SendBuffers::SendBuffers(memory::Ledger& ledger)
    : short_(no_device_, ledger,
             pool_for(short_frame_bytes, short_frames_per_slab, short_slabs_max, Share::short_max)),
      long_(no_device_, ledger,
            pool_for(frame_bytes_max, long_frames_per_slab, long_slabs_max, Share::long_max)) {}

std::byte* SendBuffers::reserve(Share& share, std::size_t bytes) {
  const bool is_short = bytes <= short_frame_bytes;
  std::uint32_t& counted = is_short ? share.short_frames : share.long_frames;
  memory::BufferPool& pool = is_short ? short_ : long_;
  if (counted >= (is_short ? Share::short_max : Share::long_max) || pool.is_exhausted())
      [[unlikely]]
    return nullptr;
  const auto buffer = pool.take();
  if (!buffer) return nullptr;
  ++counted;
  auto* const note =
      new ((*buffer)->data()) Note{.pool = &pool, .buffer = *buffer, .counted = &counted};
  return reinterpret_cast<std::byte*>(note + 1);
}

void SendBuffers::note_left(std::byte* frame) {
  Note& note = note_of(frame);
  --note.under_way;
  free_if_done(note);
}

void SendBuffers::release(std::byte* frame) {
  Note& note = note_of(frame);
  note.is_released = true;
  free_if_done(note);
}

void SendBuffers::free_if_done(Note& note) {
  if (!note.is_released || note.under_way > 0) return;
  --*note.counted;
  note.pool->give_back(note.buffer);
}

}  // namespace hawser::transport::tcp
