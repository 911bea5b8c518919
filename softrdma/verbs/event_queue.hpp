// EventQueue: events that wait to be fetched, and a descriptor that is readable while there are
// any, so that a program can wait for them beside others.
//
// Ownership: of the descriptor. Threads: push, pop and remove under the adapter's lock; waiting
// without.
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "platform/file.hpp"

namespace softrdma::verbs {

template <class Event>
class EventQueue {
 public:
  /// Negative if the system has no more.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  /// wait() does not: what is not there is EAGAIN.
  void never_wait() { ::fcntl(descriptor(), F_SETFL, O_NONBLOCK); }

  void push(const Event& event) {
    events_.push_back(event);
    const std::uint64_t one = 1;
    // It can't fail: the counter has room for more events than memory has.
    [[maybe_unused]] const ssize_t written = ::write(descriptor(), &one, sizeof(one));
  }
  /// Waits for an event, unless the program made the descriptor non-blocking; false, and errno, if
  /// there is none.
  [[nodiscard]] bool wait() const {
    std::uint64_t one;
    ssize_t got;
    do {
      got = ::read(descriptor(), &one, sizeof(one));
    } while (got < 0 && errno == EINTR);
    return got == sizeof(one);
  }
  /// After wait(). False if the event was removed meanwhile.
  bool pop(Event* event) {
    if (events_.empty()) return false;
    *event = events_.front();
    events_.pop_front();
    return true;
  }
  /// Those for which UNWANTED(event) go away; the descriptor stays readable, and wait() is for
  /// nothing.
  template <class Unwanted>
  void remove(Unwanted&& unwanted) {
    std::erase_if(events_, unwanted);
  }

 private:
  hawser::platform::FileDescriptor descriptor_{::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)};
  std::deque<Event> events_;
};

}  // namespace softrdma::verbs
