#include "softrdma/verbs/adapter.hpp"

#include <algorithm>
#include <utility>

#include "platform/clock.hpp"

namespace softrdma::verbs {
namespace {

/// After so many polls in a row for nothing, others may need the core.
constexpr int patience_polls = 200;
/// By which a program that has armed its completion queues finds out, before it waits, whether
/// there is something already: one for each queue.
constexpr int last_looks_max = 64;

std::uint32_t datagram_bytes_max(const std::vector<link::PortIdentity>& ports) {
  return 128U << ports.front().mtu;
}

}  // namespace

Adapter::Adapter(const AdapterSettings& settings, std::unique_ptr<Attachment> attachment)
    : settings_(settings),
      attachment_(std::move(attachment)),
      ports_(attachment_->ports()),
      is_polled_(attachment_->polled_word()),
      device_({.secret = settings.secret,
               .queue_pairs_max = settings.queue_pairs_max,
               .datagram_bytes_max = datagram_bytes_max(ports_),
               .context_entries = settings.context_entries,
               .context_miss_ns = settings.context_miss_ns,
               .lets_peers_in = !settings.is_strict,
               .mishaps = attachment_->mishaps(),
               .mishap_seed = attachment_->seed(),
               .ports = static_cast<std::uint8_t>(ports_.size())},
              attachment_->link(), attachment_->numbers(), *this) {}

Adapter::~Adapter() { attachment_->stop(); }

void Adapter::send_for(qp::QueuePair& queue_pair, bool takes_long) {
  device_.note_work(queue_pair);
  if (takes_long) {
    attachment_->leave(device_);
  } else {
    attachment_->send(device_);
  }
}

void Adapter::send_all() {
  for (int round = 0; round < send_rounds_max && device_.is_ready(); ++round)
    device_.send(now_ns());
}

void Adapter::send_the_last() {
  send_all();
  attachment_->send_delayed();
}

void Adapter::end() {
  constexpr int tries_max = 100;
  for (int tries = 0; tries < tries_max; ++tries) {
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (guard.owns_lock()) return send_the_last();
    hawser::platform::yield_cpu();
  }
}

bool Adapter::note_poll(bool found_something) {
  // Who has asked for an event looks once more before it waits; who goes on polling does not wait.
  const bool may_wait = armed_ > 0 && polls_since_arming_ < last_looks_max;
  if (may_wait) ++polls_since_arming_;
  if (!may_wait && is_polled_.load(std::memory_order_relaxed) == 0) {
    is_polled_.store(1);
    attachment_->on_polling();
  }
  empty_polls_ = found_something ? 0 : empty_polls_ + 1;
  return empty_polls_ > patience_polls;
}

void Adapter::note_arming(bool was_armed) {
  if (!was_armed) ++armed_;
  polls_since_arming_ = 0;
  is_polled_.store(0);
}

bool Adapter::reaches(const ibv_ah_attr& address) const {
  return attachment_->link().path_to(address, IBV_MTU_256).has_value();
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

void Adapter::on_port_event(std::uint8_t number, ibv_event_type event) {
  ibv_async_event out{};
  out.element.port_num = number;
  out.event_type = event;
  for (EventQueue<ibv_async_event>* events : port_events_) events->push(out);
}

void Adapter::on_event(qp::QueuePair& queue_pair, ibv_event_type event) {
  const auto [first, end] = listeners_.equal_range(queue_pair.number());
  for (auto entry = first; entry != end; ++entry) entry->second->on_event(event);
}

}  // namespace softrdma::verbs
