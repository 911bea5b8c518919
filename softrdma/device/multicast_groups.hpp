// MulticastGroups: which queue pairs of a process are attached to which multicast groups.
//
// Ownership: of numbers alone. Threads: the device's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "softrdma/wire/icrc.hpp"

namespace softrdma::device {

/// What a device says of itself, and what attach() takes at most.
inline constexpr std::size_t groups_max = 4096;
inline constexpr std::size_t members_max = 4096;  // of one group

class MulticastGroups {
 public:
  using Members = std::set<std::uint32_t>;

  [[nodiscard]] bool has_room_for(const wire::Address& group) const {
    const auto found = members_.find(group);
    return found == members_.end() ? members_.size() < groups_max
                                   : found->second.size() < members_max;
  }
  [[nodiscard]] bool is_attached(const wire::Address& group, std::uint32_t queue_pair) const {
    return members_of(group).contains(queue_pair);
  }
  [[nodiscard]] bool is_attached(std::uint32_t queue_pair) const {
    return attachments_.contains(queue_pair);
  }
  void attach(const wire::Address& group, std::uint32_t queue_pair) {
    members_[group].insert(queue_pair);
    ++attachments_[queue_pair];
  }
  /// QUEUE_PAIR is attached.
  void detach(const wire::Address& group, std::uint32_t queue_pair) {
    const auto found = members_.find(group);
    found->second.erase(queue_pair);
    if (found->second.empty()) members_.erase(found);
    if (--attachments_[queue_pair] == 0) attachments_.erase(queue_pair);
  }
  /// None if nobody is attached.
  [[nodiscard]] const Members& members_of(const wire::Address& group) const {
    static const Members nobody;
    const auto found = members_.find(group);
    return found == members_.end() ? nobody : found->second;
  }

 private:
  std::map<wire::Address, Members> members_;            // of groups that have any
  std::map<std::uint32_t, std::uint32_t> attachments_;  // of queue pairs that have any: how many
};

}  // namespace softrdma::device
