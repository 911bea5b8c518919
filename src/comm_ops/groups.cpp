#include "comm_ops/groups.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace hawser::comm_ops {

using core::Error;
using core::ErrorClass;
using core::Group;
using core::Ref;
using core::Result;

Ref<Group> share(const Group& group) { return Ref<Group>::share(const_cast<Group*>(&group)); }

Ref<Group> concatenate(const Group& first, const Group& second) {
  std::vector<core::Identity> members;
  members.reserve(static_cast<std::size_t>(first.size()) + static_cast<std::size_t>(second.size()));
  for (const Group* group : {&first, &second}) {
    for (int rank = 0; rank < group->size(); ++rank) members.push_back(group->member(rank));
  }
  return Group::of_list(std::move(members));
}

Result<void> check_members(const Group& group, const core::Comm& parent) {
  for (int rank = 0; rank < group.size(); ++rank) {
    if (parent.group().rank_of(group.member(rank)) >= 0) continue;
    return Error(ErrorClass::group,
                 fmt::format("member {} of the group (process {} of its job) is not in the "
                             "communicator; the group must be a subset of the communicator's",
                             rank, group.member(rank).index));
  }
  return {};
}

}  // namespace hawser::comm_ops
