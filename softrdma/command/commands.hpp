// What the command `softrdma` can do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace softrdma::command {

/// Environment variables of the library that an option stands for; those not given stay as they
/// are.
struct RunOptions {
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> program;  // and its arguments
};

/// Becomes the program, with the library preloaded. Returns only if that fails: an exit code.
int run(const RunOptions& options);

struct StatOptions {
  std::string fabric = "default";
  int device = 0;
  double interval_s = 1;
  std::uint64_t count = 0;  // of rows for each process; 0: until it is interrupted
};

struct FaultOptions {
  std::string fabric = "default";
  int device = 0;
  std::uint32_t pid = 0;  // 0: whoever has the queue pair; of ports: all processes
  std::string what;       // qp-error, port-down, port-up
  std::uint32_t number = 0;
};

/// Makes something fail in processes that run. Returns an exit code.
int fault(const FaultOptions& options);

/// Prints what each process of a fabric does, again and again.
int stat(const StatOptions& options);

}  // namespace softrdma::command
