#include "bootstrap/pmi/spawn_message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <string_view>

namespace hawser::bootstrap::pmi {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

/// Of a value that can be published (published_value.hpp).
constexpr std::size_t piece_bytes_max = 255;
constexpr std::string_view name_prefix = "HAWSER_";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Result<void> check_lines(const SpawnProgram& program) {
  const auto is_broken = [](const std::string& word) {
    return word.find('\n') != std::string::npos;
  };
  if (std::ranges::none_of(program.command, is_broken) && !is_broken(program.directory)) return {};
  return Error(ErrorClass::spawn,
               fmt::format("an argument or the directory of {} has a new line in it, which PMI-1 "
                           "cannot carry",
                           program.command.front()));
}

void append_program(std::string& lines, const SpawnProgram& program,
                    std::span<const std::string> texts, std::size_t number, std::size_t programs) {
  const auto out = std::back_inserter(lines);
  fmt::format_to(out, "mcmd=spawn\nnprocs={}\nexecname={}\ntotspawns={}\nspawnssofar={}\n",
                 program.processes, program.command.front(), programs, number);
  for (std::size_t i = 1; i < program.command.size(); ++i)
    fmt::format_to(out, "arg{}={}\n", i, program.command[i]);
  fmt::format_to(out, "argcnt={}\npreput_num={}\n", program.command.size() - 1, texts.size());
  for (std::uint32_t i = 0; i < texts.size(); ++i)
    fmt::format_to(out, "preput_key_{0}={1}\npreput_val_{0}={2}\n", i, variables_key(i), texts[i]);
  fmt::format_to(out, "info_num=1\ninfo_key_0=wdir\ninfo_val_0={}\nendcmd", program.directory);
}

}  // namespace

std::string variables_key(std::uint32_t number) { return fmt::format("hawser.spawned.{}", number); }

Values pack_variables(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    text += fmt::format("{}={}", name, value);
    text += '\0';
  }
  Values pieces;
  for (std::size_t at = 0; at < text.size(); at += piece_bytes_max) {
    const auto piece = bytes_of(std::string_view(text).substr(at, piece_bytes_max));
    // In the order of their names.
    pieces[fmt::format("{:04}", pieces.size())] = {piece.begin(), piece.end()};
  }
  return pieces;
}

std::optional<Variables> unpack_variables(const Values& pieces) {
  std::string text;
  for (const auto& [number, piece] : pieces)
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  Variables variables;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view variable = rest.substr(0, end);
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos || !variable.starts_with(name_prefix)) return std::nullopt;
    variables.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
    rest.remove_prefix(end + 1);
  }
  return variables;
}

Result<std::string> spawn_lines(const SpawnRequest& request, std::span<const std::string> texts) {
  std::string lines;
  for (std::size_t i = 0; i < request.programs.size(); ++i) {
    HAWSER_TRY(check_lines(request.programs[i]));
    if (i > 0) lines += '\n';
    append_program(lines, request.programs[i], texts, i + 1, request.programs.size());
  }
  return lines;
}

}  // namespace hawser::bootstrap::pmi
