#include "launcher/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace hawser::launcher {

namespace {

/// Ignored from the start (nohup, a shell's background job): it shall stay without effect.
bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

SignalSource::SignalSource() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    if (!is_ignored(signal)) ::sigaddset(&wanted, signal);
  }
  // Without children's statuses there is no verdict, whatever our parent made of SIGCHLD.
  ::signal(SIGCHLD, SIG_DFL);
  ::sigaddset(&wanted, SIGCHLD);
  fd_ = platform::FileDescriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  // A closed output is an error of write(), not our end.
  ::sigaddset(&wanted, SIGPIPE);
  ::sigprocmask(SIG_BLOCK, &wanted, &inherited_);
}

SignalSource::~SignalSource() {
  // A pending SIGPIPE would strike now; we are about to exit anyway, with a code of our own.
  ::signal(SIGPIPE, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &inherited_, nullptr);
}

std::optional<int> SignalSource::next() const {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace hawser::launcher
