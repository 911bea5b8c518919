#include "transport/tcp/further_connections.hpp"

#include <algorithm>
#include <utility>

namespace hawser::transport::tcp {

bool FurtherConnections::has(const Connection& connection) const {
  return std::ranges::any_of(
      members_, [&](const Member& each) { return each.connection.get() == &connection; });
}

Connection* FurtherConnections::find(std::uint32_t number) const {
  for (const Member& each : members_)
    if (each.connection->number() == number) return each.connection.get();
  return nullptr;
}

Connection& FurtherConnections::least_loaded(Connection& first, std::size_t bytes) const {
  const bool are_speeds_known =
      first.bits_per_second() > 0 && std::ranges::all_of(members_, [](const Member& each) {
        return each.connection->bits_per_second() > 0;
      });
  const auto load = [&](const Connection& each) {
    const auto under_way = static_cast<double>(each.kept_bytes() + bytes);
    return are_speeds_known ? under_way / static_cast<double>(each.bits_per_second()) : under_way;
  };
  Connection* best = &first;
  for (const Member& each : members_)
    if (each.is_alive() && (best->has_failed() || load(*each.connection) < load(*best)))
      best = each.connection.get();
  return *best;
}

bool FurtherConnections::are_flushed() const {
  return std::ranges::all_of(members_,
                             [](const Member& each) { return each.connection->is_flushed(); });
}

bool FurtherConnections::is_any_alive() const {
  return std::ranges::any_of(members_, &Member::is_alive);
}

bool FurtherConnections::add(std::unique_ptr<Connection> connection) {
  for (const Member& each : members_) {
    if (!each.is_alive() || each.connection->path() != connection->path()) continue;
    // Both have begun one at once, or the peer would not have begun it if this one still worked.
    if (each.begun_by && services_.side.self < peer_) return false;
    each.connection->fail("the peer has made it anew");
  }
  if (std::ranges::count_if(members_, &Member::is_alive) + 1 >= rails_max) return false;
  members_.push_back({std::move(connection), std::nullopt});
  return true;
}

bool FurtherConnections::confirm(const Connection& connection) {
  for (Opening& each : openings_) {
    if (!each.attempts) continue;
    std::unique_ptr<Connection> confirmed = each.attempts->take(connection);
    if (!confirmed) continue;
    members_.push_back({std::move(confirmed), each.interface});
    // They end later: this may be called from inside of one.
    each.attempts->forgo();
    return true;
  }
  return false;
}

std::unique_ptr<Connection> FurtherConnections::take_one() {
  const auto found = std::ranges::find_if(members_, &Member::is_alive);
  std::unique_ptr<Connection> taken = std::move(found->connection);
  members_.erase(found);
  return taken;
}

std::vector<std::unique_ptr<Connection>> FurtherConnections::take_failed() {
  for (const Member& each : members_)
    if (!each.is_alive()) each.connection->receive_rest();
  std::vector<std::unique_ptr<Connection>> failed;
  std::erase_if(members_, [&](Member& each) {
    if (each.is_alive()) return false;
    failed.push_back(std::move(each.connection));
    return true;
  });
  return failed;
}

void FurtherConnections::check() {
  for (const Member& each : members_)
    if (each.connection->is_silent(LinkServices::rail_timeout_s))
      each.connection->fail("its rail carries nothing");
  for (const Opening& each : openings_)
    if (each.attempts) each.attempts->fail_silent(LinkServices::rail_timeout_s);
}

void FurtherConnections::open(const Address& address, const Connection& first,
                              std::uint64_t now_ns) {
  const auto most = static_cast<std::size_t>(services_.settings.rails);
  for (std::size_t i = 0; i < services_.interfaces.size(); ++i) {
    if (1 + members_.size() + being_opened() >= most) return;
    if (leaves_by(i, first)) continue;
    const auto known = std::ranges::find(openings_, i, &Opening::interface);
    if (known != openings_.end() && (known->attempts || now_ns < known->again_ns)) continue;
    if (known != openings_.end()) openings_.erase(known);
    begin(i, address, first, now_ns);
  }
}

bool FurtherConnections::leaves_by(std::size_t interface, const Connection& first) const {
  const auto leaves = [=](const Member& each) {
    return each.is_alive() &&
           (each.begun_by ? *each.begun_by == interface : each.connection->interface() == interface);
  };
  return (!first.has_failed() && first.interface() == interface) ||
         std::ranges::any_of(members_, leaves);
}

std::size_t FurtherConnections::being_opened() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      openings_, [](const Opening& each) { return each.attempts != nullptr; }));
}

void FurtherConnections::begin(std::size_t interface, const Address& address,
                               const Connection& first, std::uint64_t now_ns) {
  const Interface& from = services_.interfaces[interface];
  std::vector<IpAddress> taken = {first.path().remote};
  for (const Member& each : members_) taken.push_back(each.connection->path().remote);
  const auto candidates =
      order_candidates_from(from, address, taken, services_.own_addresses, services_.host_mark);
  openings_.push_back({interface, nullptr, now_ns + pause_ns});
  if (candidates.empty()) return;
  openings_.back().again_ns = now_ns;
  openings_.back().attempts = std::make_unique<Attempts>(
      services_, owner_, peer_, Dialer(candidates, address.port, services_.timeout_ns()), news_,
      &from);
  openings_.back().attempts->begin(Purpose::one_more, now_ns);
}

void FurtherConnections::serve(std::uint64_t now_ns) {
  for (Opening& each : openings_) {
    if (!each.attempts) continue;
    const bool has_led_to_one = !each.attempts->is_dialing();
    if (!has_led_to_one && each.attempts->serve(now_ns)) continue;
    each.attempts.reset();
    if (!has_led_to_one) each.again_ns = now_ns + pause_ns;
  }
}

std::uint64_t FurtherConnections::deadline_ns() const {
  std::uint64_t first = never_ns;
  for (const Opening& each : openings_)
    if (each.attempts) first = std::min(first, each.attempts->deadline_ns());
  return first;
}

void FurtherConnections::close() {
  openings_.clear();
  members_.clear();
}

}  // namespace hawser::transport::tcp
