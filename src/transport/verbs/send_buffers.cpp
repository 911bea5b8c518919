#include "transport/verbs/send_buffers.hpp"

#include <algorithm>
#include <new>

#include "transport/verbs/fast_ring.hpp"

namespace hawser::transport::verbs {

namespace {

memory::BufferPoolSettings pool_of(memory::Account account, std::size_t frame_bytes,
                                   std::size_t per_slab, std::size_t slabs_max) {
  return {.account = account,
          .buffer_bytes = sizeof(SendBuffers::Note) + sizeof(DatagramHeader) + frame_bytes +
                          sizeof(SlotTrailer),
          .slab_buffers = per_slab,
          .slabs_max = slabs_max};
}

std::size_t size_of(std::int64_t setting) { return static_cast<std::size_t>(setting); }

std::size_t slabs_of(std::size_t buffers, std::size_t per_slab) {
  return std::max<std::size_t>(buffers / per_slab, 1);
}

memory::BufferPoolSettings datagram_pool(const Settings& settings, std::size_t frame_bytes) {
  return pool_of(
      memory::Account::network_buffers, frame_bytes, size_of(settings.ud_send_buffers),
      slabs_of(size_of(settings.ud_send_buffers_max), size_of(settings.ud_send_buffers)));
}

}  // namespace

SendBuffers::SendBuffers(const Port& port, const Settings& settings, memory::Ledger& ledger)
    : datagram_frame_bytes_(mtu_bytes(port.mtu) - sizeof(DatagramHeader)),
      eager_frame_bytes_(size_of(settings.rc_eager_bytes)),
      datagrams_taken_if_scarce_(size_of(settings.ud_send_buffers_max) / 4 * 3),
      registrar_(port, PortRegistrar::Reach::local),
      brief_(registrar_, ledger, pool_of(memory::Account::network_buffers, brief_bytes, 32, 1)),
      small_(registrar_, ledger, datagram_pool(settings, brief_bytes)),
      datagrams_(registrar_, ledger, datagram_pool(settings, datagram_frame_bytes_)),
      eager_(registrar_, ledger,
             pool_of(memory::Account::connection_buffers, eager_frame_bytes_,
                     size_of(settings.rc_send_buffers),
                     slabs_of(size_of(settings.rc_send_buffers_max),
                              size_of(settings.rc_send_buffers)))),
      large_(registrar_, ledger,
             pool_of(memory::Account::connection_buffers, size_of(settings.rc_large_bytes),
                     size_of(settings.rc_large_send_buffers),
                     slabs_of(size_of(settings.rc_large_send_buffers_max),
                              size_of(settings.rc_large_send_buffers)))) {}

memory::BufferPool& SendBuffers::pool_for(std::size_t bytes) {
  if (bytes <= brief_bytes) return small_;
  if (bytes <= datagram_frame_bytes_) return datagrams_;
  return bytes <= eager_frame_bytes_ ? eager_ : large_;
}

std::byte* SendBuffers::reserve(std::size_t bytes) {
  memory::BufferPool& pool = pool_for(bytes);
  std::byte* const frame = take(pool);
  if (frame == nullptr) return nullptr;
  if (is_of_datagrams(pool)) ++datagrams_taken_;
  note_of(frame).is_large = &pool == &large_;
  return frame;
}

std::byte* SendBuffers::take(memory::BufferPool& pool) {
  if (pool.is_exhausted()) [[unlikely]]
    return nullptr;
  // Memory that cannot be had now may be had later; until then there is no room.
  const Result<Buffer*> buffer = pool.take();
  if (!buffer) return nullptr;
  auto* const note = new ((*buffer)->data()) Note{.pool = &pool, .buffer = *buffer};
  return reinterpret_cast<std::byte*>(note + 1) + sizeof(DatagramHeader);
}

void SendBuffers::note_left(std::byte* frame) {
  --note_of(frame).under_way;
  free_if_done(frame);
}

void SendBuffers::release(std::byte* frame) {
  note_of(frame).is_released = true;
  free_if_done(frame);
}

void SendBuffers::free_if_done(std::byte* frame) {
  const Note& note = note_of(frame);
  if (!note.is_released || note.under_way > 0) return;
  if (is_of_datagrams(*note.pool)) --datagrams_taken_;
  note.pool->give_back(note.buffer);
}

}  // namespace hawser::transport::verbs
