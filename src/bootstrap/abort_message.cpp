#include "bootstrap/abort_message.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace hawser::bootstrap {

int exit_code_of(int code) { return (code & 255) == 0 ? 1 : code & 255; }

void print_abort(int code, std::string_view sentence) {
  const std::string line = fmt::format("hawser: MPI_Abort with code {}{}{}\n", code,
                                       sentence.empty() ? "" : ": ", sentence);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace hawser::bootstrap
