#include "session/configuration_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace hawser::session {
namespace {

using base::Error;
using base::ErrorClass;
using base::ParameterRegistry;
using base::ParameterSource;
using base::Result;

Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  std::string text;
  std::array<char, 4096> piece;
  std::size_t got = 0;
  while (file && (got = std::fread(piece.data(), 1, piece.size(), file.get())) > 0)
    text.append(piece.data(), got);
  if (!file || std::ferror(file.get()) != 0) {
    return Error(ErrorClass::arg, fmt::format("the configuration file '{}' cannot be read: {}",
                                              path, std::strerror(errno)));
  }
  return text;
}

/// The text that a user would have given in the environment; nothing for arrays and dates.
std::optional<std::string> value_text(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* integer = node.as_integer()) return fmt::format("{}", integer->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{:#}", real->get());
  if (const auto* text = node.as_string()) return text->get();
  return std::nullopt;
}

Result<void> set_from_table(ParameterRegistry& registry, const toml::table& table,
                            const std::string& prefix, const std::string& path) {
  for (const auto& [key, node] : table) {
    const std::string name = fmt::format("{}{}", prefix, key.str());
    if (const toml::table* inner = node.as_table()) {
      HAWSER_TRY(set_from_table(registry, *inner, name + ".", path));
      continue;
    }
    const std::string origin = fmt::format("{}:{}", path, key.source().begin.line);
    const std::optional<std::string> text = value_text(node);
    if (!text) {
      return Error(
          ErrorClass::arg,
          fmt::format("{}: the value of '{}' is neither a text, a number nor true or false", origin,
                      name));
    }
    const Result<void> result = registry.set(name, *text, ParameterSource::file, origin);
    if (!result.ok())
      return Error(ErrorClass::arg, fmt::format("{}: {}", origin, result.error().sentence()));
  }
  return {};
}

}  // namespace

Result<void> load_configuration_file(ParameterRegistry& registry, const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text.ok()) return text.take_error();
  const toml::parse_result parsed = toml::parse(*text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Error(ErrorClass::arg,
                 fmt::format("{}:{}: {}", path, error.source().begin.line, error.description()));
  }
  return set_from_table(registry, parsed.table(), "", path);
}

}  // namespace hawser::session
