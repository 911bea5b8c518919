#include "hostmem/crowds.hpp"

#include <array>
#include <cstdlib>
#include <tuple>

namespace hawser::hostmem {

std::optional<int> Crowds::better_core(int core, std::uint64_t now_ns) const {
  std::array<std::uint32_t, platform::CoreSet().size()> crowds{};
  platform::CoreSet candidates = cores_;
  for (const WakeWord& word : words_) {
    const std::uint32_t told = word.core_told.load(std::memory_order_relaxed);
    if (told == 0 || told > crowds.size() || word.is_asleep()) continue;
    ++crowds[told - 1];
    if (now_ns > word.told_ns.load(std::memory_order_relaxed) + silent_ns_max)
      candidates.reset(told - 1);
  }
  const auto here = static_cast<std::size_t>(core);
  if (here >= crowds.size()) return std::nullopt;
  std::optional<int> best;
  const auto burden = [&](int at) {
    return std::tuple(crowds[static_cast<std::size_t>(at)], std::abs(at - core));
  };
  for (std::size_t at = candidates._Find_first(); at < crowds.size();
       at = candidates._Find_next(at)) {
    const int candidate = static_cast<int>(at);
    if (crowds[at] + 1 < crowds[here] && (!best || burden(candidate) < burden(*best)))
      best = candidate;
  }
  return best;
}

}  // namespace hawser::hostmem
