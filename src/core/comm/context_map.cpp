#include <algorithm>
#include <functional>
#include <utility>

#include "core/comm/comm.hpp"

namespace hawser::core {

ContextMap::ContextMap(std::vector<std::uint32_t> by_rank) {
  if (by_rank.empty()) return;
  const bool all_equal =
      std::adjacent_find(by_rank.begin(), by_rank.end(), std::not_equal_to<>()) == by_rank.end();
  if (all_equal) {
    uniform_ = by_rank.front();
    return;
  }
  by_rank_ = std::move(by_rank);
  by_rank_.shrink_to_fit();
}

}  // namespace hawser::core
