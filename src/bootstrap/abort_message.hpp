// What a process says and returns when it ends its job by itself.
#pragma once

#include <string_view>

namespace hawser::bootstrap {

/// What a shell sees of CODE: eight bits, and never success.
int exit_code_of(int code);

/// One line on standard error: that MPI_Abort was called, with CODE and why.
void print_abort(int code, std::string_view sentence);

}  // namespace hawser::bootstrap
