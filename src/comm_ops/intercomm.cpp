#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm_ops/bridge.hpp"
#include "comm_ops/comm_factory.hpp"
#include "comm_ops/groups.hpp"

namespace hawser::comm_ops {
namespace {

/// Where the leader finds the other leader, if what it was told can be right.
Result<Bridge> bridge_over(Comm* peer, int remote_leader, int tag) {
  if (peer == nullptr) {
    return Error(ErrorClass::comm,
                 "the peer communicator is MPI_COMM_NULL; the local leader needs one that the "
                 "remote leader is in");
  }
  if (remote_leader < 0 || remote_leader >= peer->peer_count()) {
    return Error(ErrorClass::rank,
                 fmt::format("the remote leader is {}; it must be in [0,{}) of the peer "
                             "communicator",
                             remote_leader, peer->peer_count()));
  }
  if (tag < 0) {
    return Error(ErrorClass::tag,
                 fmt::format("the tag is {}; it must be in [0,{}]", tag, p2p::tag_max));
  }
  return Bridge{.comm = peer, .peer = remote_leader, .tag = tag};
}

}  // namespace

Result<Ref<Comm>> CommFactory::intercomm_create(Comm& local, int local_leader, Comm* peer,
                                                int remote_leader, int tag) {
  if (local.is_inter()) {
    return Error(ErrorClass::comm,
                 "the local communicator is an intercommunicator; an intracommunicator would be "
                 "right");
  }
  if (local_leader < 0 || local_leader >= local.size()) {
    return Error(ErrorClass::rank,
                 fmt::format("the local leader is {}; it must be in [0,{}) of the local "
                             "communicator",
                             local_leader, local.size()));
  }
  const bool leads = local.rank() == local_leader;
  return connect(local, local_leader, leads ? bridge_over(peer, remote_leader, tag) : Bridge{});
}

Result<Ref<Comm>> CommFactory::connect(Comm& local, int leader, Result<Bridge> bridge) {
  Result<Told<Numbers>> told = tell_all(engine_, local, take_numbers(true));
  if (!told.ok()) return told.take_error();
  const Side ours{share(local.group()), std::move(told->ours)};
  return comm_ops::connect(engine_, ours, local.rank(), leader, std::move(bridge),
                           heritage_of(local));
}

Result<Ref<Comm>> CommFactory::merge(Comm& inter, bool high) {
  struct Wish {
    Numbers numbers;
    int high;
  };
  if (!inter.is_inter()) {
    return Error(ErrorClass::comm,
                 "the communicator is an intracommunicator; an intercommunicator would be right");
  }
  Result<Told<Wish>> told = tell_all(engine_, inter, Wish{take_numbers(false), high ? 1 : 0});
  if (!told.ok()) return told.take_error();
  const int our_wish = told->ours.front().high;
  const int their_wish = told->theirs.front().high;
  const auto differs = [&](const Wish& wish) { return wish.high != our_wish; };
  if (std::ranges::any_of(told->ours, differs)) {
    return Error(ErrorClass::arg, "the members of the local group passed different values of high");
  }
  // Of two groups that wish the same, the one whose first member has the smaller identity is first.
  const bool first = our_wish != their_wish
                         ? our_wish < their_wish
                         : inter.group().member(0) < inter.peer_group().member(0);
  if (!first) std::swap(told->ours, told->theirs);
  Side members;
  members.group = first ? concatenate(inter.group(), inter.peer_group())
                        : concatenate(inter.peer_group(), inter.group());
  for (const auto* wishes : {&told->ours, &told->theirs}) {
    for (const Wish& wish : *wishes) members.numbers.push_back(wish.numbers);
  }
  return make_intra(members, inter.rank() + (first ? 0 : inter.peer_count()), heritage_of(inter));
}

}  // namespace hawser::comm_ops
