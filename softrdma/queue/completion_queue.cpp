#include "softrdma/queue/completion_queue.hpp"

#include <algorithm>
#include <utility>

namespace softrdma::queue {

bool CompletionQueue::push(const Completion& completion) {
  if (has_overrun_) return false;
  if (size() == ring_.size()) {
    has_overrun_ = true;
    listener_.on_overrun();
    return false;
  }
  at(end_++) = completion;
  if (is_awaited(completion)) report();
  return true;
}

void CompletionQueue::arm(bool solicited_only) {
  // Asking for solicited ones does not take back that any was asked for.
  if (!solicited_only || armed_ == Armed::no)
    armed_ = solicited_only ? Armed::for_solicited : Armed::for_any;
  for (std::uint64_t i = std::max(first_, reported_); i < end_; ++i) {
    if (!is_awaited(at(i))) continue;
    report();
    return;
  }
}

void CompletionQueue::report() {
  armed_ = Armed::no;
  reported_ = end_;
  listener_.on_completion_event();
}

bool CompletionQueue::resize(std::uint32_t capacity) {
  if (capacity < size()) return false;
  std::vector<Completion> ring(capacity);
  for (std::uint64_t i = first_; i < end_; ++i) ring[i % capacity] = at(i);
  ring_ = std::move(ring);
  return true;
}

void CompletionQueue::remove_of(std::uint32_t qp_number) {
  std::uint64_t kept = end_;
  std::uint64_t kept_reported = end_;
  // From the youngest on: the places of the others close up towards the end.
  for (std::uint64_t i = end_; i-- > first_;) {
    if (at(i).wc.qp_num == qp_number) continue;
    at(--kept) = at(i);
    if (i >= reported_) kept_reported = kept;
  }
  first_ = kept;
  reported_ = kept_reported;
}

}  // namespace softrdma::queue
