// Starting further processes: what a process asks of its launcher (MPI-5.0 §11.8).
//
// Ownership: values; a Spawning is its asker's. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hawser::bootstrap {

struct SpawnProgram {
  std::vector<std::string> command;  // with its arguments
  std::uint32_t processes = 1;
  std::string directory;  // empty: that of the asker
};

/// One new job of all the programs.
struct SpawnRequest {
  std::vector<SpawnProgram> programs;
  std::vector<std::pair<std::string, std::string>> environment;  // beside the asker's own
};

/// Processes that were asked for and may be on their way.
class Spawning {
 public:
  virtual ~Spawning() = default;
  /// Why they will not come, as a sentence; nothing as long as they may.
  virtual std::optional<std::string> failure() = 0;
  /// Readable when failure() may have something new to say; -1: it never has.
  [[nodiscard]] virtual int descriptor() const { return -1; }
};

}  // namespace hawser::bootstrap
