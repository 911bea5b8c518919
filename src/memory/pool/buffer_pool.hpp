// BufferPool: communication buffers of one size, in slabs that are registered with the network
// devices one by one.
//
//   slab   | header | data ... | header | data ... | ...      data begins on a cache line
//
// It grows when a buffer is asked for and none is free, up to slabs_max. Buffers are taken from
// slabs that are in use already, so that others fall idle; some idle slabs stay, as the next burst
// would register them again, every other goes at once.
// Ownership: the pool owns slabs and their registrations; who takes a buffer gives it back before
//            the pool ends. Borrows registrar and ledger.
// Threads:   one at a time. Take and give back are a few loads and stores.
// Charged:   per slab, to the account that the owner names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>

#include "base/cache_line.hpp"
#include "memory/ledger/ledger.hpp"
#include "memory/registration/registrar.hpp"

namespace hawser::memory {

struct BufferPoolSettings {
  Account account;
  std::size_t buffer_bytes;
  std::size_t slab_buffers;  // of one slab
  std::size_t slabs_max;
  std::size_t idle_slabs_kept = 1;
};

class BufferPool {
  struct Slab;

 public:
  static constexpr std::size_t alignment = base::cache_line_bytes;

  /// Stands before its data.
  class alignas(alignment) Buffer {
   public:
    /// The pool's buffer_bytes.
    [[nodiscard]] std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
    /// Of the registration that the data lies in.
    [[nodiscard]] RegistrationHandle handle() const { return slab_->handle; }

   private:
    friend class BufferPool;
    Slab* slab_ = nullptr;
    Buffer* next_free_ = nullptr;
  };
  static_assert(sizeof(Buffer) == alignment);

  BufferPool(Registrar& registrar, Ledger& ledger, const BufferPoolSettings& settings);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// MPI_ERR_NO_MEM: all slabs that there may be are in use; or what the registrar says.
  Result<Buffer*> take() {
    if (open_.empty()) [[unlikely]] {
      if (auto grown = grow(); !grown.ok()) return grown.take_error();
    }
    return take_from(open_.front());
  }
  void give_back(Buffer* buffer);

  /// A buffer is free: take() needs no more memory.
  [[nodiscard]] bool has_free() const { return !open_.empty(); }
  /// No buffer is free, and there may be no more of them.
  [[nodiscard]] bool is_exhausted() const {
    return open_.empty() && full_.size() == settings_.slabs_max;
  }
  /// Gives all slabs back that no buffer is taken from.
  void release_idle();

  [[nodiscard]] std::size_t slab_count() const { return open_.size() + full_.size(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Slab {
    std::unique_ptr<std::byte, Free> memory;
    RegistrationHandle handle;
    std::list<Slab>::iterator self;
    Buffer* first_free = nullptr;
    std::size_t taken = 0;
  };

  Buffer* take_from(Slab& slab) {
    Buffer* const buffer = slab.first_free;
    slab.first_free = buffer->next_free_;
    if (slab.taken++ == 0) --idle_;
    if (slab.first_free == nullptr) full_.splice(full_.begin(), open_, slab.self);
    return buffer;
  }
  Result<void> grow();
  void divide(Slab& slab) const;
  void release(std::list<Slab>::iterator idle);

  Registrar& registrar_;
  Ledger& ledger_;
  const BufferPoolSettings settings_;
  const std::size_t stride_bytes_;  // from one buffer to the next
  const std::size_t slab_bytes_;
  std::list<Slab> open_;  // with free buffers, the idle ones last
  std::list<Slab> full_;
  std::size_t idle_ = 0;
};

}  // namespace hawser::memory
