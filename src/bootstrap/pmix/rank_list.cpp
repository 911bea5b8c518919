#include "bootstrap/pmix/rank_list.hpp"

#include <algorithm>
#include <charconv>
#include <ranges>

namespace hawser::bootstrap {

std::optional<std::vector<std::uint32_t>> parse_rank_list(std::string_view text) {
  std::vector<std::uint32_t> ranks;
  for (const auto part : std::views::split(text, ',')) {
    const std::string_view word(part.begin(), part.end());
    std::uint32_t rank = 0;
    const auto [rest, failure] = std::from_chars(word.data(), word.data() + word.size(), rank);
    if (failure != std::errc() || rest != word.data() + word.size()) return std::nullopt;
    ranks.push_back(rank);
  }
  std::ranges::sort(ranks);
  const auto repeated = std::ranges::unique(ranks);
  ranks.erase(repeated.begin(), repeated.end());
  return ranks;
}

}  // namespace hawser::bootstrap
