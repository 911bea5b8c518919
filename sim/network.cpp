#include "sim/network.hpp"

#include <algorithm>
#include <utility>

namespace hawser::sim {

NetworkSettings NetworkSettings::draw(Random& random) {
  NetworkSettings settings;
  for (std::uint64_t& delay : settings.delay_ns_max) delay = std::uint64_t{100} << random.below(10);
  settings.slow_one_in = random.one_in(2) ? 0 : random.between<std::uint64_t>(5, 50);
  settings.connect_ns_max = std::uint64_t{100} << random.below(14);
  settings.queue_slots = std::size_t{1} << random.between(1, 7);
  settings.ring_slots = std::size_t{1} << random.between(0, 6);
  settings.queue_frame_bytes_max = 448 + 8 * random.below(64);
  settings.ring_frame_bytes_max = std::size_t{512} << random.below(8);
  settings.no_room_one_in = random.one_in(2) ? 0 : random.between<std::uint64_t>(2, 40);
  settings.single_copy_one_in = random.below(3);
  settings.single_copy_refused_one_in = random.one_in(2) ? 0 : random.between<std::uint64_t>(2, 20);
  settings.preempted_one_in = random.between<std::uint64_t>(3, 30);
  return settings;
}

Arrival Mailbox::take() {
  Arrival arrival = std::move(arrivals_.front());
  arrivals_.pop_front();
  return arrival;
}

std::deque<Arrival>::const_iterator Mailbox::find_ring_front(std::uint32_t peer) const {
  return std::ranges::find_if(arrivals_, [&](const Arrival& arrival) {
    return arrival.from == peer && arrival.parcel == Parcel::frame &&
           arrival.kind == ChannelKind::ring;
  });
}

const Arrival* Mailbox::ring_front(std::uint32_t peer) const {
  const auto found = find_ring_front(peer);
  return found == arrivals_.end() ? nullptr : &*found;
}

void Mailbox::drop_ring_front(std::uint32_t peer) { arrivals_.erase(find_ring_front(peer)); }

void Network::close(std::uint32_t process) {
  Mailbox& mailbox = mailboxes_[process];
  mailbox.closed_ = true;
  mailbox.arrivals_.clear();
  wake_refused(mailbox);
}

bool Network::claim_room(std::uint32_t from, std::uint32_t to, ChannelKind kind) {
  Mailbox& mailbox = mailboxes_[to];
  if (mailbox.closed_) return true;
  std::size_t& used = kind == ChannelKind::ring
                          ? channels_[{from, to, static_cast<std::uint32_t>(kind)}].slots_used
                          : mailbox.queue_slots_used_;
  const bool full =
      used == (kind == ChannelKind::ring ? settings_.ring_slots : settings_.queue_slots);
  if (full) {
    ++probes_.full;
    if (!settings_.forgets_refused) mailbox.refused_.push_back(from);
    return false;
  }
  if (random_.one_in(settings_.no_room_one_in)) {
    scheduler_.after(random_.below(1000), [this, from] { scheduler_.wake(from); });
    return false;
  }
  ++used;
  return true;
}

void Network::free_room(std::uint32_t from, std::uint32_t to, ChannelKind kind) {
  Mailbox& mailbox = mailboxes_[to];
  if (kind == ChannelKind::ring) {
    --channels_[{from, to, static_cast<std::uint32_t>(kind)}].slots_used;
  } else {
    --mailbox.queue_slots_used_;
  }
  wake_refused(mailbox);
}

void Network::wake_refused(Mailbox& mailbox) {
  for (const std::size_t fiber : std::exchange(mailbox.refused_, {})) scheduler_.wake(fiber);
}

void Network::send_frame(std::uint32_t from, std::uint32_t to, ChannelKind kind,
                         std::unique_ptr<std::byte[]> data, std::size_t bytes) {
  const auto kind_number = static_cast<std::uint32_t>(kind);
  scheduler_.note("{} sends a frame of {} bytes to {} by channel {}", from, bytes, to, kind_number);
  const std::uint64_t number = frames_sent_++;
  if (number == settings_.lost_frame) return;
  if (number == settings_.fatal_frame) {
    ++probes_.links_lost;
    send_control(from, to, Parcel::lost);
    send_control(to, from, Parcel::lost);
    return;
  }
  std::uint64_t delay = random_.below(settings_.delay_ns_max[kind_number]);
  if (random_.one_in(settings_.slow_one_in)) delay *= random_.between<std::uint64_t>(2, 20);
  Channel& channel = channels_[{from, to, kind_number}];
  channel.last_arrival_ns = std::max(channel.last_arrival_ns, scheduler_.now_ns() + delay);
  for (const ChannelKind other : {ChannelKind::shared_queue, ChannelKind::ring}) {
    const auto found = channels_.find({from, to, static_cast<std::uint32_t>(other)});
    if (found == channels_.end() || found->second.last_arrival_ns <= channel.last_arrival_ns)
      continue;
    ++probes_.overtakes;
  }
  deliver_at(channel.last_arrival_ns, to, {from, Parcel::frame, kind, std::move(data), bytes});
}

void Network::send_control(std::uint32_t from, std::uint32_t to, Parcel parcel) {
  scheduler_.note("{} sends parcel {} to {}", from, static_cast<unsigned>(parcel), to);
  std::uint64_t arrival_ns = scheduler_.now_ns() + random_.below(settings_.connect_ns_max);
  if (parcel >= Parcel::ring_ask && parcel <= Parcel::ring_recall) {
    Channel& control = channels_[{from, to, static_cast<std::uint32_t>(ChannelKind::count_)}];
    arrival_ns = std::max(arrival_ns, control.last_arrival_ns);
    if (parcel == Parcel::ring_give_back)
      arrival_ns = std::max(
          arrival_ns,
          channels_[{from, to, static_cast<std::uint32_t>(ChannelKind::ring)}].last_arrival_ns);
    control.last_arrival_ns = arrival_ns;
  }
  // After a loss nothing more arrives (transport/transport.hpp): what is on its way comes before.
  if (parcel == Parcel::lost)
    for (const ChannelKind kind : {ChannelKind::shared_queue, ChannelKind::ring})
      arrival_ns = std::max(
          arrival_ns, channels_[{from, to, static_cast<std::uint32_t>(kind)}].last_arrival_ns + 1);
  deliver_at(arrival_ns, to, {from, parcel, ChannelKind::shared_queue, nullptr, 0});
}

void Network::deliver_at(std::uint64_t time_ns, std::uint32_t to, Arrival arrival) {
  // Shared, because an action must be copyable.
  auto parcel = std::make_shared<Arrival>(std::move(arrival));
  scheduler_.after(time_ns - scheduler_.now_ns(), [this, to, parcel] {
    Mailbox& mailbox = mailboxes_[to];
    scheduler_.note("parcel {} of {} reaches {}", static_cast<unsigned>(parcel->parcel),
                    parcel->from, to);
    if (!mailbox.closed_) {
      mailbox.arrivals_.push_back(std::move(*parcel));
      scheduler_.wake(to);
    } else if (parcel->parcel == Parcel::hello) {
      send_control(to, parcel->from, Parcel::lost);
    }
  });
}

}  // namespace hawser::sim
