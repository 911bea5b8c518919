#include "memory/pool/slab.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "platform/memory.hpp"

namespace hawser::memory {

namespace {

constexpr std::size_t chunk_bytes_min = 4096;

}  // namespace

Slab::~Slab() { ledger_.refund(account_, total_bytes_); }

void Slab::grow() {
  chunk_bytes_ =
      std::max(object_bytes_, std::clamp(chunk_bytes_ * 2, chunk_bytes_min, chunk_bytes_max));
  const bool is_huge = chunk_bytes_ == chunk_bytes_max;
  const std::size_t chunk_alignment = is_huge ? chunk_bytes_max : alignment;
  const std::size_t bytes =
      (chunk_bytes_ + chunk_alignment - 1) / chunk_alignment * chunk_alignment;
  auto* chunk = static_cast<std::byte*>(std::aligned_alloc(chunk_alignment, bytes));
  if (chunk == nullptr) throw std::bad_alloc();
  if (is_huge) platform::prefer_huge_pages(chunk, bytes);
  chunks_.emplace_back(chunk);
  ledger_.charge(account_, bytes);
  total_bytes_ += bytes;
  next_ = chunk;
  left_ = bytes / object_bytes_;
}

void Slab::Free::operator()(std::byte* chunk) const { std::free(chunk); }

}  // namespace hawser::memory
