// This process as others see it: its number, its end, and how it calls its launcher; whether others
// are there.
#pragma once

#include <sys/types.h>

namespace hawser::platform {

pid_t process_id();
/// Who started it.
pid_t parent_process_id();

/// Whether there is a process PID in our name space; one that has ended is, until its parent has
/// taken notice.
bool is_process_there(pid_t pid);

/// Lets process TRUSTED and its descendants read this one's memory where the Yama security module
/// would let ancestors alone (kernel.yama.ptrace_scope=1); elsewhere without effect.
void let_read_us(pid_t trusted);

/// Ends this process at once: no destructors, no exit handlers, no flushing of streams.
[[noreturn]] void end_process(int code);

/// Sends SIGCHLD, which wakes a launcher that waits for its children and disturbs nobody else.
void nudge_launcher(pid_t launcher);

}  // namespace hawser::platform
