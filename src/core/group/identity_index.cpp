#include "core/group/identity_index.hpp"

#include <bit>
#include <functional>

#include "base/assert.hpp"

namespace hawser::core {
namespace {

std::size_t slot_count(std::size_t members) { return std::bit_ceil(2 * members + 1); }

}  // namespace

IdentityIndex::IdentityIndex(std::span<const base::Identity> members)
    : positions_(slot_count(members.size()), -1) {
  std::int32_t position = 0;
  for (const base::Identity& member : members) {
    std::int32_t& slot = positions_[slot_of(members, member)];
    HAWSER_ASSERT(slot < 0);
    slot = position++;
  }
}

std::size_t IdentityIndex::footprint_bytes(std::size_t count) {
  return slot_count(count) * sizeof(std::int32_t);
}

std::size_t IdentityIndex::slot_of(std::span<const base::Identity> members,
                                   const base::Identity& identity) const {
  const std::size_t mask = positions_.size() - 1;
  std::size_t i = std::hash<base::Identity>()(identity) & mask;
  while (positions_[i] >= 0 && members[static_cast<std::size_t>(positions_[i])] != identity) {
    i = (i + 1) & mask;
  }
  return i;
}

}  // namespace hawser::core
