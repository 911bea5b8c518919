#include "softrdma/verbs/adapter.hpp"

#include <algorithm>
#include <utility>

#include "platform/futex.hpp"
#include "platform/thread.hpp"
#include "softrdma/udp/addresses.hpp"

namespace softrdma::verbs {
namespace {

constexpr int rounds_max = 64;
/// After so many polls in a row for nothing, others may need the core.
constexpr int patience_polls = 200;
constexpr std::uint64_t never = ~std::uint64_t{0};
/// How long a program that has polled may do something else before its device is driven for it.
constexpr std::uint64_t watch_ns_min = 50'000;
constexpr std::uint64_t watch_ns_max = 1'000'000;
constexpr std::uint64_t recently_ns = 5'000;
constexpr std::uint64_t publish_every_ns = 100'000'000;
constexpr std::uint64_t linger_ns = 50'000;
constexpr std::uint64_t link_local_prefix = 0xfe80000000000000;

ibv_gid gid_of(std::uint64_t prefix, std::uint64_t interface) {
  ibv_gid gid{};
  for (std::size_t i = 0; i < 8; ++i) {
    gid.raw[i] = static_cast<std::uint8_t>(prefix >> (56 - 8 * i));
    gid.raw[8 + i] = static_cast<std::uint8_t>(interface >> (56 - 8 * i));
  }
  return gid;
}

/// Locally administered; its low half is the address, by which other hosts find it.
std::uint64_t guid_of(const fabric::Host& host) {
  constexpr std::uint64_t random_bits = 0x00ffff00'00000000;
  constexpr std::uint64_t administered_locally = std::uint64_t{2} << 56;
  const std::uint64_t low =
      udp::ipv4_of(host.addresses()).value_or(static_cast<std::uint32_t>(host.guid()));
  return administered_locally | (host.guid() & random_bits) | low;
}

/// What the ports are called follows from the addresses of the host, so that other hosts find it.
std::vector<link::PortIdentity> ports_of(const AdapterSettings& settings,
                                         const fabric::Host& host) {
  const auto addresses = host.addresses();
  const std::optional<std::uint32_t> ipv4 = udp::ipv4_of(addresses);
  std::vector<link::PortIdentity> ports(settings.ports);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    link::PortIdentity& port = ports[i];
    port.is_ethernet = settings.is_ethernet;
    if (settings.is_ethernet) {
      for (const fabric::NetworkAddress& address : addresses)
        port.gids.push_back(udp::gid_of(address.address));
    } else {
      port.lid = static_cast<std::uint16_t>((ipv4 ? udp::lid_of(*ipv4) : 1) + i);
    }
    if (port.gids.empty())
      port.gids = {gid_of(link_local_prefix, guid_of(host) + (std::uint64_t{i} << 32))};
    if (host.sockets().empty()) continue;
    for (const fabric::NetworkAddress& address : addresses)
      port.mtu = std::min(port.mtu, udp::payload_mtu(address.mtu));
  }
  return ports;
}

std::uint32_t datagram_bytes_max(const std::vector<link::PortIdentity>& ports) {
  return 128U << ports.front().mtu;
}

}  // namespace

Adapter::Adapter(const AdapterSettings& settings, std::unique_ptr<fabric::Host> host)
    : settings_(settings),
      host_(std::move(host)),
      guid_(guid_of(*host_)),
      seat_(host_->seat_memory(host_->seat())),
      ports_(ports_of(settings, *host_)),
      link_(*host_, ports_),
      device_({.secret = settings.secret,
               .queue_pairs_max = settings.queue_pairs_max,
               .datagram_bytes_max = datagram_bytes_max(ports_),
               .context_entries = settings.context_entries},
              outermost_link(), *host_, *this) {}

link::Link& Adapter::outermost_link() {
  if (!settings_.faults.any()) return link_;
  // What is late or spoilt is a copy that goes at once.
  link_.copy_always();
  return faulty_.emplace(link_, settings_.faults, settings_.seed + host_->seat());
}

Adapter::~Adapter() {
  host_->stop_watching();
  is_ending_ = true;
  ring();
  if (thread_.joinable()) thread_.join();
}

bool Adapter::drive() {
  const std::uint64_t now = now_ns();
  polled_ns_.store(now, std::memory_order_relaxed);
  const bool moved = device_.drive(now);
  publish(now);
  leave_to_thread();
  return moved;
}

void Adapter::send_for(qp::QueuePair& queue_pair) {
  device_.note_work(queue_pair);
  for (int round = 0; round < rounds_max && device_.is_ready(); ++round)
    if (!device_.send(now_ns())) break;
  leave_to_thread();
}

void Adapter::send_all() {
  for (int round = 0; round < rounds_max && device_.is_ready(); ++round) device_.send(now_ns());
}

void Adapter::end() {
  constexpr int tries_max = 100;
  for (int tries = 0; tries < tries_max; ++tries) {
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (guard.owns_lock()) return send_all();
    hawser::platform::yield_cpu();
  }
}

/// Who polls looks at the timers, and at what is ready, too.
void Adapter::leave_to_thread() {
  if (seat_.is_polled.load(std::memory_order_relaxed) != 0) return;
  const std::optional<std::uint64_t> deadline = device_.deadline_ns();
  if (device_.is_ready() || (deadline && *deadline < wakes_ns_)) ring();
}

