// Which ranks are on which node, as PMI launchers write it: pure functions.
//
//   (vector,(FIRST,NODES,RANKS),…)   the next NODES × RANKS ranks lie on the nodes from number
//   FIRST
//                                    on, RANKS on each
//
// The blocks are gone through again until all ranks have a node.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace hawser::bootstrap::pmi {

struct MappingBlock {
  std::uint32_t first_node;
  std::uint32_t nodes;
  std::uint32_t ranks_per_node;

  friend bool operator==(const MappingBlock&, const MappingBlock&) = default;
};
using Mapping = std::vector<MappingBlock>;

/// Nothing unless TEXT is a mapping with a rank in it.
std::optional<Mapping> parse_mapping(std::string_view text);

/// The ranks of a job of SIZE on the node of RANK, in rising order; RANK is below SIZE.
std::vector<std::uint32_t> ranks_beside(const Mapping& mapping, std::uint32_t rank,
                                        std::uint32_t size);

}  // namespace hawser::bootstrap::pmi
