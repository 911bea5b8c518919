// Slab: memory for many objects of one size, made chunk by chunk.
//
// A chunk is twice as large as the one before, from about a page up to chunk_bytes_max; the largest
// ones ask for huge pages, since a hundred thousand requests otherwise cost a look into the page
// table each. Objects begin on cache lines of their own.
// Ownership: the slab owns the memory until its own end; who takes a piece gives none back, and
//            keeps what it does not need in a free list of its own.
// Charged:   per chunk. Threads: one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/cache_line.hpp"
#include "memory/ledger/ledger.hpp"

namespace hawser::memory {

class Slab {
 public:
  static constexpr std::size_t alignment = base::cache_line_bytes;
  static constexpr std::size_t chunk_bytes_max = 2U << 20;

  Slab(Ledger& ledger, Account account, std::size_t object_bytes)
      : ledger_(ledger),
        account_(account),
        object_bytes_((object_bytes + alignment - 1) / alignment * alignment) {}
  ~Slab();
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  /// Uninitialised memory for one object.
  void* take() {
    if (left_ == 0) grow();
    --left_;
    void* object = next_;
    next_ += object_bytes_;
    return object;
  }

 private:
  struct Free {
    void operator()(std::byte* chunk) const;
  };

  void grow();

  Ledger& ledger_;
  const Account account_;
  const std::size_t object_bytes_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;  // objects from next_ to the end of its chunk
  std::size_t chunk_bytes_ = 0;
  std::size_t total_bytes_ = 0;
  std::vector<std::unique_ptr<std::byte, Free>> chunks_;
};

}  // namespace hawser::memory
