// PostedWork: what was posted to one send queue, in its order. Adapters report the end of some work
// requests only, those that ask for it; the report of one stands for all before it.
//
// Pure; borrows frames. Threads: the lane lock. Bounds: at most DEPTH unreported requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace hawser::transport::verbs {

/// A frame, or an operation on memory.
struct Posted {
  std::byte* frame = nullptr;   // null: nothing that has to be given back
  std::uint64_t operation = 0;  // its token, if it is one
  bool is_operation = false;
  bool is_chained = false;  // a frame that says that the operations before it were done
};

class PostedWork {
 public:
  explicit PostedWork(std::size_t depth) : depth_(depth) {}

  [[nodiscard]] bool is_full() const { return work_.size() >= depth_; }
  [[nodiscard]] std::size_t room() const { return depth_ - work_.size(); }
  [[nodiscard]] std::size_t size() const { return work_.size(); }
  /// The number of the next request, to be its wr_id.
  [[nodiscard]] std::uint64_t next() const { return posted_ + 1; }
  void add(const Posted& posted) {
    work_.push_back(posted);
    ++posted_;
  }
  /// The end of request NUMBER was reported: calls ENDED(const Posted&) for it and what was before.
  template <class Ended>
  void on_reported(std::uint64_t number, Ended&& ended) {
    while (!work_.empty() && posted_ - work_.size() < number) {
      const Posted posted = work_.front();
      work_.pop_front();
      ended(posted);
    }
  }
  /// The queue is gone: calls ENDED for all that was not reported.
  template <class Ended>
  void clear(Ended&& ended) {
    for (const Posted& posted : std::exchange(work_, {})) ended(posted);
  }

 private:
  const std::size_t depth_;
  std::uint64_t posted_ = 0;
  std::deque<Posted> work_;
};

}  // namespace hawser::transport::verbs
