// KeptSignalHandlers: what the program does on signals is still so when this ends, whatever a
// library that was opened meanwhile has made of it.
//
// Kept: the disposition of every signal and this thread's alternate stack. Threads: others must
// not change their handlers meanwhile.
#pragma once

#include <signal.h>

#include <array>

namespace hawser::platform {

class KeptSignalHandlers {
 public:
  KeptSignalHandlers();
  ~KeptSignalHandlers();
  KeptSignalHandlers(const KeptSignalHandlers&) = delete;
  KeptSignalHandlers& operator=(const KeptSignalHandlers&) = delete;

 private:
  static constexpr int signals_end = NSIG;

  std::array<struct sigaction, signals_end> actions_{};
  stack_t stack_{};
};

}  // namespace hawser::platform
