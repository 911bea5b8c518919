#include "softrdma/verbs/host_attachment.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "platform/futex.hpp"
#include "platform/thread.hpp"
#include "softrdma/udp/addresses.hpp"

namespace softrdma::verbs {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};
/// How long a program that has polled may do something else before its device is driven for it.
constexpr std::uint64_t watch_ns_min = 50'000;
constexpr std::uint64_t watch_ns_max = 1'000'000;
constexpr std::uint64_t recently_ns = 5'000;
constexpr std::uint64_t publish_every_ns = 100'000'000;
constexpr std::uint64_t linger_ns = 50'000;

/// Locally administered; its low half is the address, by which other hosts find it.
std::uint64_t guid_of(const fabric::Host& host) {
  constexpr std::uint64_t random_bits = 0x00ffff00'00000000;
  constexpr std::uint64_t administered_locally = std::uint64_t{2} << 56;
  const std::uint64_t low =
      udp::ipv4_of(host.addresses()).value_or(static_cast<std::uint32_t>(host.guid()));
  return administered_locally | (host.guid() & random_bits) | low;
}

/// What the ports are called follows from the addresses of the host, so that other hosts find it.
std::vector<link::PortIdentity> ports_of(const HostSettings& settings, const fabric::Host& host) {
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
      port.gids = {link::link_local_gid(guid_of(host) + (std::uint64_t{i} << 32))};
    if (host.sockets().empty()) continue;
    for (const fabric::NetworkAddress& address : addresses)
      port.mtu = std::min(port.mtu, udp::payload_mtu(address.mtu));
  }
  return ports;
}

}  // namespace

HostAttachment::HostAttachment(const HostSettings& settings, std::unique_ptr<fabric::Host> host)
    : host_(std::move(host)),
      guid_(guid_of(*host_)),
      seat_(host_->seat_memory(host_->seat())),
      ports_(ports_of(settings, *host_)),
      mishaps_(settings.faults.mishaps),
      seed_(settings.seed + host_->seat()),
      link_(*host_, ports_),
      outermost_link_(with_faults(settings)) {}

link::Link& HostAttachment::with_faults(const HostSettings& settings) {
  if (!settings.faults.any()) return link_;
  // What is late or spoilt is a copy that goes at once.
  link_.copy_always();
  return faulty_.emplace(link_, settings.faults, seed_);
}

/// What was sent and not yet read may go away with the program's memory.
HostAttachment::~HostAttachment() { link_.withdraw_all(); }

std::uint64_t HostAttachment::wall_ns() const {
  constexpr std::uint64_t second_ns = 1'000'000'000;
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  return static_cast<std::uint64_t>(wall.tv_sec) * second_ns +
         static_cast<std::uint64_t>(wall.tv_nsec);
}

bool HostAttachment::drive(device::Device& device) {
  const std::uint64_t now = now_ns();
  polled_ns_.store(now, std::memory_order_relaxed);
  suffer(device);
  const bool moved = device.drive(now);
  publish(device, now);
  leave_to_thread(device);
  return moved;
}

void HostAttachment::send(device::Device& device) {
  for (int round = 0; round < send_rounds_max && device.is_ready(); ++round)
    if (!device.send(now_ns())) break;
  leave_to_thread(device);
}

/// What another process asks for, if any: `softrdma fault`.
void HostAttachment::suffer(device::Device& device) {
  const std::optional<fabric::FaultRequest> request = fabric::pending_fault(seat_);
  if (request) fabric::answer_fault(seat_, suffer(device, *request));
}

/// False if there is nobody by its number.
bool HostAttachment::suffer(device::Device& device, const fabric::FaultRequest& request) const {
  if (request.kind == fabric::FaultKind::queue_pair_error) return device.fail(request.number);
  const bool is_up = request.kind == fabric::FaultKind::port_up;
  const bool is_known = is_up || request.kind == fabric::FaultKind::port_down;
  if (!is_known || request.number == 0 || request.number > ports_.size()) return false;
  device.set_port(static_cast<std::uint8_t>(request.number), is_up);
  return true;
}

/// Who polls looks at the timers, at what is ready, and at what we have sent to ourselves, too: for
/// that nobody rings.
void HostAttachment::leave_to_thread(const device::Device& device) {
  if (seat_.is_polled.load(std::memory_order_relaxed) != 0) return;
  const std::optional<std::uint64_t> deadline = device.deadline_ns();
  if (device.is_ready() || link_.has_mail() || (deadline && *deadline < wakes_ns_)) ring();
}

