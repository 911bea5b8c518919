#include "hawser/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/assert.hpp"

namespace hawser::tools {
namespace {

void append_line(std::string* text, const std::vector<std::string>& cells,
                 const std::vector<Table::Column>& columns,
                 const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += columns[i].align == Align::left ? fmt::format("  {:<{}}", cells[i], widths[i])
                                            : fmt::format("  {:>{}}", cells[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  *text += line + '\n';
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
  HAWSER_ASSERT(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(column.title.size());
  }
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  append_line(&text, titles, columns_, widths);
  for (const auto& row : rows_) append_line(&text, row, columns_, widths);
  return text;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{}", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would print as 1024.0.
  for (; value >= 1023.95 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string format_count(std::uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace hawser::tools
