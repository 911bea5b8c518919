#include "comm_ops/bridge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "collective/algorithm/buffers.hpp"
#include "collective/collective.hpp"

namespace hawser::comm_ops {
namespace {

// What leaders send: a hash, then one entry for each member of their group.
struct Entry {
  Identity identity;
  Numbers numbers;
};
static_assert(sizeof(Entry) == 24);
constexpr std::size_t header_bytes = sizeof(core::GlobalId);

std::vector<std::byte> describe(const Side& side, const core::GlobalId& hash) {
  std::vector<std::byte> message(header_bytes + side.numbers.size() * sizeof(Entry));
  std::memcpy(message.data(), &hash, header_bytes);
  for (std::size_t rank = 0; rank < side.numbers.size(); ++rank) {
    const Entry entry{side.group->member(static_cast<int>(rank)), side.numbers[rank]};
    std::memcpy(message.data() + header_bytes + rank * sizeof(Entry), &entry, sizeof(Entry));
  }
  return message;
}

Result<std::vector<Entry>> understand(const std::vector<std::byte>& message,
                                      const core::GlobalId& hash) {
  const std::size_t rest = message.size() - std::min(message.size(), header_bytes);
  if (rest == 0 || rest % sizeof(Entry) != 0) {
    return Error(
        ErrorClass::intern,
        fmt::format("the remote leader described its group in {} bytes; {} and {} for each "
                    "member would be right",
                    message.size(), header_bytes, sizeof(Entry)));
  }
  if (std::memcmp(message.data(), &hash, header_bytes) != 0) {
    return Error(ErrorClass::intern,
                 "the remote leader creates another intercommunicator whose hash has the same 30 "
                 "bits; another tag would be right");
  }
  std::vector<Entry> entries(rest / sizeof(Entry));
  std::memcpy(entries.data(), message.data() + header_bytes, rest);
  return entries;
}

Side side_of(const std::vector<Entry>& entries) {
  Side side;
  std::vector<Identity> members;
  members.reserve(entries.size());
  side.numbers.reserve(entries.size());
  for (const Entry& entry : entries) {
    members.push_back(entry.identity);
    side.numbers.push_back(entry.numbers);
  }
  side.group = Group::of_list(std::move(members));
  return side;
}

Result<std::vector<std::byte>> swap_messages(p2p::Engine& engine, const Bridge& bridge,
                                             const std::vector<std::byte>& mine) {
  const p2p::Envelope envelope{bridge.comm, bridge.peer, bridge.tag, core::Traffic::setup};
  const auto out =
      collective::const_byte_buffer(mine.data(), static_cast<base::Count>(mine.size()));
  Result<Ref<core::Request>> sending = engine.isend(out, envelope, p2p::SendMode::standard);
  if (!sending.ok()) return sending.take_error();
  core::Status status;
  HAWSER_TRY(engine.probe(envelope, &status));
  std::vector<std::byte> theirs(static_cast<std::size_t>(status.bytes));
  Result<void> received =
      engine.recv(collective::byte_buffer(theirs.data(), status.bytes), envelope, nullptr);
  engine.wait(**sending);
  if ((*sending)->error() != nullptr) return Error(*(*sending)->error());
  if (!received.ok()) return received.take_error();
  return theirs;
}

/// A group has distinct members, and the two groups have none in common.
Result<void> check_distinct(const std::vector<Entry>& theirs, const Group& ours) {
  std::vector<Identity> members;
  members.reserve(theirs.size());
  for (const Entry& entry : theirs) members.push_back(entry.identity);
  const auto common = std::ranges::find_if(
      members, [&](const Identity& member) { return ours.rank_of(member) >= 0; });
  if (common != members.end()) {
    return Error(ErrorClass::comm,
                 fmt::format("rank {} of the remote group is rank {} of the local group; the two "
                             "groups must have no member in common",
                             common - members.begin(), ours.rank_of(*common)));
  }
  std::ranges::sort(members);
  if (std::ranges::adjacent_find(members) == members.end()) return {};
  return Error(ErrorClass::intern, "the remote leader named a process twice");
}

Result<std::vector<Entry>> meet_leader(p2p::Engine& engine, const Side& ours,
                                       const Bridge& bridge) {
  const auto message = swap_messages(engine, bridge, describe(ours, bridge.hash));
  if (!message.ok()) return Error(message.error());
  Result<std::vector<Entry>> entries = understand(*message, bridge.hash);
  if (!entries.ok()) return entries;
  HAWSER_TRY(check_distinct(*entries, *ours.group));
  if (bridge.expected != nullptr &&
      side_of(*entries).group->compare(*bridge.expected) != core::Comparison::ident) {
    return Error(ErrorClass::group,
                 fmt::format("the remote leader's group (of {}) is not the remote group (of {}) "
                             "that was passed here",
                             entries->size(), bridge.expected->size()));
  }
  return entries;
}

/// What the leader tells its group first.
struct Verdict {
  int code = 0;
  int members = 0;
};

/// ENTRIES is looked at on the leader only.
Result<std::vector<Entry>> hear_leader(p2p::Engine& engine, Comm& local, int leader,
                                       Result<std::vector<Entry>> entries) {
  const auto bcast = [&](auto items) {
    const auto bytes = std::as_writable_bytes(items);
    return collective::bcast(
        collective::DirectRunner(engine), local,
        {.buffer = collective::byte_buffer(bytes.data(), std::ssize(bytes)), .root = leader});
  };
  const bool leads = local.rank() == leader;
  Verdict verdict;
  if (leads && !entries.ok()) verdict.code = entries.error().code();
  if (leads && entries.ok()) verdict.members = static_cast<int>(entries->size());
  Result<void> told = bcast(std::span(&verdict, 1));
  if (leads && !entries.ok()) return entries;
  if (!told.ok()) return told.take_error();
  if (verdict.code != 0) {
    return Error::from_code(verdict.code,
                            fmt::format("rank {} of the local group, its leader, could not agree "
                                        "with the leader of the remote group",
                                        leader));
  }
  if (verdict.members < 1) {
    return Error(ErrorClass::intern, fmt::format("the local leader announced {} remote members; a "
                                                 "group has at least 1",
                                                 verdict.members));
  }
  if (!leads) entries = std::vector<Entry>(static_cast<std::size_t>(verdict.members));
  HAWSER_TRY(bcast(std::span(*entries)));
  return entries;
}

}  // namespace

Result<Ref<Comm>> connect(p2p::Engine& engine, const Side& ours, int rank, int leader,
                          Result<Bridge> bridge, const Heritage& heritage) {
  Result<Ref<Comm>> local = make_local(ours, rank, heritage);
  if (!local.ok()) return local;
  Result<std::vector<Entry>> theirs = std::vector<Entry>();
  if (rank == leader) {
    theirs = bridge.ok() ? meet_leader(engine, ours, *bridge)
                         : Result<std::vector<Entry>>(bridge.take_error());
  }
  theirs = hear_leader(engine, **local, leader, std::move(theirs));
  if (!theirs.ok()) return theirs.take_error();
  return make_inter(std::move(*local), ours, side_of(*theirs));
}

}  // namespace hawser::comm_ops
