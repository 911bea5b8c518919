// The part of EndpointTable that watches over peers on other hosts that something here waits for,
// though nothing may be on its way to them: a host that vanishes tells nobody.
//
// A link that notices it by itself (TCP) is told to be in touch with the peer. Over any other one
// the peer is asked for a sign of life; one that gives none may be computing, so that a side link,
// by a network that does notice, is made to it, and decides. Without such a network the user may
// say how long a silence means that the peer is gone.
//
// What may come from anybody would be waited for in vain only if all were gone, yet its user wants
// to hear of each one (MPIX_ERR_PROC_FAILED_PENDING). Peers are then looked after in turn, so that
// it costs the same however many there are, and connections stay at rest.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "channel/endpoint/endpoint_table.hpp"

namespace hawser::channel {

void EndpointTable::keep_watch(std::uint64_t now_ns) {
  std::vector<Endpoint*> awaited;
  const bool is_anybody_awaited =
      handler_->for_each_awaited([&](Endpoint& endpoint) { awaited.push_back(&endpoint); });
  if (is_anybody_awaited) await_in_turn(awaited);
  for (const auto& [identity, endpoint] : endpoints_)
    if (endpoint->has_unanswered()) awaited.push_back(endpoint.get());
  // Each once, in an order that depends on no address in memory.
  std::ranges::sort(awaited, {}, &Endpoint::identity);
  const auto repeated = std::ranges::unique(awaited);
  awaited.erase(repeated.begin(), repeated.end());
  for (Endpoint* const endpoint : awaited) watch(*endpoint, now_ns);
}

void EndpointTable::await_in_turn(std::vector<Endpoint*>& awaited) {
  Endpoint* first = nullptr;
  Endpoint* next = nullptr;
  for (const auto& [identity, endpoint] : endpoints_) {
    if (!may_vanish(*endpoint)) continue;
    if (endpoint->is_questioned()) awaited.push_back(endpoint.get());
    if (first == nullptr || identity < first->identity()) first = endpoint.get();
    if (last_in_turn_ < identity && (next == nullptr || identity < next->identity()))
      next = endpoint.get();
  }
  if (next == nullptr) next = first;
  if (next == nullptr) return;
  last_in_turn_ = next->identity();
  awaited.push_back(next);
}

void EndpointTable::watch(Endpoint& endpoint, std::uint64_t now_ns) {
  if (!may_vanish(endpoint)) return;
  const std::uint64_t until_ns = now_ns + 2 * environment_.assurance.watch_ns;
  if (endpoint.link_->notices_end()) {
    endpoint.link_->keep_in_touch(until_ns);
    return;
  }
  const std::uint64_t silent_s =
      endpoint.note_watched() * environment_.assurance.watch_ns / base::ns_per_s;
  if (environment_.assurance.silence_s > 0 && silent_s >= environment_.assurance.silence_s) {
    lose(endpoint, fmt::format("it has not answered for {} s", silent_s));
    return;
  }
  if (!endpoint.is_suspect()) return;
  if (endpoint.side_link_ == nullptr) connect_side_link(endpoint);
  if (endpoint.side_link_ != nullptr) endpoint.side_link_->keep_in_touch(until_ns);
}

void EndpointTable::on_side_link_lost(Endpoint& endpoint, Link& link, std::string_view cause) {
  endpoint.side_link_ = nullptr;
  if (!endpoint.is_suspect()) return;
  endpoint.took_leave_ |= link.is_away();
  link.abandon();
  lose(endpoint, cause);
}

}  // namespace hawser::channel
