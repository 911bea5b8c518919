#include "bootstrap/pmi/process_mapping.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace hawser::bootstrap::pmi {

namespace {

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || number > std::numeric_limits<std::int32_t>::max())
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

std::optional<MappingBlock> take_block(std::string_view& text) {
  if (!take(text, ",(")) return std::nullopt;
  const auto first_node = take_number(text);
  if (!first_node || !take(text, ",")) return std::nullopt;
  const auto nodes = take_number(text);
  if (!nodes || !take(text, ",")) return std::nullopt;
  const auto ranks_per_node = take_number(text);
  if (!ranks_per_node || !take(text, ")")) return std::nullopt;
  return MappingBlock{*first_node, *nodes, *ranks_per_node};
}

bool has_ranks(const MappingBlock& block) { return block.nodes > 0 && block.ranks_per_node > 0; }

/// Calls VISIT(node, first rank, count) for each run of ranks on one node.
template <class Visit>
void for_each_run(const Mapping& mapping, std::uint32_t size, Visit&& visit) {
  for (std::uint32_t rank = 0; rank < size;) {
    for (const MappingBlock& block : mapping) {
      if (!has_ranks(block)) continue;
      for (std::uint32_t node = 0; node < block.nodes && rank < size; ++node) {
        const std::uint32_t count = std::min(block.ranks_per_node, size - rank);
        visit(block.first_node + node, rank, count);
        rank += count;
      }
    }
  }
}

}  // namespace

std::optional<Mapping> parse_mapping(std::string_view text) {
  if (!take(text, "(vector")) return std::nullopt;
  Mapping mapping;
  while (text != ")") {
    const auto block = take_block(text);
    if (!block) return std::nullopt;
    mapping.push_back(*block);
  }
  if (std::ranges::none_of(mapping, has_ranks)) return std::nullopt;
  return mapping;
}

std::vector<std::uint32_t> ranks_beside(const Mapping& mapping, std::uint32_t rank,
                                        std::uint32_t size) {
  std::uint32_t own_node = 0;
  for_each_run(mapping, size, [&](std::uint32_t node, std::uint32_t first, std::uint32_t count) {
    if (rank >= first && rank - first < count) own_node = node;
  });
  std::vector<std::uint32_t> beside;
  for_each_run(mapping, size, [&](std::uint32_t node, std::uint32_t first, std::uint32_t count) {
    if (node != own_node) return;
    for (std::uint32_t i = 0; i < count; ++i) beside.push_back(first + i);
  });
  return beside;
}

}  // namespace hawser::bootstrap::pmi
