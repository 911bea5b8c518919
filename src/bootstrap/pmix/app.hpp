// PmixApp: one program to be started, as PMIx wants it.
//
// Ownership: owns what shown() points to; stays where it is. Threads: one.
#pragma once

#include <pmix.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bootstrap/spawn.hpp"

namespace hawser::bootstrap {

class PmixApp {
 public:
  PmixApp(const SpawnProgram& program, std::vector<std::string> variables)
      : command_(program.command), variables_(std::move(variables)) {
    std::error_code failure;
    const std::filesystem::path here = std::filesystem::current_path(failure);
    directory_ = (here / program.directory).string();
    for (std::string& word : command_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
    for (std::string& variable : variables_) environment_.push_back(variable.data());
    environment_.push_back(nullptr);
    processes_ = static_cast<int>(program.processes);
  }

  /// Borrowed from this.
  pmix_app_t shown() {
    pmix_app_t app{};
    app.cmd = command_.front().data();
    app.argv = arguments_.data();
    app.env = environment_.data();
    app.cwd = directory_.data();
    app.maxprocs = processes_;
    return app;
  }

  PmixApp(const PmixApp&) = delete;
  PmixApp& operator=(const PmixApp&) = delete;

 private:
  std::vector<std::string> command_;
  std::vector<std::string> variables_;
  std::string directory_;
  std::vector<char*> arguments_;
  std::vector<char*> environment_;
  int processes_;
};

}  // namespace hawser::bootstrap
