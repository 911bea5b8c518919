#include "softrdma/verbs/adapter.hpp"

#include <algorithm>
#include <chrono>

namespace softrdma::verbs {
namespace {

constexpr int rounds_max = 64;
constexpr std::uint64_t link_local_prefix = 0xfe80000000000000;

ibv_gid gid_of(std::uint64_t prefix, std::uint64_t interface) {
  ibv_gid gid{};
  for (std::size_t i = 0; i < 8; ++i) {
    gid.raw[i] = static_cast<std::uint8_t>(prefix >> (56 - 8 * i));
    gid.raw[8 + i] = static_cast<std::uint8_t>(interface >> (56 - 8 * i));
  }
  return gid;
}

std::vector<link::PortIdentity> ports_of(const AdapterSettings& settings) {
  std::vector<link::PortIdentity> ports(settings.ports);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ports[i].is_ethernet = settings.is_ethernet;
    ports[i].lid = settings.is_ethernet ? std::uint16_t{0} : static_cast<std::uint16_t>(i + 1);
    ports[i].gids = {gid_of(link_local_prefix, settings.guid + i)};
  }
  return ports;
}

std::chrono::steady_clock::time_point time_point(std::uint64_t time_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(time_ns));
}

}  // namespace

Adapter::Adapter(const AdapterSettings& settings)
    : settings_(settings),
      ports_(ports_of(settings)),
      link_(ports_),
      device_({.secret = settings.secret, .first_qp_number = settings.first_qp_number}, link_,
              *this) {}

Adapter::~Adapter() {
  {
    const std::lock_guard guard(mutex_);
    is_ending_ = true;
  }
  timer_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Adapter::drive() {
  const bool moved = device_.drive(now_ns());
  const std::optional<std::uint64_t> deadline = device_.deadline_ns();
  if (!deadline) return moved;
  if (!thread_.joinable()) thread_ = std::thread([this] { run_timers(); });
  if (!sleeps_until_ns_ || *deadline < *sleeps_until_ns_) timer_.notify_one();
  return moved;
}

void Adapter::drive_on() {
  for (int round = 0; round < rounds_max && drive(); ++round) {
  }
}

void Adapter::run_timers() {
  std::unique_lock guard(mutex_);
  while (!is_ending_) {
    sleeps_until_ns_ = device_.deadline_ns();
    if (!sleeps_until_ns_) {
      timer_.wait(guard);
      continue;
    }
    if (now_ns() < *sleeps_until_ns_) {
      timer_.wait_until(guard, time_point(*sleeps_until_ns_));
      continue;
    }
    drive_on();
  }
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
