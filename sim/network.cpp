#include "sim/network.hpp"

#include <algorithm>
#include <utility>

namespace hawser::sim {

namespace {

/// The longest frame of every channel is at least that long: frame_bytes_guaranteed and a checksum
/// (channel/endpoint).
constexpr std::size_t frame_bytes_min = 456;

}  // namespace

NetworkSettings NetworkSettings::draw(Random& random) {
  NetworkSettings settings;
  for (std::uint64_t& delay : settings.delay_ns_max) delay = std::uint64_t{100} << random.below(10);
  settings.slow_one_in = random.one_in(2) ? 0 : random.between<std::uint64_t>(5, 50);
  settings.connect_ns_max = std::uint64_t{100} << random.below(14);
  settings.queue_slots = std::size_t{1} << random.between(1, 7);
  settings.ring_slots = std::size_t{1} << random.between(0, 6);
  settings.queue_frame_bytes_max = frame_bytes_min + 8 * random.below(64);
  settings.ring_frame_bytes_max = std::size_t{512} << random.below(8);
  settings.no_room_one_in = random.one_in(2) ? 0 : random.between<std::uint64_t>(2, 40);
  settings.single_copy_one_in = random.below(3);
  settings.single_copy_refused_one_in = random.one_in(2) ? 0 : random.between<std::uint64_t>(2, 20);
  settings.preempted_one_in = random.between<std::uint64_t>(3, 30);
  settings.has_datagrams = random.one_in(3);
  settings.datagram_lost_one_in = random.one_in(3) ? 0 : random.between<std::uint64_t>(3, 100);
  settings.datagram_repeated_one_in = random.one_in(2) ? 0 : random.between<std::uint64_t>(3, 100);
  settings.connection_slots = std::size_t{1} << random.between(0, 6);
  settings.fast_path_frame_bytes_max =
      random.one_in(2) ? settings.queue_frame_bytes_max : frame_bytes_min;
  settings.connection_broken_one_in =
      random.one_in(2) ? 0 : std::uint64_t{1} << random.between(2, 10);
  settings.hold_refused_one_in = random.one_in(2) ? 0 : random.between<std::uint64_t>(2, 20);
  settings.broken_noticed_ns_max = std::uint64_t{100} << random.below(14);
  settings.death_noticed_ns_max = std::uint64_t{1000} << random.below(12);
  constexpr std::array<std::size_t, 6> crossings = {0, 1, 1, 1, 2, 3};
  settings.crossings_max = random.pick(crossings);
  settings.crossing_part_bytes = std::uint64_t{128} << random.below(8);
  settings.crossing_timeout_ns = std::uint64_t{1000} << random.below(12);
  settings.crossing_refused_one_in = random.one_in(2) ? 0 : random.between<std::uint64_t>(2, 20);
  if (settings.has_datagrams && random.one_in(2))
    settings.rails = random.between<std::uint8_t>(2, 3);
  settings.sends_once_along = random.one_in(3);
  return settings;
}

void NetworkSettings::draw_copies(Random& random) {
  one_copy_pays_one_in = random.below(4);
  joint_copy_one_in = random.below(4);
  joint_claims_max = random.between<std::size_t>(1, 14);
}

void NetworkSettings::draw_failures(Random& random, std::uint32_t processes) {
  if (rails == 1 || random.one_in(4)) return;
  constexpr std::uint64_t failures_max = 4;
  // Whatever fails there does so for good; the others always lead to everybody again.
  const std::uint64_t doomed_rail = random.one_in(2) ? random.below(rails) : rails;
  for (std::uint64_t left = 1 + random.below(failures_max); left > 0; --left) {
    const std::uint64_t rail = random.below(rails);
    const std::uint64_t for_ns = 1 + random.below(std::uint64_t{1000} << random.below(12));
    port_failures.push_back({.process = random.between<std::uint32_t>(0, processes - 1),
                             .rail = static_cast<std::uint8_t>(rail),
                             .at_ns = random.below(std::uint64_t{1000} << random.below(12)),
                             .for_ns = rail == doomed_rail ? 0 : for_ns,
                             .is_told = random.one_in(2)});
  }
}

Network::Network(Scheduler& scheduler, const NetworkSettings& settings, std::uint64_t seed,
                 std::uint32_t processes)
    : scheduler_(scheduler),
      settings_(settings),
      processes_(processes),
      random_(seed, 2),
      mailboxes_(std::size_t{processes} * settings.rails),
      linked_(mailboxes_.size()),
      is_dead_(mailboxes_.size()),
      is_down_(mailboxes_.size()),
      connections_(*this, seed),
      crossings_(*this, seed) {
  for (const PortFailure& failure : settings_.port_failures) {
    scheduler_.after(failure.at_ns, [this, &failure] { set_port(failure, false); });
    if (failure.for_ns > 0)
      scheduler_.after(failure.at_ns + failure.for_ns,
                       [this, &failure] { set_port(failure, true); });
  }
}

/// A port may fail twice at a time: then it is up again after the first of them.
void Network::set_port(const PortFailure& failure, bool is_up) {
  const std::uint32_t port = port_of(failure.process, failure.rail);
  if (is_closed(port)) return;
  scheduler_.note("port {} of {} changes, up: {}", failure.rail, failure.process, is_up);
  if (!is_up) ++(failure.is_told ? probes_.ports_failed : probes_.ports_failed_silently);
  if (failure.for_ns == 0) ++probes_.ports_failed_for_good;
  is_down_[port] = !is_up;
  if (!is_up) connections_.cut_all_of(port);
  if (failure.is_told)
    put_into_mailbox(port, {port, is_up ? Parcel::port_up : Parcel::port_down, ChannelKind::ud_send,
                            nullptr, 0});
}

Arrival Mailbox::take() {
  Arrival arrival = std::move(arrivals_.front());
  arrivals_.pop_front();
  return arrival;
}

std::deque<Arrival>::const_iterator Mailbox::find_front(std::uint32_t peer,
                                                        ChannelKind kind) const {
  return std::ranges::find_if(arrivals_, [&](const Arrival& arrival) {
    return arrival.from == peer && arrival.parcel == Parcel::frame && arrival.kind == kind;
  });
}

const Arrival* Mailbox::front(std::uint32_t peer, ChannelKind kind) const {
  const auto found = find_front(peer, kind);
  return found == arrivals_.end() ? nullptr : &*found;
}

void Mailbox::drop_front(std::uint32_t peer, ChannelKind kind) {
  arrivals_.erase(find_front(peer, kind));
}

void Network::close(std::uint32_t port) {
  Mailbox& mailbox = mailboxes_[port];
  mailbox.closed_ = true;
  mailbox.arrivals_.clear();
  crossings_.forget(port);
  wake_refused(mailbox);
}

void Network::bury(std::uint32_t process) {
  if (is_closed(process)) return;
  for (std::uint8_t rail = 0; rail < settings_.rails; ++rail) {
    const std::uint32_t port = port_of(process, rail);
    close(port);
    is_dead_[port] = true;
    for (const std::uint32_t peer : linked_[port]) announce_death(port, peer);
  }
}

void Network::note_link(std::uint32_t port, std::uint32_t peer) {
  if (linked_[peer].insert(port).second && is_dead_[peer]) announce_death(peer, port);
}

void Network::announce_death(std::uint32_t port, std::uint32_t to) {
  scheduler_.after(random_.below(settings_.death_noticed_ns_max), [this, port, to] {
    if (is_closed(to)) return;
    ++probes_.deaths_noticed;
    send_control(port, to, Parcel::lost);
  });
}

void Network::count_restless_handshakes(int more) {
  restless_handshakes_ += static_cast<std::size_t>(more);
  if (restless_handshakes_ > 0) return;
  for (std::uint32_t process = 0; process < processes_; ++process) scheduler_.wake(process);
}

bool Network::claim_room(std::uint32_t from, std::uint32_t to, ChannelKind kind) {
  Mailbox& mailbox = mailboxes_[to];
  if (mailbox.closed_ || kind == ChannelKind::ud_send) return true;
  std::size_t& used = kind == ChannelKind::ring
                          ? channels_[{from, to, static_cast<std::uint32_t>(kind)}].slots_used
                          : mailbox.queue_slots_used_;
  const bool full =
      used == (kind == ChannelKind::ring ? settings_.ring_slots : settings_.queue_slots);
  if (full) {
    ++probes_.full;
    if (!settings_.forgets_refused) mailbox.refused_.push_back(process_of(from));
    return false;
  }
  if (random_.one_in(settings_.no_room_one_in)) {
    scheduler_.after(random_.below(1000), [this, from] { wake(from); });
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
  if (kind == ChannelKind::ud_send) {
    send_datagram(from, to, Parcel::frame, {data.get(), bytes});
    return;
  }
  const std::uint64_t number = frames_sent_++;
  if (number == settings_.lost_frame) return;
  if (number == settings_.fatal_frame) {
    ++probes_.links_lost;
    send_control(from, to, Parcel::lost);
    send_control(to, from, Parcel::lost);
    return;
  }
  const std::uint64_t delay = draw_delay_ns(kind);
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

std::uint64_t Network::draw_delay_ns(ChannelKind kind) {
  const std::uint64_t delay = random_.below(settings_.delay_ns_max[static_cast<std::size_t>(kind)]);
  return random_.one_in(settings_.slow_one_in) ? delay * random_.between<std::uint64_t>(2, 20)
                                               : delay;
}

void Network::send_datagram(std::uint32_t from, std::uint32_t to, Parcel parcel,
                            std::span<const std::byte> data) {
  if (!is_carrying(from, to)) {
    ++probes_.lost_at_ports;
    return;
  }
  if (random_.one_in(settings_.datagram_lost_one_in)) {
    ++probes_.datagrams_lost;
    scheduler_.note("it is lost");
    return;
  }
  const bool is_repeated = random_.one_in(settings_.datagram_repeated_one_in);
  if (is_repeated) ++probes_.datagrams_repeated;
  for (int times = is_repeated ? 2 : 1; times > 0; --times) {
    auto copy = std::make_unique<std::byte[]>(data.size());
    std::ranges::copy(data, copy.get());
    deliver_at(scheduler_.now_ns() + draw_delay_ns(ChannelKind::ud_send), to,
               {from, parcel, ChannelKind::ud_send, std::move(copy), data.size()});
  }
}

void Network::send_control(std::uint32_t from, std::uint32_t to, Parcel parcel) {
  scheduler_.note("{} sends parcel {} to {}", from, static_cast<unsigned>(parcel), to);
  std::uint64_t arrival_ns = scheduler_.now_ns() + random_.below(settings_.connect_ns_max);
  const bool is_about_ring = parcel >= Parcel::ask && parcel <= Parcel::recall;
  if (is_about_ring) {
    Channel& control = channels_[{from, to, static_cast<std::uint32_t>(ChannelKind::count_)}];
    arrival_ns = std::max(arrival_ns, control.last_arrival_ns);
    if (parcel == Parcel::give_back)
      arrival_ns = std::max(
          arrival_ns,
          channels_[{from, to, static_cast<std::uint32_t>(ChannelKind::ring)}].last_arrival_ns);
    control.last_arrival_ns = arrival_ns;
  }
  // After a loss nothing more arrives (transport/transport.hpp): what is on its way comes before.
  if (parcel == Parcel::lost)
    for (const ChannelKind kind :
         {ChannelKind::shared_queue, ChannelKind::ring, ChannelKind::count_})
      arrival_ns = std::max(
          arrival_ns, channels_[{from, to, static_cast<std::uint32_t>(kind)}].last_arrival_ns + 1);
  const ChannelKind kind = is_about_ring ? ChannelKind::ring : ChannelKind::shared_queue;
  deliver_at(arrival_ns, to, {from, parcel, kind, nullptr, 0});
}

void Network::deliver_at(std::uint64_t time_ns, std::uint32_t to, Arrival arrival) {
  // Shared, because an action must be copyable.
  auto parcel = std::make_shared<Arrival>(std::move(arrival));
  scheduler_.after(time_ns - scheduler_.now_ns(), [this, to, parcel] {
    scheduler_.note("parcel {} of {} reaches {}", static_cast<unsigned>(parcel->parcel),
                    parcel->from, to);
    if (!mailboxes_[to].closed_) {
      put_into_mailbox(to, std::move(*parcel));
    } else if (parcel->parcel == Parcel::hello) {
      send_control(to, parcel->from, Parcel::lost);
    }
  });
}

void Network::put_into_mailbox(std::uint32_t to, Arrival arrival) {
  Mailbox& mailbox = mailboxes_[to];
  if (arrival.kind == ChannelKind::ud_send && arrival.parcel == Parcel::frame) {
    if (mailbox.queue_slots_used_ == settings_.queue_slots) {
      ++probes_.datagrams_lost;
      return;
    }
    ++mailbox.queue_slots_used_;
  }
  mailbox.arrivals_.push_back(std::move(arrival));
  wake(to);
}

}  // namespace hawser::sim
