#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "comm_ops/assemble.hpp"
#include "comm_ops/comm_factory.hpp"
#include "comm_ops/groups.hpp"

namespace hawser::comm_ops {
namespace {

constexpr int no_color = core::undefined_rank;  // MPI_UNDEFINED

/// What each process asks for.
struct Wish {
  Numbers numbers;
  int color;
  int key;
};

/// The ranks of those who wish COLOR: by key, then by rank.
std::vector<int> ranks_of(const std::vector<Wish>& wishes, int color) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
    if (wishes[rank].color == color) ranks.push_back(static_cast<int>(rank));
  }
  std::ranges::stable_sort(ranks, {},
                           [&](int rank) { return wishes[static_cast<std::size_t>(rank)].key; });
  return ranks;
}

Side side_of(const Group& parent, const std::vector<Wish>& wishes, const std::vector<int>& ranks) {
  Side side;
  std::vector<Identity> members;
  members.reserve(ranks.size());
  side.numbers.reserve(ranks.size());
  for (const int rank : ranks) {
    members.push_back(parent.member(rank));
    side.numbers.push_back(wishes[static_cast<std::size_t>(rank)].numbers);
  }
  side.group = Group::of_list(std::move(members));
  return side;
}

/// Null for processes without a colour, and where only one side of an intercommunicator has it.
Result<Ref<Comm>> split_by(p2p::Engine& engine, Comm& parent, const Wish& mine) {
  Result<Told<Wish>> told = tell_all(engine, parent, mine);
  if (!told.ok()) return told.take_error();
  if (mine.color == no_color) return Ref<Comm>();
  const std::vector<int> ours = ranks_of(told->ours, mine.color);
  const std::vector<int> theirs = ranks_of(told->theirs, mine.color);
  if (parent.is_inter() && theirs.empty()) return Ref<Comm>();
  const auto me = std::ranges::find(ours, parent.rank());
  return make_child(parent, side_of(parent.group(), told->ours, ours),
                    side_of(parent.peer_group(), told->theirs, theirs),
                    static_cast<int>(me - ours.begin()));
}

/// Disjoint groups may be passed at the same time; their first members tell them apart. The sides
/// of an intercommunicator can't know each other's, so there one group a side is all there is.
int color_of(const Group& group, const Comm& parent) {
  return parent.is_inter() ? 0 : parent.group().rank_of(group.member(0));
}

}  // namespace

Result<Ref<Comm>> CommFactory::split(Comm& parent, int color, int key) {
  const bool valid = color >= 0 || color == no_color;
  // With a wrong colour too: the others wait for us.
  Result<Ref<Comm>> comm =
      split_by(engine_, parent, {take_numbers(parent.is_inter()), valid ? color : no_color, key});
  if (valid) return comm;
  return Error(ErrorClass::arg,
               fmt::format("the color is {}; it must be 0 or more, or MPI_UNDEFINED", color));
}

Result<Ref<Comm>> CommFactory::create(Comm& parent, const Group& group) {
  Result<void> valid = check_members(group, parent);
  const int rank = valid.ok() ? group.rank_of(parent.group().member(parent.rank())) : no_color;
  const int color = rank >= 0 ? color_of(group, parent) : no_color;
  Result<Ref<Comm>> comm =
      split_by(engine_, parent, {take_numbers(parent.is_inter()), color, rank});
  if (!valid.ok()) return valid.take_error();
  if (comm.ok() && *comm && (*comm)->group().compare(group) != core::Comparison::ident) {
    return Error(
        ErrorClass::group,
        fmt::format("the {} members of the group did not all pass the same group", group.size()));
  }
  return comm;
}

namespace {

/// Where this process is, as a colour that all processes of its host compute alike, and whether
/// there are others. On an intercommunicator both sides count through the groups in one order.
struct Place {
  int host;
  bool is_everywhere;  // all of the communicator is on this host
};

Place place_of(const Comm& parent, const Locality& locality) {
  const Group* first = &parent.group();
  const Group* second = parent.is_inter() ? &parent.peer_group() : nullptr;
  if (second != nullptr && second->member(0) < first->member(0)) std::swap(first, second);
  Place place{.host = -1, .is_everywhere = true};
  int position = 0;
  for (const Group* group : {first, second}) {
    for (int rank = 0; group != nullptr && rank < group->size(); ++rank, ++position) {
      if (!locality.is_same_host(group->member(rank))) {
        place.is_everywhere = false;
      } else if (place.host < 0) {
        place.host = position;
      }
    }
  }
  return place;
}

std::string_view value_of(const Info* info, std::string_view key) {
  return info == nullptr ? std::string_view() : info->get(key).value_or(std::string_view());
}

int color_by_hardware(std::string_view resource, const Place& place) {
  return resource == "mpi_shared_memory" ? place.host : no_color;
}

int color_by_resource(const Info* info, const Place& place, const Comm& parent) {
  const std::string_view pset = value_of(info, "mpi_pset_name");
  if (pset == "mpi://WORLD") return 0;
  if (pset == "mpi://SELF") return parent.rank();
  return color_by_hardware(value_of(info, "mpi_hw_resource_type"), place);
}

}  // namespace

Result<Ref<Comm>> CommFactory::split_type(Comm& parent, int split_type, int key, Info* info) {
  int color = no_color;
  bool valid = true;
  const Place place = place_of(parent, locality_);
  switch (static_cast<SplitType>(split_type)) {
    case SplitType::shared:
      color = place.host;
      break;
    // A host is the smallest unit known, and the parts must be smaller than the whole.
    case SplitType::hw_unguided:
      color = place.is_everywhere ? no_color : place.host;
      break;
    case SplitType::hw_guided:
      color = color_by_hardware(value_of(info, "mpi_hw_resource_type"), place);
      break;
    case SplitType::resource_guided:
      color = color_by_resource(info, place, parent);
      break;
    default:
      valid = split_type == no_color;
  }
  Result<Ref<Comm>> comm = split_by(engine_, parent, {take_numbers(parent.is_inter()), color, key});
  if (valid) return comm;
  return Error(ErrorClass::arg,
               fmt::format("the split type is {}; it must be one of MPI_COMM_TYPE_SHARED, "
                           "_HW_GUIDED, _HW_UNGUIDED and _RESOURCE_GUIDED, or MPI_UNDEFINED",
                           split_type));
}

}  // namespace hawser::comm_ops
