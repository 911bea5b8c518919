#include "launcher/placement/share.hpp"

namespace hawser::launcher {

std::optional<CoreShare> share_of(BindTo bind_to, std::uint32_t rank, std::uint32_t ranks,
                                  std::uint32_t busy_threads, std::uint32_t cores) {
  switch (bind_to) {
    case BindTo::none:
      return std::nullopt;
    case BindTo::core:
      return CoreShare{rank % cores, 1};
    case BindTo::automatic: {
      if (ranks == 1 || ranks > cores / busy_threads) return std::nullopt;
      const auto begin_of = [&](std::uint64_t r) {
        return static_cast<std::uint32_t>(r * cores / ranks);
      };
      return CoreShare{begin_of(rank), begin_of(rank + 1U) - begin_of(rank)};
    }
  }
  return std::nullopt;
}

}  // namespace hawser::launcher