void HostAttachment::on_polling() {
  host_->note_poller();
  // The thread has to see when this ends.
  if (seat_.sleep.load() == fabric::Sleep::deep) ring();
}

void HostAttachment::publish(device::Device& device, std::uint64_t now_ns) {
  if (now_ns - published_ns_ < publish_every_ns) return;
  published_ns_ = now_ns;
  const qp::Requester::Counters requesters = device.requester_counters();
  const fabric::HostLink::Counters& local = link_.local_counters();
  const udp::Receiver::Counters& received = link_.receiver_counters();
  const udp::Receiver::Counters& for_groups = link_.group_counters();
  host_->publish({.queue_pairs = device.queue_pair_count(),
                  .regions = device.regions().size(),
                  .region_bytes = device.regions().bytes(),
                  .packets_sent = device.counters().packets_sent,
                  .packets_received = device.counters().packets_received,
                  .bytes_read = local.read_bytes,
                  .bytes_direct = link_.direct_counters().bytes,
                  .udp_sent = link_.sender_counters().packets,
                  .udp_received = received.packets + for_groups.packets,
                  .repeated = requesters.repeated_packets,
                  .timeouts = requesters.timeouts,
                  .not_ready = requesters.not_ready,
                  .notices = requesters.notices,
                  .dropped = device.counters().without_queue_pair + device.counters().from_others +
                             device.counters().lost_at_ports + local.gone + local.malformed +
                             local.without_room + link_.counters().dropped +
                             link_.counters().malformed + link_.sender_counters().refused,
                  .wrong_checksum = received.wrong_checksum + for_groups.wrong_checksum,
                  .context_misses = device.counters().context_misses});
}

// The thread

void HostAttachment::start(device::Device& device, std::mutex& mutex) {
  if (thread_.joinable()) return;
  thread_ = hawser::platform::quiet_thread([this, driven = Driven{device, mutex}] { run(driven); });
  host_->watch_sockets([this](std::size_t which) { link_.on_socket_ready(which); },
                       link_.group_descriptor());
}

void HostAttachment::stop() {
  host_->stop_watching();
  is_ending_ = true;
  ring();
  if (thread_.joinable()) thread_.join();
}

void HostAttachment::run(const Driven& driven) {
  while (!is_ending_) sleep(driven);
}

/// Drives as long as there is something to do, and sleeps until there is again.
void HostAttachment::sleep(const Driven& driven) {
  const std::uint32_t bell = seat_.bell.load();
  const Turn turn = take_turn(driven);
  const bool is_polled = seat_.is_polled.exchange(0) != 0 || turn == Turn::left;
  // A program that leaves something to do though it polls has its mind elsewhere at times.
  watch_ns_ = turn == Turn::moved ? watch_ns_min : std::min(2 * watch_ns_, watch_ns_max);
  if (turn == Turn::moved) linger(driven);
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
HostAttachment::Turn HostAttachment::take_turn(const Driven& driven) {
  if (now_ns() - polled_ns_.load(std::memory_order_relaxed) < recently_ns) return Turn::left;
  const std::unique_lock guard(driven.mutex, std::try_to_lock);
  if (!guard.owns_lock()) return Turn::left;
  suffer(driven.device);
  const std::uint64_t now = now_ns();
  const bool moved = driven.device.drive(now);
  publish(driven.device, now);
  wakes_ns_ = driven.device.is_ready() ? now_ns() : driven.device.deadline_ns().value_or(never);
  return moved ? Turn::moved : Turn::idle;
}

/// Where one packet was, another one follows soon: waking up takes longer than that.
void HostAttachment::linger(const Driven& driven) {
  seat_.lingers.store(1);
  for (std::uint64_t last_ns = now_ns(); now_ns() - last_ns < linger_ns && !is_ending_;) {
    const Turn turn = take_turn(driven);
    // A program that polls does that itself, perhaps on this very core.
    if (turn == Turn::left) break;
    if (turn == Turn::moved) {
      last_ns = now_ns();
    } else {
      hawser::platform::yield_cpu();
    }
  }
  seat_.lingers.store(0);
  // What comes now is for those who sleep on the sockets.
  host_->look_again();
}

void HostAttachment::ring() {
  seat_.bell.fetch_add(1);
  if (seat_.sleep.load() != fabric::Sleep::none) hawser::platform::futex_wake_all(seat_.bell);
}

}  // namespace softrdma::verbs
