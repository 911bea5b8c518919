// EventChannel: what a program gets that opens the device of the connection manager: a descriptor
// that is readable while events wait, for poll(2) and its kin.
//
// The descriptor is the end of a pipe, which holds one byte while there are events. Ownership: the
// program's is one reading end, ours the writing one and another reading one: the program may close
// its own, and another file have the number. Threads: the mutex of the connection service.
#pragma once

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <deque>

#include "platform/file.hpp"

namespace softrdma::verbs {

struct QueuedEvent {
  rdma_ucm_event_resp shown{};
  std::uint32_t identifier = 0;  // whose it is
  std::uint32_t group = 0;       // or of this multicast group of that
  std::uint32_t child = 0;       // a request: what was made for it
};

class EventChannel {
 public:
  /// descriptor() is negative if the system has no more.
  explicit EventChannel(int flags) {
    int ends[2];
    if (::pipe2(ends, flags & (O_CLOEXEC | O_NONBLOCK)) != 0) return;
    hawser::platform::FileDescriptor programs(ends[0]);
    signal_ = hawser::platform::FileDescriptor(ends[1]);
    hawser::platform::close_on_exec(signal_);
    readable_ = hawser::platform::FileDescriptor(::fcntl(ends[0], F_DUPFD_CLOEXEC, 0));
    if (readable_.is_open()) descriptor_ = programs.release();
  }

  /// The program's.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Ours: the same file, for as long as this lives.
  [[nodiscard]] int readable() const { return readable_.get(); }
  [[nodiscard]] bool is_empty() const { return events_.empty(); }

  void push(const QueuedEvent& event) {
    events_.push_back(event);
    if (events_.size() == 1) raise_signal();
  }
  /// There is one.
  QueuedEvent pop() {
    const QueuedEvent event = events_.front();
    events_.pop_front();
    if (events_.empty()) lower_signal();
    return event;
  }
  /// Gives those for which WANTED(event) to TAKE(event), in their order.
  template <class Wanted, class Take>
  void take_out(Wanted&& wanted, Take&& take) {
    const bool had_any = !events_.empty();
    std::deque<QueuedEvent> left;
    for (const QueuedEvent& event : events_) {
      if (wanted(event)) {
        take(event);
      } else {
        left.push_back(event);
      }
    }
    events_ = std::move(left);
    if (had_any && events_.empty()) lower_signal();
  }

 private:
  void raise_signal() {
    const char any = 0;
    [[maybe_unused]] const ssize_t written = ::write(signal_.get(), &any, 1);
  }
  void lower_signal() {
    char any;
    [[maybe_unused]] const ssize_t read = ::read(readable_.get(), &any, 1);
  }

  int descriptor_ = -1;
  hawser::platform::FileDescriptor signal_;
  hawser::platform::FileDescriptor readable_;
  std::deque<QueuedEvent> events_;
};

}  // namespace softrdma::verbs
