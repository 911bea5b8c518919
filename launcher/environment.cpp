#include "launcher/environment.hpp"

#include <algorithm>

namespace hawser::launcher {

Environment::Environment(const char* const* variables) {
  for (; *variables != nullptr; ++variables) variables_.emplace_back(*variables);
}

void Environment::set(std::string_view name, std::string_view value) {
  std::string text = std::string(name) + "=";
  const auto old = std::find_if(
      variables_.begin(), variables_.end(),
      [&](const std::string& entry) { return entry.compare(0, text.size(), text) == 0; });
  text += value;
  if (old != variables_.end()) {
    *old = std::move(text);
  } else {
    variables_.push_back(std::move(text));
  }
}

char* const* Environment::pointers() {
  pointers_.clear();
  for (std::string& variable : variables_) pointers_.push_back(variable.data());
  pointers_.push_back(nullptr);
  return pointers_.data();
}

}  // namespace hawser::launcher
