// GrowingQueue: first in, first out, in one piece of memory that it has only if it needs it: an
// empty one of which nothing was ever asked has none, as a std::deque would.
//
// Ownership: a member of what it queues for; owns its elements, which can be moved and made of
//            nothing. What refers to one holds until the next push_back().
// Bounds:    doubles when it is full; once it is empty it keeps room for kept_if_empty at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/assert.hpp"

namespace hawser::base {

template <class T>
class GrowingQueue {
 public:
  static constexpr std::uint32_t kept_if_empty = 8;

  GrowingQueue() = default;
  GrowingQueue(GrowingQueue&& other) noexcept { swap(other); }
  GrowingQueue& operator=(GrowingQueue&& other) noexcept {
    GrowingQueue taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~GrowingQueue() = default;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Elements that it has memory for.
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] T& operator[](std::size_t index) { return elements_[place(index)]; }
  [[nodiscard]] const T& operator[](std::size_t index) const { return elements_[place(index)]; }
  [[nodiscard]] T& front() { return (*this)[0]; }
  [[nodiscard]] T& back() { return (*this)[size_ - 1]; }

  void push_back(T element) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    ++size_;
    back() = std::move(element);
  }
  void pop_front() {
    HAWSER_DEBUG_ASSERT(size_ > 0);
    front() = T();
    first_ = place(1);
    if (--size_ == 0 && capacity_ > kept_if_empty) [[unlikely]]
      give_back();
  }
  void clear() {
    while (!empty()) pop_front();
  }

 private:
  static constexpr std::uint32_t capacity_first = 4;

  /// Its capacity is a power of two.
  [[nodiscard]] std::uint32_t place(std::size_t index) const {
    HAWSER_DEBUG_ASSERT(index < capacity_);
    return (first_ + static_cast<std::uint32_t>(index)) & (capacity_ - 1);
  }
  void grow() {
    const std::uint32_t capacity = capacity_ == 0 ? capacity_first : 2 * capacity_;
    auto elements = std::make_unique<T[]>(capacity);
    for (std::uint32_t i = 0; i < size_; ++i) elements[i] = std::move((*this)[i]);
    elements_ = std::move(elements);
    capacity_ = capacity;
    first_ = 0;
  }
  void give_back() {
    elements_.reset();
    capacity_ = 0;
    first_ = 0;
  }
  void swap(GrowingQueue& other) noexcept {
    std::swap(elements_, other.elements_);
    std::swap(capacity_, other.capacity_);
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
  }

  std::unique_ptr<T[]> elements_;
  std::uint32_t capacity_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace hawser::base
