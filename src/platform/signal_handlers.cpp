#include "platform/signal_handlers.hpp"

namespace hawser::platform {
namespace {

/// A handler with information is a member of the same union.
bool has_same_handler(const struct sigaction& one, const struct sigaction& other) {
  return one.sa_sigaction == other.sa_sigaction && one.sa_flags == other.sa_flags;
}

}  // namespace

KeptSignalHandlers::KeptSignalHandlers() {
  for (int number = 1; number < signals_end; ++number)
    ::sigaction(number, nullptr, &actions_[static_cast<std::size_t>(number)]);
  ::sigaltstack(nullptr, &stack_);
}

KeptSignalHandlers::~KeptSignalHandlers() {
  for (int number = 1; number < signals_end; ++number) {
    const struct sigaction& before = actions_[static_cast<std::size_t>(number)];
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) == 0 && !has_same_handler(now, before))
      ::sigaction(number, &before, nullptr);
  }
  // Refused while a handler runs on it; then it is the one of before anyway.
  ::sigaltstack(&stack_, nullptr);
}

}  // namespace hawser::platform
