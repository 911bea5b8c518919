#include "softrdma/memory/stale_parts.hpp"

#include <algorithm>

namespace softrdma::memory {

void StaleParts::add(const StalePart& part) {
  std::vector<StalePart> fresh;
  std::uintptr_t begin = part.begin;
  for (const StalePart& known : parts_) {
    if (known.end <= begin) continue;
    if (known.begin >= part.end) break;
    if (begin < known.begin) fresh.push_back({begin, known.begin, part.change});
    begin = known.end;
  }
  if (begin < part.end) fresh.push_back({begin, part.end, part.change});
  parts_.insert(parts_.end(), fresh.begin(), fresh.end());
  std::ranges::sort(parts_, {}, &StalePart::begin);
}

const StalePart* StaleParts::find(std::span<const std::byte> memory) const {
  if (memory.empty()) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t end = begin + memory.size();
  const auto found = std::ranges::find_if(
      parts_, [&](const StalePart& part) { return part.begin < end && begin < part.end; });
  return found == parts_.end() ? nullptr : &*found;
}

}  // namespace softrdma::memory
