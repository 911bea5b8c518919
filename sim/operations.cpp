// The part of Connections that copies between the memory of two processes.
//
// An operation copies all at one time, and ends for its owner then (get) or when that was answered
// (put). If the connection breaks before, it has copied a part, or nothing, and copies nothing
// more; if it breaks before the answer, it has copied all, and its owner does not know.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "sim/network.hpp"

namespace hawser::sim {

using transport::Operation;

namespace {

bool is_held(const HeldMemories& memories, const Operation& operation) {
  return memories.covers(operation.local_key, operation.local_address, operation.bytes) &&
         memories.covers(operation.remote_key, operation.remote_address, operation.bytes);
}

void copy(const Operation& operation, std::uint64_t bytes) {
  auto* const local = reinterpret_cast<void*>(operation.local_address);
  auto* const remote = reinterpret_cast<void*>(operation.remote_address);
  if (operation.kind == Operation::Kind::get) {
    std::memcpy(local, remote, bytes);
  } else {
    std::memcpy(remote, local, bytes);
  }
}

}  // namespace

void Connections::start(PairNumber pair, const Operation& operation) {
  QueuePair& owner = *find(pair);
  HAWSER_ASSERT(owner.is_open && is_held(network_.held_memories(), operation));
  network_.scheduler().note("{} starts an operation of {} bytes by queue pair {}", owner.owner,
                            operation.bytes, pair);
  owner.operations.push_back({operation, Running::Stage::under_way});
  if (owner.is_broken) {
    tell(pair, owner);
    return;
  }
  const std::uint64_t now_ns = network_.scheduler().now_ns();
  const Arrival as_frame{owner.owner, Parcel::frame, ChannelKind::rc_rdma, nullptr, 0};
  const std::uint64_t time_ns = arrival_ns(owner, as_frame);
  ++owner.on_their_way;
  maybe_break(pair, time_ns - now_ns);
  network_.scheduler().after(time_ns - now_ns,
                             [this, pair, token = operation.token] { carry_out(pair, token); });
}

Connections::Running* Connections::find_running(QueuePair& owner, std::uint64_t token) {
  const auto found = std::ranges::find_if(owner.operations, [token](const Running& running) {
    return running.operation.token == token && running.stage != Running::Stage::ended;
  });
  return found == owner.operations.end() ? nullptr : &*found;
}

/// The queue pair at the other end of PAIR, if it can be reached.
Connections::QueuePair* Connections::reach(PairNumber pair, const QueuePair& queue_pair) {
  QueuePair* const peer = find(queue_pair.peer);
  const bool is_there = peer != nullptr && peer->peer == pair && !peer->is_broken &&
                        !network_.is_closed(peer->owner) && !network_.is_closed(queue_pair.owner);
  return is_there ? peer : nullptr;
}

void Connections::carry_out(PairNumber pair, std::uint64_t token) {
  QueuePair* const owner = find(pair);
  Running* const running = owner == nullptr ? nullptr : find_running(*owner, token);
  if (running == nullptr || owner->is_broken) return;
  if (reach(pair, *owner) == nullptr) {
    mark_broken(pair, *owner);
    return;
  }
  const Operation& operation = running->operation;
  // Memory that is let go while an operation may still reach it is somebody else's.
  HAWSER_ASSERT(is_held(network_.held_memories(), operation));
  copy(operation, operation.bytes);
  running->stage = Running::Stage::copied;
  if (operation.kind == Operation::Kind::get) {
    finish(pair, token);
    return;
  }
  const std::uint64_t answer_ns = random_.below(
      network_.settings().delay_ns_max[static_cast<std::size_t>(ChannelKind::rc_rdma)]);
  network_.scheduler().after(answer_ns, [this, pair, token] { finish(pair, token); });
}

/// The owner hears of it, whatever happens to the connection.
void Connections::finish(PairNumber pair, std::uint64_t token) {
  QueuePair* const owner = find(pair);
  Running* const running = owner == nullptr ? nullptr : find_running(*owner, token);
  if (running == nullptr || owner->is_broken) return;
  running->stage = Running::Stage::ended;
  --owner->on_their_way;
  ++network_.probes().operations_done;
  Arrival notice{owner->peer_process, Parcel::operation_ended, ChannelKind::rc_rdma, nullptr, 0};
  notice.pair = pair;
  if (!network_.is_closed(owner->owner)) network_.put_into_mailbox(owner->owner, std::move(notice));
}

/// The connection of PAIR is at an end now: what is under way copies a part of it, and no more.
void Connections::cut_operations(PairNumber pair, QueuePair& queue_pair) {
  const bool is_reached = reach(pair, queue_pair) != nullptr;
  for (Running& running : queue_pair.operations) {
    if (running.stage != Running::Stage::under_way) continue;
    running.stage = Running::Stage::cut;
    const Operation& operation = running.operation;
    if (!is_reached || !is_held(network_.held_memories(), operation)) continue;
    ++network_.probes().operations_cut;
    copy(operation, random_.below(operation.bytes + 1));
  }
}

std::vector<Connections::EndedOperation> Connections::take_ended(PairNumber pair) {
  std::vector<EndedOperation> ended;
  QueuePair* const owner = find(pair);
  if (owner == nullptr) return ended;
  std::erase_if(owner->operations, [&](const Running& running) {
    if (running.stage != Running::Stage::ended) return false;
    ended.push_back({running.operation.token, true});
    return true;
  });
  return ended;
}

std::vector<Connections::EndedOperation> Connections::end_operations(PairNumber pair) {
  std::vector<EndedOperation> ended = take_ended(pair);
  QueuePair* const owner = find(pair);
  if (owner == nullptr) return ended;
  cut_operations(pair, *owner);
  for (const Running& running : std::exchange(owner->operations, {})) {
    ++network_.probes().operations_failed;
    ended.push_back({running.operation.token, false});
  }
  return ended;
}

void Connections::stop(PairNumber pair) {
  QueuePair* const queue_pair = find(pair);
  if (queue_pair == nullptr || queue_pair->is_broken) return;
  ++network_.probes().operations_stopped;
  cut(pair);
}

}  // namespace hawser::sim
