// IdentityIndex: where each identity stands in a list; open addressing, at most half full.
//
// Ownership: holds positions only, and is asked together with the list that it was built from.
// Threads:   immutable after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace hawser::core {

class IdentityIndex {
 public:
  IdentityIndex() = default;
  /// Two equal members are a bug of the caller's, found here.
  explicit IdentityIndex(std::span<const base::Identity> members);

  /// The position of IDENTITY in MEMBERS, or -1.
  [[nodiscard]] int find(std::span<const base::Identity> members,
                         const base::Identity& identity) const {
    return positions_[slot_of(members, identity)];
  }
  /// What an index over COUNT members takes.
  [[nodiscard]] static std::size_t footprint_bytes(std::size_t count);

 private:
  [[nodiscard]] std::size_t slot_of(std::span<const base::Identity> members,
                                    const base::Identity& identity) const;

  std::vector<std::int32_t> positions_;  // a power of two of them; -1: free
};

}  // namespace hawser::core
