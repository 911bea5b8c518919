#include "bootstrap/variables.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

/// The name of the first variable that begins with PREFIX.
std::optional<std::string> find_variable(std::string_view prefix) {
  for (const char* const* entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (variable.starts_with(prefix)) return std::string(variable.substr(0, variable.find('=')));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> take_variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  std::string taken = text;
  ::unsetenv(name);
  return taken;
}

void take_variables(std::string_view prefix) {
  while (const auto name = find_variable(prefix)) ::unsetenv(name->c_str());
}

bool has_variables(std::string_view prefix) { return find_variable(prefix).has_value(); }

Result<std::uint32_t> parse_variable(const char* name, const std::string& text) {
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || rest != end || number > INT32_MAX)
    return Error(ErrorClass::other,
                 fmt::format("{} is '{}', which is not a number that a launcher would have set",
                             name, text));
  return number;
}

}  // namespace hawser::bootstrap
