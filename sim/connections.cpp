#include "sim/connections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/assert.hpp"
#include "sim/network.hpp"

namespace hawser::sim {

Connections::PairNumber Connections::make(std::uint32_t owner, std::uint32_t peer) {
  pairs_.emplace(++last_, QueuePair{.owner = owner, .peer_process = peer});
  return last_;
}

void Connections::connect(PairNumber pair, PairNumber peers) {
  QueuePair& queue_pair = *find(pair);
  HAWSER_ASSERT(queue_pair.peer == none && peers != none);
  network_.scheduler().note("{} connects queue pair {} with {}", queue_pair.owner, pair, peers);
  queue_pair.peer = peers;
}

void Connections::open(PairNumber pair) {
  HAWSER_ASSERT(find(pair)->peer != none);
  find(pair)->is_open = true;
}

void Connections::destroy(PairNumber pair) {
  QueuePair* const peer = find(find(pair)->peer);
  if (peer != nullptr && peer->peer == pair) cut_operations(find(pair)->peer, *peer);
  pairs_.erase(pair);
}

Connections::QueuePair* Connections::find(PairNumber pair) {
  const auto found = pairs_.find(pair);
  return found == pairs_.end() ? nullptr : &found->second;
}

const Connections::QueuePair* Connections::find(PairNumber pair) const {
  const auto found = pairs_.find(pair);
  return found == pairs_.end() ? nullptr : &found->second;
}

bool Connections::claim_room(PairNumber pair) {
  QueuePair& sender = *find(pair);
  if (sender.slots_used == network_.settings().connection_slots) {
    ++network_.probes().full;
    return false;  // free_room() wakes the owner, or tell() if the connection is broken
  }
  if (random_.one_in(network_.settings().no_room_one_in)) {
    network_.scheduler().after(random_.below(1000),
                               [this, owner = sender.owner] { network_.wake(owner); });
    return false;
  }
  ++sender.slots_used;
  return true;
}

void Connections::free_room(PairNumber pair) {
  QueuePair* const sender = find(pair);
  if (sender == nullptr) return;
  --sender->slots_used;
  network_.wake(sender->owner);
}

void Connections::send(PairNumber pair, Arrival arrival) {
  QueuePair& sender = *find(pair);
  HAWSER_ASSERT(sender.is_open);
  network_.scheduler().note("{} sends parcel {} of {} bytes by queue pair {}, channel {}",
                            sender.owner, static_cast<unsigned>(arrival.parcel), arrival.bytes,
                            pair, static_cast<unsigned>(arrival.kind));
  if (sender.is_broken) {
    if (arrival.parcel == Parcel::frame) ++network_.probes().connected_frames_lost;
    tell(pair, sender);
    return;
  }
  const std::uint64_t now_ns = network_.scheduler().now_ns();
  const std::uint64_t time_ns = arrival_ns(sender, arrival);
  ++sender.on_their_way;
  maybe_break(pair, time_ns - now_ns);
  // Shared, because an action must be copyable.
  auto parcel = std::make_shared<Arrival>(std::move(arrival));
  network_.scheduler().after(time_ns - now_ns,
                             [this, pair, parcel] { deliver(pair, std::move(*parcel)); });
}

void Connections::maybe_break(PairNumber pair, std::uint64_t delay_ns) {
  const QueuePair& sender = *find(pair);
  if (network_.is_carrying(sender.owner, sender.peer_process) &&
      !random_.one_in(network_.settings().connection_broken_one_in))
    return;
  // What arrives until then is not lost.
  network_.scheduler().after(random_.below(2 * delay_ns + 1), [this, pair] { cut(pair); });
}

/// Each kind keeps its order, and what is said about channels comes after what was sent by them.
std::uint64_t Connections::arrival_ns(QueuePair& sender, const Arrival& arrival) {
  constexpr std::size_t control = transport::channel_kind_count;
  const bool is_frame = arrival.parcel == Parcel::frame;
  const auto kind = static_cast<std::size_t>(arrival.kind);
  std::uint64_t& last_ns = sender.last_arrival_ns[is_frame ? kind : control];
  const std::uint64_t delay_ns =
      random_.below(network_.settings().delay_ns_max[static_cast<std::size_t>(arrival.kind)]);
  last_ns = std::max(last_ns, network_.scheduler().now_ns() + delay_ns);
  if (!is_frame) last_ns = std::max(last_ns, sender.last_arrival_ns[kind]);
  return last_ns;
}

void Connections::deliver(PairNumber from, Arrival arrival) {
  QueuePair* const sender = find(from);
  if (sender == nullptr || sender->is_broken) {
    if (arrival.parcel == Parcel::frame) ++network_.probes().connected_frames_lost;
    return;
  }
  const QueuePair* const receiver = find(sender->peer);
  if (receiver == nullptr || receiver->peer != from || network_.is_closed(receiver->owner)) {
    mark_broken(from, *sender);
    return;
  }
  --sender->on_their_way;
  arrival.from = sender->owner;
  arrival.pair = sender->peer;
  arrival.senders_pair = from;
  network_.put_into_mailbox(receiver->owner, std::move(arrival));
  network_.wake(sender->owner);
}

void Connections::cut_all_of(std::uint32_t port) {
  std::vector<PairNumber> cut_off;
  for (const auto& [number, queue_pair] : pairs_)
    if (queue_pair.is_open && (queue_pair.owner == port || queue_pair.peer_process == port))
      cut_off.push_back(number);
  for (const PairNumber pair : cut_off) cut(pair);
}

bool Connections::is_idle(PairNumber pair) const { return find(pair)->on_their_way == 0; }

void Connections::cut(PairNumber pair) {
  QueuePair* const queue_pair = find(pair);
  if (queue_pair == nullptr || queue_pair->is_broken) return;
  ++network_.probes().connections_broken;
  network_.scheduler().note("the connection of queue pair {} breaks", pair);
  QueuePair* const peer = find(queue_pair->peer);
  const bool has_peer = peer != nullptr && peer->peer == pair;
  cut_operations(pair, *queue_pair);
  if (has_peer) cut_operations(queue_pair->peer, *peer);
  mark_broken(pair, *queue_pair);
  tell(pair, *queue_pair);
  if (has_peer) mark_broken(queue_pair->peer, *peer);
}

void Connections::mark_broken(PairNumber pair, QueuePair& queue_pair) {
  queue_pair.is_broken = true;
  // Who has nothing on its way does not notice.
  if (queue_pair.on_their_way > 0) tell(pair, queue_pair);
}

void Connections::tell(PairNumber pair, QueuePair& queue_pair) {
  if (std::exchange(queue_pair.is_told, true)) return;
  Arrival notice{queue_pair.peer_process, Parcel::broken, ChannelKind::rc_send, nullptr, 0};
  notice.pair = pair;
  const std::uint32_t owner = queue_pair.owner;
  network_.scheduler().after(random_.below(network_.settings().broken_noticed_ns_max),
                             [this, owner, parcel = std::make_shared<Arrival>(std::move(notice))] {
                               if (!network_.is_closed(owner))
                                 network_.put_into_mailbox(owner, std::move(*parcel));
                             });
}

std::string Connections::disagreement() const {
  for (const auto& [number, queue_pair] : pairs_) {
    if (network_.is_dead(queue_pair.owner) || network_.is_dead(queue_pair.peer_process)) continue;
    if (!queue_pair.is_open)
      return fmt::format("process {} has a queue pair that leads nowhere", queue_pair.owner);
    const QueuePair* const peer = find(queue_pair.peer);
    if (peer != nullptr && peer->peer == number && peer->is_open) continue;
    return fmt::format("process {} has a connection that its peer knows nothing of",
                       queue_pair.owner);
  }
  return {};
}

}  // namespace hawser::sim
