#include "platform/this_process.hpp"

#include <signal.h>
#include <unistd.h>

namespace hawser::platform {

pid_t process_id() { return ::getpid(); }

void end_process(int code) { ::_exit(code); }

void nudge_launcher(pid_t launcher) { ::kill(launcher, SIGCHLD); }

}  // namespace hawser::platform
