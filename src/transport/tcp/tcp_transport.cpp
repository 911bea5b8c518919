#include "transport/tcp/tcp_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace hawser::transport::tcp {

namespace {

/// No member of a SlotMap has it.
constexpr std::uint64_t listener_token = 0;

}  // namespace

Result<std::unique_ptr<TcpTransport>> TcpTransport::open(const Environment& environment,
                                                         const Settings& settings) {
  auto all = environment.interfaces.empty()
                 ? platform::interface_addresses()
                 : Result<std::vector<InterfaceAddress>>(environment.interfaces);
  if (!all) return all.take_error();
  const auto chosen = choose_addresses(*all, settings);
  if (!chosen) return chosen.error();
  auto listener = platform::TcpSocket::listen();
  if (!listener) return listener.take_error();
  const auto port = listener->port();
  if (!port) return port.error();
  auto poll = platform::PollSet::make();
  if (!poll) return poll.take_error();
  Address address{*port, platform::network_identity().value_or(0), {}};
  for (const InterfaceAddress& each : *chosen) address.addresses.push_back(each.address);
  return std::unique_ptr<TcpTransport>(new TcpTransport(environment, settings, std::move(*listener),
                                                        std::move(*poll), std::move(*all),
                                                        interfaces_of(*chosen), address));
}

TcpTransport::TcpTransport(const Environment& environment, const Settings& settings,
                           platform::TcpSocket listener, platform::PollSet poll,
                           std::vector<InterfaceAddress> own, std::vector<Interface> interfaces,
                           const Address& address)
    : listener_(std::move(listener)),
      services_{.side = {environment.self, environment.key, settings.encrypt, environment.others},
                .settings = settings,
                .sink = *environment.sink,
                .ledger = *environment.ledger,
                .clock = environment.clock,
                .own_addresses = std::move(own),
                .interfaces = std::move(interfaces),
                .host_mark = address.host_mark,
                .poll = std::move(poll)},
      address_(bytes_of(address)),
      port_(address.port) {
  services_.poll.add(listener_.fd(), listener_token, false);
}

TcpTransport::~TcpTransport() {
  visitors_.clear();
  for (const auto& [peer, link] : links_) link->close();
}

std::vector<transport::Transport::Traffic> TcpTransport::traffic() const {
  std::vector<Traffic> traffic;
  for (std::size_t i = 0; i < services_.interfaces.size(); ++i)
    traffic.push_back({services_.interfaces[i].name, services_.bytes_sent[i]});
  if (services_.bytes_sent.back() > 0)
    traffic.push_back({"other interfaces", services_.bytes_sent.back()});
  return traffic;
}

TcpLink& TcpTransport::link_for(const Identity& peer) {
  std::unique_ptr<TcpLink>& link = links_[peer];
  if (!link) {
    link = std::make_unique<TcpLink>(services_, peer);
    services_.ledger.charge(memory::Account::endpoints, sizeof(TcpLink));
  }
  return *link;
}

Result<Link*> TcpTransport::connect(const Identity& peer, std::span<const std::byte> address) {
  const std::optional<Address> parsed = parse_address(address);
  if (!parsed) return Error(ErrorClass::other, "its address is not one of a TCP transport");
  TcpLink& link = link_for(peer);
  link.is_announced = true;
  link.dial(*parsed, services_.clock());
  return &link;
}

void TcpTransport::forget(const Identity& peer) {
  const auto found = links_.find(peer);
  if (found == links_.end()) return;
  TcpLink* const link = found->second.get();
  link->close();
  std::erase(services_.changed, link);
  std::erase(services_.timed, link);
  links_.erase(found);
  services_.ledger.refund(memory::Account::endpoints, sizeof(TcpLink));
}

bool TcpTransport::progress() {
  bool moved = false;
  if (!services_.unsent.empty()) flush_unsent();
  if (!services_.unread.empty()) moved |= tell_unread();
  if (!services_.changed.empty()) {
    serve_changed(services_.clock());
    moved = true;
  }
  moved |= std::exchange(is_armed_, false) ? look(services_.clock()) : poll();
  quiet_rounds_ = moved ? 0 : quiet_rounds_ + 1;
  if (quiet_rounds_ == rounds_until_watched) watch_recent();
  if (quiet_rounds_ == rounds_until_quiet) services_.buffers.release_idle();
  return moved;
}

