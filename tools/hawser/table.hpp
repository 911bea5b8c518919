// Table: columns of text, and numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hawser::tools {

enum class Align : std::uint8_t { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// CELLS as many as columns.
  void add_row(std::vector<std::string> cells);
  /// Lines indented by two blanks, columns two blanks apart, no blanks at the end of a line.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// "17", "1.5 KiB", "3.0 GiB".
std::string format_bytes(std::uint64_t bytes);
/// The singular NOUN with its number: "1 message", "2 messages".
std::string format_count(std::uint64_t count, const char* noun);

}  // namespace hawser::tools
