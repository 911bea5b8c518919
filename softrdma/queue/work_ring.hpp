// WorkRing: a bounded queue of work requests, each a Head and, behind it, room for what comes with
// it: scatter/gather entries or inline data. One allocation, of exactly what was asked for.
//
// Positions count up for ever: [first, end) are in the queue. Ownership: of its entries.
// Threads: the adapter's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace softrdma::queue {

template <class Head>
class WorkRing {
  static_assert(std::is_trivially_destructible_v<Head> &&
                alignof(Head) <= alignof(std::max_align_t));

 public:
  WorkRing(std::uint32_t capacity, std::size_t room_bytes)
      : capacity_(capacity),
        room_bytes_(room_bytes),
        stride_((sizeof(Head) + room_bytes + alignof(Head) - 1) / alignof(Head) * alignof(Head)),
        memory_(std::make_unique<std::byte[]>(capacity * stride_)) {}

  [[nodiscard]] bool is_full() const { return size() == capacity_; }
  [[nodiscard]] bool is_empty() const { return first_ == end_; }
  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end_ - first_); }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }

  /// The entry after the last, for push() to add. Not of a full queue.
  Head& next() { return *new (place(end_)) Head; }
  void push() { ++end_; }
  Head& at(std::uint64_t position) {
    return *std::launder(reinterpret_cast<Head*>(place(position)));
  }
  Head& front() { return at(first_); }
  void pop() { ++first_; }
  void clear() { first_ = end_; }
  /// What lies behind HEAD, one of ours.
  std::span<std::byte> room(Head& head) const {
    return {reinterpret_cast<std::byte*>(&head) + sizeof(Head), room_bytes_};
  }

 private:
  std::byte* place(std::uint64_t position) const {
    return memory_.get() + position % capacity_ * stride_;
  }

  std::uint32_t capacity_;
  std::size_t room_bytes_;
  std::size_t stride_;
  std::unique_ptr<std::byte[]> memory_;
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace softrdma::queue