void Adapter::publish(std::uint64_t now_ns) {
  if (now_ns - published_ns_ < publish_every_ns) return;
  published_ns_ = now_ns;
  const qp::Requester::Counters requesters = device_.requester_counters();
  const fabric::HostLink::Counters& local = link_.local_counters();
  host_->publish(
      {.queue_pairs = device_.queue_pair_count(),
       .regions = device_.regions().size(),
       .region_bytes = device_.regions().bytes(),
       .packets_sent = device_.counters().packets_sent,
       .packets_received = device_.counters().packets_received,
       .bytes_read = local.read_bytes,
       .bytes_direct = link_.direct_counters().bytes,
       .udp_sent = link_.sender_counters().packets,
       .udp_received = link_.receiver_counters().packets + link_.group_counters().packets,
       .repeated = requesters.repeated_packets,
       .timeouts = requesters.timeouts,
       .not_ready = requesters.not_ready,
       .dropped = device_.counters().without_queue_pair + local.gone + local.malformed +
                  local.without_room + link_.counters().dropped + link_.counters().malformed +
                  link_.sender_counters().refused,
       .wrong_checksum =
           link_.receiver_counters().wrong_checksum + link_.group_counters().wrong_checksum,
       .context_misses = device_.counters().context_misses});
}

// The thread

void Adapter::start() {
  if (thread_.joinable()) return;
  thread_ = hawser::platform::quiet_thread([this] { run(); });
  host_->watch_sockets([this](std::size_t which) { link_.on_socket_ready(which); },
                       link_.group_descriptor());
}

void Adapter::run() {
  while (!is_ending_) sleep();
}

/// Drives as long as there is something to do, and sleeps until there is again.
void Adapter::sleep() {
  const std::uint32_t bell = seat_.bell.load();
  const Turn turn = take_turn();
  const bool is_polled = seat_.is_polled.exchange(0) != 0 || turn == Turn::left;
  // A program that leaves something to do though it polls has its mind elsewhere at times.
  watch_ns_ = turn == Turn::moved ? watch_ns_min : std::min(2 * watch_ns_, watch_ns_max);
  if (turn == Turn::moved) linger();
  const std::uint64_t wakes_ns = is_polled ? now_ns() + watch_ns_ : wakes_ns_.load();
  seat_.sleep.store(is_polled ? fabric::Sleep::watches : fabric::Sleep::deep);
  // Who came before we said that we sleep has not rung.
  const bool has_work = !is_polled && (link_.has_mail() || seat_.is_polled.load() != 0);
  const std::uint64_t now = now_ns();
  if (!has_work && !is_ending_ && now < wakes_ns)
    hawser::platform::futex_wait(seat_.bell, bell, wakes_ns == never ? 0 : wakes_ns - now);
  seat_.sleep.store(fabric::Sleep::none);
}

/// For the program, unless that does it itself just now.
Adapter::Turn Adapter::take_turn() {
  if (now_ns() - polled_ns_.load(std::memory_order_relaxed) < recently_ns) return Turn::left;
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock()) return Turn::left;
  const std::uint64_t now = now_ns();
  const bool moved = device_.drive(now);
  publish(now);
  wakes_ns_ = device_.is_ready() ? now_ns() : device_.deadline_ns().value_or(never);
  return moved ? Turn::moved : Turn::idle;
}

/// Where one packet was, another one follows soon: waking up takes longer than that.
void Adapter::linger() {
  seat_.lingers.store(1);
  for (std::uint64_t last_ns = now_ns(); now_ns() - last_ns < linger_ns && !is_ending_;) {
    if (take_turn() == Turn::moved) {
      last_ns = now_ns();
    } else {
      hawser::platform::yield_cpu();
    }
  }
  seat_.lingers.store(0);
  // What comes now is for those who sleep on the sockets.
  host_->look_again();
}

void Adapter::ring() {
  seat_.bell.fetch_add(1);
  if (seat_.sleep.load() != fabric::Sleep::none) hawser::platform::futex_wake_all(seat_.bell);
}

bool Adapter::note_poll(bool found_something) {
  if (armed_ == 0 && seat_.is_polled.load(std::memory_order_relaxed) == 0) {
    seat_.is_polled.store(1);
    host_->note_poller();
    // The thread has to see when this ends.
    if (seat_.sleep.load() == fabric::Sleep::deep) ring();
  }
  empty_polls_ = found_something ? 0 : empty_polls_ + 1;
  return empty_polls_ > patience_polls;
}

void Adapter::note_armed(int change) {
  armed_ += change;
  if (armed_ > 0) seat_.is_polled.store(0);
}

bool Adapter::reaches(const ibv_ah_attr& address) const {
  return link_.path_to(address, IBV_MTU_256).has_value();
}

void Adapter::listen(std::uint32_t number, EventListener& listener) {
  listeners_.emplace(number, &listener);
}

bool Adapter::ignore(std::uint32_t number, EventListener& listener) {
  const auto [first, end] = listeners_.equal_range(number);
  listeners_.erase(
      std::find_if(first, end, [&](const auto& entry) { return entry.second == &listener; }));
  return listeners_.contains(number);
}

void Adapter::on_event(qp::QueuePair& queue_pair, ibv_event_type event) {
  const auto [first, end] = listeners_.equal_range(queue_pair.number());
  for (auto entry = first; entry != end; ++entry) entry->second->on_event(event);
}

}  // namespace softrdma::verbs
