// This process as others see it: its number, its end, and how it calls its launcher.
#pragma once

#include <sys/types.h>

namespace hawser::platform {

pid_t process_id();
/// Who started it.
pid_t parent_process_id();

/// Lets process TRUSTED and its descendants read this one's memory where the Yama security module
/// would let ancestors alone (kernel.yama.ptrace_scope=1); elsewhere without effect.
void let_read_us(pid_t trusted);

/// Ends this process at once: no destructors, no exit handlers, no flushing of streams.
[[noreturn]] void end_process(int code);

/// Sends SIGCHLD, which wakes a launcher that waits for its children and disturbs nobody else.
void nudge_launcher(pid_t launcher);

}  // namespace hawser::platform
