#include "memory/pool/buffer_pool.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <iterator>
#include <new>

#include "base/assert.hpp"
#include "platform/file.hpp"

namespace hawser::memory {
namespace {

std::size_t stride_of(std::size_t buffer_bytes) {
  constexpr std::size_t alignment = BufferPool::alignment;
  return sizeof(BufferPool::Buffer) + (buffer_bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

BufferPool::BufferPool(Registrar& registrar, Ledger& ledger, const BufferPoolSettings& settings)
    : registrar_(registrar),
      ledger_(ledger),
      settings_(settings),
      stride_bytes_(stride_of(settings.buffer_bytes)),
      slab_bytes_(platform::round_to_pages(stride_bytes_ * settings.slab_buffers)) {
  HAWSER_ASSERT(settings.slab_buffers > 0);
}

BufferPool::~BufferPool() {
  HAWSER_ASSERT(full_.empty() && idle_ == open_.size());
  release_idle();
}

void BufferPool::give_back(Buffer* buffer) {
  Slab& slab = *buffer->slab_;
  HAWSER_DEBUG_ASSERT(slab.taken > 0);
  if (slab.first_free == nullptr) open_.splice(open_.begin(), full_, slab.self);
  buffer->next_free_ = slab.first_free;
  slab.first_free = buffer;
  if (--slab.taken > 0) return;
  open_.splice(open_.end(), open_, slab.self);
  if (++idle_ > settings_.idle_slabs_kept) release(slab.self);
}

void BufferPool::release_idle() {
  while (idle_ > 0) release(std::prev(open_.end()));
}

Result<void> BufferPool::grow() {
  if (slab_count() == settings_.slabs_max)
    return Error(ErrorClass::no_mem,
                 fmt::format("buffers of {} bytes: all {} are in use; some must come back first, "
                             "or the limit be larger",
                             settings_.buffer_bytes, settings_.slabs_max * settings_.slab_buffers));
  std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(std::aligned_alloc(platform::page_bytes(), slab_bytes_)));
  if (memory == nullptr) throw std::bad_alloc();
  auto handle = registrar_.add(reinterpret_cast<std::uintptr_t>(memory.get()), slab_bytes_);
  if (!handle.ok()) return handle.take_error();
  ledger_.charge(settings_.account, slab_bytes_);
  open_.push_back({.memory = std::move(memory), .handle = *handle, .self = {}});
  Slab& slab = open_.back();
  slab.self = std::prev(open_.end());
  divide(slab);
  ++idle_;
  return {};
}

/// Makes buffers of its memory, the first one the first to be taken.
void BufferPool::divide(Slab& slab) const {
  for (std::size_t i = settings_.slab_buffers; i-- > 0;) {
    auto* const buffer = new (slab.memory.get() + i * stride_bytes_) Buffer;
    buffer->slab_ = &slab;
    buffer->next_free_ = slab.first_free;
    slab.first_free = buffer;
  }
}

void BufferPool::release(std::list<Slab>::iterator idle) {
  --idle_;
  registrar_.remove(idle->handle);
  ledger_.refund(settings_.account, slab_bytes_);
  open_.erase(idle);
}

void BufferPool::Free::operator()(std::byte* memory) const { std::free(memory); }

}  // namespace hawser::memory
