// CompletionQueue: completions in order, and when a sleeping program is to be told of them
// (InfiniBand Architecture Specification, volume 1, §11.4.2).
//
// Arming asks for one event: at the next completion, or at once if there are completions that were
// neither polled nor reported by an event before. If only solicited ones are asked for, so are
// failures.
//
// Ownership: of its entries; the listener is borrowed. Threads: the adapter's lock.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

namespace softrdma::queue {

struct Completion {
  ibv_wc wc{};
  bool solicited = false;
  std::uint64_t time_ns = 0;
  ibv_wc_tm_info tag{};
};

/// What happens to a completion queue; called in the middle of a push() or arm().
class CompletionListener {
 public:
  virtual ~CompletionListener() = default;
  /// The event that was asked for.
  virtual void on_completion_event() = 0;
  /// It was full. It takes no more completions.
  virtual void on_overrun() = 0;
};

class CompletionQueue {
 public:
  /// CAPACITY: at least 1.
  CompletionQueue(std::uint32_t capacity, CompletionListener& listener)
      : ring_(capacity), listener_(listener) {}

  /// False if the queue has overrun, now or before.
  bool push(const Completion& completion);
  [[nodiscard]] bool is_empty() const { return first_ == end_; }
  /// The oldest. Not of an empty queue.
  [[nodiscard]] const Completion& front() const { return at(first_); }
  void pop() { ++first_; }
  void arm(bool solicited_only);
  [[nodiscard]] bool is_armed() const { return armed_ != Armed::no; }
  /// False, and nothing is changed, if CAPACITY (at least 1) is less than what is in the queue.
  bool resize(std::uint32_t capacity);
  /// Takes out the completions of a queue pair that is no more.
  void remove_of(std::uint32_t qp_number);

  [[nodiscard]] std::uint32_t capacity() const { return static_cast<std::uint32_t>(ring_.size()); }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end_ - first_); }
  [[nodiscard]] bool has_overrun() const { return has_overrun_; }

 private:
  enum class Armed : std::uint8_t { no, for_solicited, for_any };

  [[nodiscard]] const Completion& at(std::uint64_t position) const {
    return ring_[position % ring_.size()];
  }
  Completion& at(std::uint64_t position) { return ring_[position % ring_.size()]; }
  [[nodiscard]] bool is_awaited(const Completion& completion) const {
    return armed_ == Armed::for_any ||
           (armed_ == Armed::for_solicited &&
            (completion.solicited || completion.wc.status != IBV_WC_SUCCESS));
  }
  void report();

  std::vector<Completion> ring_;
  CompletionListener& listener_;
  // Positions count up for ever.
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t reported_ = 0;  // what is before it, an event has told of
  Armed armed_ = Armed::no;
  bool has_overrun_ = false;
};

}  // namespace softrdma::queue
