// Parts: requests that together make up another one.
//
// Ownership: holds one reference to each; a null one stands for a part that was complete at once.
// Threads:   are_complete() may be called by several threads at a time. Different parts may be
//            written by different threads; whoever calls are_complete() must see these writes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/request/request.hpp"

namespace hawser::core {

class Parts {
 public:
  Parts() = default;
  explicit Parts(std::vector<Ref<Request>> requests) : requests_(std::move(requests)) {}

  /// COUNT null parts instead of what was there.
  void reset(std::size_t count) {
    requests_.assign(count, nullptr);
    complete_.store(0, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t size() const { return requests_.size(); }
  Ref<Request>& operator[](std::size_t i) { return requests_[i]; }
  [[nodiscard]] bool is_complete(std::size_t i) const {
    return !requests_[i] || requests_[i]->is_complete();
  }
  /// Looks at no part again that it once found complete, so that waiting for many costs one look
  /// at each.
  [[nodiscard]] bool are_complete() const {
    // Acquire and release: who skips parts that another thread found complete sees their statuses.
    const std::size_t known = complete_.load(std::memory_order_acquire);
    std::size_t i = known;
    while (i < requests_.size() && is_complete(i)) ++i;
    if (i != known) complete_.store(i, std::memory_order_release);
    return i == requests_.size();
  }
  [[nodiscard]] bool are_interrupted() const {
    return std::ranges::any_of(requests_, [](const Ref<Request>& request) {
      return request && !request->is_complete() && request->is_interrupted();
    });
  }

 private:
  std::vector<Ref<Request>> requests_;
  mutable std::atomic<std::size_t> complete_{0};  // all before this one are
};

}  // namespace hawser::core
