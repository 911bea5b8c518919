#include "softrdma/verbs/adapter.hpp"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "platform/futex.hpp"

namespace softrdma::verbs {
namespace {

constexpr int rounds_max = 64;
/// After so many polls in a row for nothing, others may need the core.
constexpr int patience_polls = 200;
constexpr std::uint64_t never = ~std::uint64_t{0};
/// How long a program that has polled may do something else before its device is driven for it.
constexpr std::uint64_t watch_ns = 1'000'000;
constexpr std::uint64_t link_local_prefix = 0xfe80000000000000;

ibv_gid gid_of(std::uint64_t prefix, std::uint64_t interface) {
  ibv_gid gid{};
  for (std::size_t i = 0; i < 8; ++i) {
    gid.raw[i] = static_cast<std::uint8_t>(prefix >> (56 - 8 * i));
    gid.raw[8 + i] = static_cast<std::uint8_t>(interface >> (56 - 8 * i));
  }
  return gid;
}

std::vector<link::PortIdentity> ports_of(const AdapterSettings& settings, std::uint64_t guid) {
  std::vector<link::PortIdentity> ports(settings.ports);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ports[i].is_ethernet = settings.is_ethernet;
    ports[i].lid = settings.is_ethernet ? std::uint16_t{0} : static_cast<std::uint16_t>(i + 1);
    ports[i].gids = {gid_of(link_local_prefix, guid + i)};
  }
  return ports;
}

}  // namespace

Adapter::Adapter(const AdapterSettings& settings, std::unique_ptr<fabric::Host> host)
    : settings_(settings),
      host_(std::move(host)),
      seat_(host_->seat_memory(host_->seat())),
      ports_(ports_of(settings, host_->guid())),
      link_(*host_, ports_),
      device_({.secret = settings.secret}, link_, *host_, *this) {}

Adapter::~Adapter() {
  is_ending_ = true;
  ring();
  if (thread_.joinable()) thread_.join();
}

bool Adapter::drive() {
  const bool moved = device_.drive(now_ns());
  const std::optional<std::uint64_t> deadline = device_.deadline_ns();
  // Who polls looks at the timers, too.
  if (deadline && *deadline < wakes_ns_ && seat_.is_polled.load(std::memory_order_relaxed) == 0)
    ring();
  return moved;
}

void Adapter::drive_on() {
  for (int round = 0; round < rounds_max; ++round)
    if (!drive()) return;
  // The rest is for the thread, or the next poll.
  if (seat_.is_polled.load(std::memory_order_relaxed) == 0) ring();
}

// The thread

void Adapter::start() {
  if (thread_.joinable()) return;
  // Signals are for the program's threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Adapter::run() {
  while (!is_ending_) sleep();
}

/// Drives, unless a program has polled since the last time, and sleeps until there is something to
/// do.
void Adapter::sleep() {
  const std::uint32_t bell = seat_.bell.load();
  const bool is_polled = seat_.is_polled.exchange(0) != 0;
  std::uint64_t wakes_ns = is_polled ? now_ns() + watch_ns : never;
  if (!is_polled) {
    const auto guard = lock();
    drive_on();
    wakes_ns = device_.deadline_ns().value_or(never);
    wakes_ns_ = wakes_ns;
  }
  seat_.sleep.store(is_polled ? fabric::Sleep::watches : fabric::Sleep::deep);
  // Who came before we said that we sleep has not rung.
  const bool has_work = !is_polled && (link_.has_mail() || seat_.is_polled.load() != 0);
  const std::uint64_t now = now_ns();
  if (!has_work && !is_ending_ && now < wakes_ns)
    hawser::platform::futex_wait(seat_.bell, bell, wakes_ns == never ? 0 : wakes_ns - now);
  seat_.sleep.store(fabric::Sleep::none);
}

void Adapter::ring() {
  seat_.bell.fetch_add(1);
  if (seat_.sleep.load() != fabric::Sleep::none) hawser::platform::futex_wake_all(seat_.bell);
}

bool Adapter::note_poll(bool found_something) {
  if (armed_ == 0 && seat_.is_polled.load(std::memory_order_relaxed) == 0) {
    seat_.is_polled.store(1);
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

void Adapter::listen(std::uint32_t number, EventListener* listener) {
  if (listener == nullptr) {
    listeners_.erase(number);
  } else {
    listeners_[number] = listener;
  }
}

void Adapter::on_event(qp::QueuePair& queue_pair, ibv_event_type event) {
  const auto found = listeners_.find(queue_pair.number());
  if (found != listeners_.end()) found->second->on_event(event);
}

}  // namespace softrdma::verbs
