#include "base/closest_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace hawser::base {
namespace {

/// Insertions, deletions and replacements that turn A into B (Levenshtein), one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> closest_match(std::string_view text,
                                         const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  // Half of the letters wrong is no misspelling.
  std::size_t best_distance = (text.size() + 1) / 2;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(text, candidate);
    if (distance >= best_distance) continue;
    best = &candidate;
    best_distance = distance;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& candidates) {
  const std::optional<std::string> match = closest_match(text, candidates);
  return match ? fmt::format("; did you mean '{}'?", *match) : std::string();
}

}  // namespace hawser::base
