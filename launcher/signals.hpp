// SignalSource: the signals that mpirun reacts to, read from a descriptor in the main loop instead
// of interrupting it.
//
// Ownership: blocks the signals for this process as long as it lives. Threads: one.
#pragma once

#include <signal.h>

#include <optional>

#include "platform/file.hpp"

namespace hawser::launcher {

class SignalSource {
 public:
  SignalSource();
  ~SignalSource();
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// The next signal that has arrived.
  [[nodiscard]] std::optional<int> next() const;
  /// The mask from before.
  [[nodiscard]] const sigset_t& inherited_mask() const { return inherited_; }

 private:
  sigset_t inherited_{};
  platform::FileDescriptor fd_;
};

}  // namespace hawser::launcher
