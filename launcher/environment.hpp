// Environment: the variables of a program to start, in the form that execve wants.
//
// Ownership: owns the texts; pointers() is valid until the next set().
// Threads: one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hawser::launcher {

class Environment {
 public:
  /// A copy of VARIABLES ("NAME=VALUE", ended by a null pointer).
  explicit Environment(const char* const* variables);

  void set(std::string_view name, std::string_view value);
  [[nodiscard]] char* const* pointers();

 private:
  std::vector<std::string> variables_;
  std::vector<char*> pointers_;
};

}  // namespace hawser::launcher