void TcpTransport::arm() {
  is_armed_ = true;
  watch_recent();
}

void TcpTransport::watch_recent() {
  if (services_.recent != nullptr) services_.recent->watch();
}

bool TcpTransport::poll() {
  ++rounds_;
  if (is_idle()) {
    if (rounds_ % rounds_per_clock != 0) return false;
    const std::uint64_t now_ns = services_.clock();
    return now_ns >= looked_ns_ + idle_look_ns && look(now_ns);
  }
  const std::uint32_t stride = quiet_rounds_ > rounds_until_quiet ? rounds_if_quiet : 1;
  if (rounds_ % stride != 0) return false;
  bool moved = services_.recent != nullptr && services_.recent->receive();
  const bool is_recent_alone = services_.recent != nullptr && !services_.recent->is_watched();
  // Who waits for what has just come has it sooner without a look at all the others.
  const std::uint32_t rounds_wanted =
      moved || is_recent_alone ? rounds_per_look_beside_recent : rounds_per_look;
  if (++rounds_without_look_ >= rounds_wanted || services_.recent == nullptr)
    moved |= look(services_.clock());
  if (!services_.changed.empty()) [[unlikely]] {
    serve_changed(services_.clock());
    moved = true;
  }
  return moved;
}

bool TcpTransport::look(std::uint64_t now_ns) {
  looked_ns_ = now_ns;
  rounds_without_look_ = 0;
  if (now_ns >= shut_until_ns_) open_again();
  const auto events = services_.poll.look();
  for (const platform::PollSet::Event& event : events) {
    if (event.token == listener_token) {
      accept_visitors(now_ns);
    } else if (Polled* const it = services_.polled.find(event.token)) {
      it->on_ready(event.is_readable, event.is_writable);
    }
  }
  const bool is_late = !visitors_.empty() && visitors_.front()->expires_ns() <= now_ns;
  if (std::exchange(services_.has_visitor_news, false) || is_late) serve_visitors(now_ns);
  if (!services_.changed.empty()) serve_changed(now_ns);
  if (!services_.timed.empty()) serve_timed(now_ns);
  if (now_ns >= next_check_ns_) check_links(now_ns);
  if (std::exchange(services_.lacks_room, false)) make_room(now_ns);
  return !events.empty();
}

void TcpTransport::check_links(std::uint64_t now_ns) {
  std::uint64_t interval_ns = services_.timeout_ns() / looks_per_timeout;
  if (services_.idle_ns() > 0)
    interval_ns = std::min(interval_ns, services_.idle_ns() / looks_per_idle_time);
  if (services_.has_rails()) interval_ns = std::min(interval_ns, rail_look_ns);
  next_check_ns_ = now_ns + interval_ns;
  for (const auto& [peer, link] : links_) link->check_peer(now_ns);
  services_.lacks_room |= services_.has_too_many();
}

void TcpTransport::accept_visitors(std::uint64_t now_ns) {
  for (std::size_t i = 0; i < accepted_per_look_max; ++i) {
    Result<std::optional<platform::TcpSocket>> accepted = listener_.accept();
    if (!accepted) {
      shut(now_ns);
      return;
    }
    std::optional<platform::TcpSocket>& socket = *accepted;
    if (!socket) return;
    if (visitors_.size() == visitors_max) {
      turn_away(*visitors_.front());
      visitors_.erase(visitors_.begin());
    }
    visitors_.push_back(
        std::make_unique<Visitor>(services_, std::move(*socket), now_ns + visit_ns));
  }
}

/// Who knocks would keep this process awake, and could not be let in.
void TcpTransport::shut(std::uint64_t now_ns) {
  services_.poll.remove(listener_.fd());
  shut_until_ns_ = now_ns + shut_ns;
  services_.lacks_room = true;
}

void TcpTransport::open_again() {
  services_.poll.add(listener_.fd(), listener_token, false);
  shut_until_ns_ = never_ns;
}

