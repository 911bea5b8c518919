#include "binding/generated/groups.hpp"

#include <fmt/format.h>

namespace hawser::calls {

using core::Group;

namespace {

/// An empty group is always shown as MPI_GROUP_EMPTY.
void show_group(Ref<Group> group, HandleOut<Group> out) {
  if (group->size() == 0) {
    out.set_predefined(MPI_GROUP_EMPTY);
  } else {
    out.set(std::move(group));
  }
}

Result<void> show_group(Result<Ref<Group>> group, HandleOut<Group> out) {
  if (!group.ok()) return group.take_error();
  show_group(std::move(group).value(), out);
  return {};
}

}  // namespace

Result<void> group_size(Runtime&, Group& group, int& size) {
  size = group.size();
  return {};
}

Result<void> group_rank(Runtime& runtime, Group& group, int& rank) {
  rank = runtime.job() != nullptr ? group.rank_of(runtime.job()->identity()) : MPI_UNDEFINED;
  return {};
}

Result<void> group_translate_ranks(Runtime&, Group& group1, std::span<const int> ranks1,
                                   Group& group2, std::span<int> ranks2) {
  for (std::size_t i = 0; i < ranks1.size(); ++i) {
    const int rank = ranks1[i];
    if (rank == MPI_PROC_NULL) {
      ranks2[i] = MPI_PROC_NULL;
    } else if (rank < 0 || rank >= group1.size()) {
      return base::Error(base::ErrorClass::rank,
                         fmt::format("ranks1[{}] is {}; it must be in [0,{}) or MPI_PROC_NULL", i,
                                     rank, group1.size()));
    } else {
      ranks2[i] = group2.rank_of(group1.member(rank));
    }
  }
  return {};
}

Result<void> group_compare(Runtime&, Group& group1, Group& group2, int& result) {
  result = static_cast<int>(group1.compare(group2));
  return {};
}

Result<void> group_union(Runtime&, Group& group1, Group& group2, HandleOut<Group> newgroup) {
  show_group(group1.union_with(group2), newgroup);
  return {};
}

Result<void> group_intersection(Runtime&, Group& group1, Group& group2, HandleOut<Group> newgroup) {
  show_group(group1.intersection_with(group2), newgroup);
  return {};
}

Result<void> group_difference(Runtime&, Group& group1, Group& group2, HandleOut<Group> newgroup) {
  show_group(group1.difference_with(group2), newgroup);
  return {};
}

Result<void> group_incl(Runtime&, Group& group, std::span<const int> ranks,
                        HandleOut<Group> newgroup) {
  return show_group(group.include(ranks), newgroup);
}

Result<void> group_excl(Runtime&, Group& group, std::span<const int> ranks,
                        HandleOut<Group> newgroup) {
  return show_group(group.exclude(ranks), newgroup);
}

Result<void> group_range_incl(Runtime&, Group& group, std::span<const Group::Range> ranges,
                              HandleOut<Group> newgroup) {
  return show_group(group.include_ranges(ranges), newgroup);
}

Result<void> group_range_excl(Runtime&, Group& group, std::span<const Group::Range> ranges,
                              HandleOut<Group> newgroup) {
  return show_group(group.exclude_ranges(ranges), newgroup);
}

Result<void> group_free(Runtime&, HandleInOut<Group> group) {
  static_cast<void>(group.take());
  return {};
}

}  // namespace hawser::calls
