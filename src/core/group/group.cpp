#include "core/group/group.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "core/group/identity_index.hpp"
#include "core/group/rank_selection.hpp"

namespace hawser::core {

struct Group::List {
  explicit List(std::vector<Identity> identities) : members(std::move(identities)) {}

  [[nodiscard]] int find(const Identity& identity) const {
    std::call_once(index_built, [this] { index = IdentityIndex(members); });
    return index.find(members, identity);
  }

  const std::vector<Identity> members;
  mutable std::once_flag index_built;
  mutable IdentityIndex index;  // most groups are never asked for a rank
};

namespace {

std::int64_t index_at(std::uint32_t first, std::int32_t stride, int rank) {
  return std::int64_t{first} + std::int64_t{stride} * rank;
}

bool is_index(std::int64_t index) {
  return index >= 0 && index <= std::numeric_limits<std::uint32_t>::max();
}

/// The distance of the members if they are a stride of one job at epoch 0, else 0. At least one
/// member.
std::int32_t stride_of(std::span<const Identity> members) {
  const Identity& first = members.front();
  if (first.epoch != 0) return 0;
  if (members.size() == 1) return 1;
  const std::int64_t stride = std::int64_t{members[1].index} - first.index;
  if (stride < std::numeric_limits<std::int32_t>::min() ||
      stride > std::numeric_limits<std::int32_t>::max()) {
    return 0;
  }
  std::int64_t expected = first.index;
  for (const Identity& member : members) {
    if (member.job != first.job || member.epoch != 0 || member.index != expected) return 0;
    expected += stride;
  }
  return static_cast<std::int32_t>(stride);
}

/// The members of GROUP whose rank satisfies WANTED, appended in order.
template <class Predicate>
void append_members(std::vector<Identity>& members, const Group& group, Predicate wanted) {
  for (int rank = 0; rank < group.size(); ++rank) {
    const Identity member = group.member(rank);
    if (wanted(rank, member)) members.push_back(member);
  }
}

std::vector<Identity> only(const Group& group, const RankSelection& selection) {
  std::vector<Identity> members;
  members.reserve(selection.ranks().size());
  for (const int rank : selection.ranks()) members.push_back(group.member(rank));
  return members;
}

std::vector<Identity> without(const Group& group, const RankSelection& selection) {
  std::vector<Identity> members;
  append_members(members, group,
                 [&](int rank, const Identity&) { return !selection.contains(rank); });
  return members;
}

}  // namespace

Group::Group(Stride stride) : stride_(stride) {}
Group::Group(std::unique_ptr<List> list) : list_(std::move(list)) {}
Group::~Group() = default;

Ref<Group> Group::of_stride(std::uint64_t job, std::uint32_t first, std::int32_t stride, int size) {
  HAWSER_ASSERT(size >= 0);
  if (size == 0) return empty();
  if (size == 1) return Ref<Group>::adopt(new Group(Stride{job, first, 1, 1}));
  HAWSER_ASSERT(stride != 0 && is_index(index_at(first, stride, size - 1)));
  return Ref<Group>::adopt(new Group(Stride{job, first, stride, size}));
}

Ref<Group> Group::of_list(std::vector<Identity> members) {
  HAWSER_ASSERT(members.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
  if (members.empty()) return empty();
  if (const std::int32_t stride = stride_of(members); stride != 0) {
    const Identity& first = members.front();
    return of_stride(first.job, first.index, stride, static_cast<int>(members.size()));
  }
  members.shrink_to_fit();
  return Ref<Group>::adopt(new Group(std::make_unique<List>(std::move(members))));
}

Ref<Group> Group::empty() { return Ref<Group>::adopt(new Group(Stride{0, 0, 1, 0})); }

int Group::size() const {
  return list_ == nullptr ? stride_.size : static_cast<int>(list_->members.size());
}

Identity Group::member(int rank) const {
  HAWSER_DEBUG_ASSERT(rank >= 0 && rank < size());
  if (list_ != nullptr) return list_->members[static_cast<std::size_t>(rank)];
  const std::int64_t index = index_at(stride_.first, stride_.stride, rank);
  return {stride_.job, static_cast<std::uint32_t>(index), 0};
}

int Group::rank_of(const Identity& identity) const {
  if (list_ != nullptr) {
    const int rank = list_->find(identity);
    return rank < 0 ? undefined_rank : rank;
  }
  if (identity.job != stride_.job || identity.epoch != 0) return undefined_rank;
  const std::int64_t distance = std::int64_t{identity.index} - stride_.first;
  const std::int64_t rank = distance / stride_.stride;
  if (distance % stride_.stride != 0 || rank < 0 || rank >= stride_.size) return undefined_rank;
  return static_cast<int>(rank);
}

std::size_t Group::footprint_bytes() const {
  if (list_ == nullptr) return sizeof(Group);
  const std::vector<Identity>& members = list_->members;
  return sizeof(Group) + sizeof(List) + members.capacity() * sizeof(Identity) +
         IdentityIndex::footprint_bytes(members.size());
}

Comparison Group::compare(const Group& other) const {
  if (this == &other) return Comparison::ident;
  if (size() != other.size()) return Comparison::unequal;
  if (size() == 0) return Comparison::ident;
  if (list_ == nullptr && other.list_ == nullptr) {
    // A stride is known by its ends; the other way round it has the same members.
    const Identity first = member(0);
    const Identity last = member(size() - 1);
    const Identity other_first = other.member(0);
    const Identity other_last = other.member(size() - 1);
    if (first == other_first && last == other_last) return Comparison::ident;
    if (first == other_last && last == other_first) return Comparison::similar;
    return Comparison::unequal;
  }
  if (list_ != nullptr && other.list_ != nullptr && list_->members == other.list_->members) {
    return Comparison::ident;
  }
  // Equal sizes and distinct members: one inclusion is enough.
  for (int rank = 0; rank < size(); ++rank) {
    if (other.rank_of(member(rank)) == undefined_rank) return Comparison::unequal;
  }
  return Comparison::similar;
}

Ref<Group> Group::derive(std::vector<Identity> members) const {
  Ref<Group> derived = of_list(std::move(members));
  derived->set_session(session_);
  return derived;
}

Ref<Group> Group::union_with(const Group& other) const {
  std::vector<Identity> members;
  members.reserve(static_cast<std::size_t>(size()));
  append_members(members, *this, [](int, const Identity&) { return true; });
  append_members(members, other, [this](int, const Identity& identity) {
    return rank_of(identity) == undefined_rank;
  });
  return derive(std::move(members));
}

Ref<Group> Group::intersection_with(const Group& other) const {
  std::vector<Identity> members;
  append_members(members, *this, [&other](int, const Identity& identity) {
    return other.rank_of(identity) != undefined_rank;
  });
  return derive(std::move(members));
}

Ref<Group> Group::difference_with(const Group& other) const {
  std::vector<Identity> members;
  append_members(members, *this, [&other](int, const Identity& identity) {
    return other.rank_of(identity) == undefined_rank;
  });
  return derive(std::move(members));
}

Result<Ref<Group>> Group::include(std::span<const int> ranks) const {
  auto selection = RankSelection::of_ranks(size(), ranks);
  if (!selection.ok()) return selection.take_error();
  return derive(only(*this, *selection));
}

Result<Ref<Group>> Group::exclude(std::span<const int> ranks) const {
  auto selection = RankSelection::of_ranks(size(), ranks);
  if (!selection.ok()) return selection.take_error();
  return derive(without(*this, *selection));
}

Result<Ref<Group>> Group::include_ranges(std::span<const Range> ranges) const {
  auto selection = RankSelection::of_ranges(size(), ranges);
  if (!selection.ok()) return selection.take_error();
  return derive(only(*this, *selection));
}

Result<Ref<Group>> Group::exclude_ranges(std::span<const Range> ranges) const {
  auto selection = RankSelection::of_ranges(size(), ranges);
  if (!selection.ok()) return selection.take_error();
  return derive(without(*this, *selection));
}

}  // namespace hawser::core
