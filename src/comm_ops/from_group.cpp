#include <fmt/format.h>

#include <optional>
#include <utility>

#include "comm_ops/bridge.hpp"
#include "comm_ops/comm_factory.hpp"
#include "comm_ops/groups.hpp"
#include "comm_ops/setup.hpp"

namespace hawser::comm_ops {
namespace {

using Kind = Agenda::Kind;

/// All members of GROUP tell each other their numbers under AGENDA.
Result<Side> meet(p2p::Engine& engine, const Ref<Group>& group, int rank, const Agenda& agenda,
                  const Heritage& heritage, const Numbers& mine) {
  Meeting meeting(engine, group, rank, agenda, heritage.errhandler);
  Result<std::vector<Numbers>> numbers = meeting.exchange(mine);
  if (!numbers.ok()) return numbers.take_error();
  return Side{group, std::move(*numbers)};
}

Result<Ref<Comm>> with_info(Result<Ref<Comm>> comm, const Info* info) {
  if (comm.ok() && info != nullptr) (*comm)->set_info(info->duplicate());
  return comm;
}

Result<void> check_leader(const char* which, const Group& group, int leader) {
  if (leader >= 0 && leader < group.size()) return {};
  return Error(ErrorClass::rank,
               fmt::format("the {} leader is {}; it must be in [0,{}) of the {} group", which,
                           leader, group.size(), which));
}

Result<void> check_remote(const Group& local, const Group* remote, int remote_leader) {
  if (remote == nullptr) {
    return Error(ErrorClass::group,
                 "the remote group is MPI_GROUP_NULL; the local leader must know it");
  }
  HAWSER_TRY(check_leader("remote", *remote, remote_leader));
  const Ref<Group> common = local.intersection_with(*remote);
  if (common->size() == 0) return {};
  return Error(ErrorClass::group,
               fmt::format("the local and the remote group have {} members in common; they must "
                           "have none",
                           common->size()));
}

/// Of the two leaders, in an order that both agree on.
Ref<Group> pair_of(const Identity& one, const Identity& other) {
  return Group::of_list(one < other ? std::vector{one, other} : std::vector{other, one});
}

}  // namespace

Result<Ref<Comm>> CommFactory::create_group(Comm& parent, const Group& group, int tag) {
  if (parent.is_inter()) {
    return Error(ErrorClass::comm,
                 "the communicator is an intercommunicator; an intracommunicator would be right");
  }
  HAWSER_TRY(core::check_not_revoked(parent));
  HAWSER_TRY(check_members(group, parent));
  const int rank = group.rank_of(self_);
  if (rank < 0) return Ref<Comm>();
  Agenda agenda(Kind::create_group);
  agenda.add(parent.id()[0]).add(parent.id()[1]).add(static_cast<std::uint64_t>(tag)).add(group);
  const Heritage heritage = heritage_of(parent);
  const auto members = meet(engine_, share(group), rank, agenda, heritage, take_numbers(false));
  if (!members.ok()) return Error(members.error());
  return make_intra(*members, rank, heritage);
}

Result<Ref<Comm>> CommFactory::create_from_group(const Group& group, std::string_view tag,
                                                 Info* info, Ref<Errhandler> errhandler,
                                                 const core::Object* session) {
  const int rank = group.rank_of(self_);
  if (rank < 0) return Ref<Comm>();
  const Heritage heritage{std::move(errhandler), session, registry_};
  const auto members =
      meet(engine_, share(group), rank, Agenda(Kind::from_group).add(tag).add(group), heritage,
           take_numbers(false));
  if (!members.ok()) return Error(members.error());
  return with_info(make_intra(*members, rank, heritage), info);
}

Result<Ref<Comm>> CommFactory::intercomm_create_from_groups(const Group& local, int local_leader,
                                                            const Group* remote, int remote_leader,
                                                            std::string_view tag, Info* info,
                                                            Ref<Errhandler> errhandler,
                                                            const core::Object* session) {
  const int rank = local.rank_of(self_);
  if (rank < 0) return Ref<Comm>();
  HAWSER_TRY(check_leader("local", local, local_leader));
  const Heritage heritage{std::move(errhandler), session, registry_};
  const auto ours = meet(engine_, share(local), rank, Agenda(Kind::from_groups).add(tag).add(local),
                         heritage, take_numbers(true));
  if (!ours.ok()) return Error(ours.error());

  std::optional<Meeting> leaders;
  Result<Bridge> bridge = Bridge{};
  if (rank == local_leader) {
    if (Result<void> valid = check_remote(local, remote, remote_leader); valid.ok()) {
      const Ref<Group> pair = pair_of(self_, remote->member(remote_leader));
      const int me = pair->rank_of(self_);
      leaders.emplace(engine_, pair, me, Agenda(Kind::leaders).add(tag).add(*pair),
                      heritage.errhandler);
      bridge = Bridge{.comm = &leaders->comm(),
                      .peer = 1 - me,
                      .tag = leaders->tag(),
                      .hash = leaders->hash(),
                      .expected = remote};
    } else {
      bridge = valid.take_error();
    }
  }
  return with_info(
      comm_ops::connect(engine_, *ours, rank, local_leader, std::move(bridge), heritage), info);
}

}  // namespace hawser::comm_ops