void TcpTransport::make_room(std::uint64_t now_ns) {
  TcpLink* idlest = nullptr;
  for (const auto& [peer, link] : links_)
    if ((idlest == nullptr || link->last_use() < idlest->last_use()) && link->can_rest())
      idlest = link.get();
  if (idlest != nullptr) idlest->rest_soon(now_ns);
}

void TcpTransport::serve_visitors(std::uint64_t now_ns) {
  // What the sink does about a new link may connect to others, and adds no visitor.
  std::erase_if(visitors_, [&](const std::unique_ptr<Visitor>& visitor) {
    if (visitor->state() == GreetingState::done) {
      welcome(*visitor, now_ns);
      return true;
    }
    const bool goes = visitor->state() == GreetingState::failed || visitor->expires_ns() <= now_ns;
    if (goes) turn_away(*visitor);
    return goes;
  });
}

void TcpTransport::welcome(Visitor& visitor, std::uint64_t now_ns) {
  // What it goes on with was forgotten here: its numbers would mean nothing.
  if (visitor.purpose() == Purpose::go_on && !links_.contains(visitor.peer())) {
    turn_away(visitor);
    return;
  }
  TcpLink& link = link_for(visitor.peer());
  const std::optional<Connection::Keys> keys = visitor.keys();
  auto connection = std::make_unique<Connection>(services_, link, visitor.take_socket(), keys);
  if (visitor.purpose() == Purpose::one_more) {
    link.on_further_visit(std::move(connection), now_ns);
  } else {
    link.on_visit(std::move(connection), now_ns);
  }
}

/// The first refusal is told, since it may be somebody's mistake; the rest are but counted.
void TcpTransport::turn_away(const Visitor& visitor) {
  ++turned_away_;
  if (visitor.refusal().empty() || std::exchange(has_warned_, true)) return;
  const std::string line = fmt::format(
      "hawser: process {} turned a connection to its port {} away: {}; further ones "
      "are turned away in silence\n",
      services_.side.self.index, port_, visitor.refusal());
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// One may end while others are served; what is added meanwhile has its turn in the next round.
void TcpTransport::flush_unsent() {
  for (std::size_t left = services_.unsent.size(); left > 0 && !services_.unsent.empty(); --left) {
    Connection* const connection = services_.unsent.back();
    services_.unsent.pop_back();
    connection->flush_unsent();
  }
}

bool TcpTransport::tell_unread() {
  for (std::size_t left = services_.unread.size(); left > 0 && !services_.unread.empty(); --left) {
    Connection* const connection = services_.unread.front();
    services_.unread.erase(services_.unread.begin());
    connection->receive();
  }
  return true;
}

void TcpTransport::serve_changed(std::uint64_t now_ns) {
  for (TcpLink* const link : std::exchange(services_.changed, {})) {
    link->is_changed = false;
    link->serve(now_ns);
  }
}

void TcpTransport::serve_timed(std::uint64_t now_ns) {
  for (TcpLink* const link : std::exchange(services_.timed, {})) {
    link->is_timed = false;
    link->serve(now_ns);
  }
}

bool TcpTransport::is_drained() const {
  return std::ranges::all_of(links_, [](const auto& entry) {
    return entry.second->is_away() || entry.second->is_flushed();
  });
}

void TcpTransport::leave() {
  flush_unsent();
  for (const auto& [peer, link] : links_) link->say(RecordType::leave);
}

void TcpTransport::come_back() {
  const std::uint64_t now_ns = services_.clock();
  for (const auto& [peer, link] : links_) link->come_back(now_ns);
}

std::uint64_t TcpTransport::deadline_ns() const {
  if (!services_.unsent.empty() || !services_.unread.empty() || !services_.changed.empty() ||
      services_.lacks_room)
    return 0;
  std::uint64_t first = visitors_.empty() ? never_ns : visitors_.front()->expires_ns();
  first = std::min(first, shut_until_ns_);
  if (!links_.empty()) first = std::min(first, next_check_ns_);
  for (const TcpLink* link : services_.timed) first = std::min(first, link->deadline_ns());
  return first;
}

}  // namespace hawser::transport::tcp
