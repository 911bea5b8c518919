#include "channel/endpoint/endpoint_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hawser::channel {

Endpoint& EndpointTable::find_or_make(const Identity& peer) {
  if (Endpoint* const known = find(peer)) return *known;
  Endpoint& endpoint = make(peer);
  if (has_ended(peer)) {
    endpoint.took_leave_ = true;  // else it would have an endpoint
    lose(endpoint, "its process has ended");
  } else if (!try_connect(endpoint)) {
    unresolved_.push_back(&endpoint);
  }
  return endpoint;
}

Endpoint& EndpointTable::make(const Identity& peer) {
  const bool same_host = peer == environment_.self || environment_.addresses->is_same_host(peer);
  auto endpoint = std::make_unique<Endpoint>(peer, same_host, *environment_.ledger);
  endpoint->send_credit_bytes = environment_.eager_credit_bytes;
  environment_.ledger->charge(memory::Account::endpoints, sizeof(Endpoint));
  return *endpoints_.emplace(peer, std::move(endpoint)).first->second;
}

bool EndpointTable::try_connect(Endpoint& endpoint) {
  if (endpoint.identity() == environment_.self) {
    Link* link = *self_transport_->connect(endpoint.identity(), {});
    attach(endpoint, *link);
    on_channels_changed(*link);
    return true;
  }
  const Result<Way> way = preferred_way(endpoint.identity());
  if (!way) {
    lose(endpoint, way.error().sentence());
    return true;
  }
  if (way->transport == nullptr) {
    // Those of the own job may publish one yet; of others all is known that ever will be.
    const bool is_foreign = endpoint.identity().job != environment_.self.job;
    if (is_foreign)
      lose(endpoint, "it is of another job, and no connection has told where it is to be reached");
    return is_foreign;
  }
  const Result<Link*> link = way->transport->connect(endpoint.identity(), way->address);
  if (!link) {
    lose(endpoint, link.error().sentence());
    return true;
  }
  attach(endpoint, **link);
  if (!(*link)->channels().empty()) on_channels_changed(**link);
  return true;
}

void EndpointTable::attach(Endpoint& endpoint, Link& link) {
  const transport::Rail rail = link.rail();
  link.user = &endpoint;
  link.rail_number = rail.number;
  Link* const first = endpoint.link_;
  if (first != nullptr && !rail.network.empty() && first->rail().network == rail.network) {
    if (!endpoint.rails_) {
      endpoint.rails_ = std::make_unique<Rails>();
      environment_.ledger->charge(memory::Account::endpoints, sizeof(Rails));
      endpoint.rails_->add(first->rail_number, *first);
    }
    if (endpoint.link(rail.number) == nullptr) endpoint.rails_->add(rail.number, link);
    return;
  }
  endpoint.link_ = &link;
  endpoint.delivery_ = environment_.delivery.of_link(link.possible_channels());
  const bool is_assured = link.may_lose_frames() || endpoint.delivery_.need_assurance();
  if (!is_assured || endpoint.assurance_) return;
  endpoint.assurance_ =
      std::make_unique<Assurance>(environment_.assurance, timers_, *environment_.ledger);
  environment_.ledger->charge(memory::Account::endpoints, sizeof(Assurance));
}

void EndpointTable::connect_to(std::uint32_t index) {
  Identity peer = environment_.self;
  peer.index = index;
  find_or_make(peer);
}

bool EndpointTable::is_connected_to(std::uint32_t index) const {
  Identity peer = environment_.self;
  peer.index = index;
  const Endpoint& endpoint = *find(peer);
  if (endpoint.lost_) return true;
  if (!endpoint.is_open()) return false;
  return endpoint.has(ChannelKind::rc_send) ||
         !endpoint.link_->earnable().has(ChannelKind::rc_send);
}

bool EndpointTable::asks_at_start(const Endpoint& endpoint) const {
  const std::string& connect = environment_.settings.connect;
  return connect == "static" ||
         (connect == "client_server" && endpoint.identity().index < environment_.self.index);
}

void EndpointTable::note_waiting(Endpoint& endpoint) {
  if (endpoint.fifo_.empty() || endpoint.listed_) return;
  endpoint.listed_ = true;
  waiting_.push_back(&endpoint);
}

bool EndpointTable::progress() {
  bool moved = false;
  for (Transport* transport : transports_) moved |= transport->progress();
  if (slots_.has_memory_limit() && ++memory_rounds_ >= rounds_per_memory_look) [[unlikely]] {
    memory_rounds_ = 0;
    keep_within_memory();
  }
  // Who waits for a message has it sooner if the rest waits for a round without one, or a little.
  if (moved && ++busy_rounds_ % busy_rounds_per_look != 0) return true;
  moved |= self_transport_->progress();
  if (!waiting_.empty()) [[unlikely]] {
    std::erase_if(waiting_, [&](Endpoint* endpoint) {
      moved |= endpoint->flush(*handler_);
      endpoint->listed_ = !endpoint->fifo_.empty() && !endpoint->lost_;
      return !endpoint->listed_;
    });
  }
  if (!unresolved_.empty()) [[unlikely]]
    std::erase_if(unresolved_, [&](Endpoint* endpoint) {
      return endpoint->lost_ || endpoint->link_ != nullptr || try_connect(*endpoint);
    });
  if (timers_.wants_look()) [[unlikely]]
    moved |= timers_.run(
        [](Endpoint& endpoint) -> TimerState& { return endpoint.assurance_->timer_state; },
        [this](Endpoint& endpoint, std::uint64_t now_ns) { return serve(endpoint, now_ns); });
  if (moved) return true;
  if (census_.is_round_for_it() && census_.take(timers_.now_ns())) [[unlikely]]
    environment_.bootstrap->look_for_ended();
  if (vigil_.is_round_for_it()) [[unlikely]]
    if (const std::uint64_t now_ns = timers_.now_ns(); vigil_.take(now_ns)) keep_watch(now_ns);
  if (environment_.bootstrap->ended_count() == ended_known_) [[likely]]
    return false;
  lose_ended();
  return true;
}

void EndpointTable::lose_ended() {
  const std::uint32_t processes = environment_.bootstrap->placement().size;
  ended_known_ = environment_.bootstrap->ended_count();
  // What they committed before they ended is on its way here, or lost.
  for (int rounds = 0; rounds < last_rounds_max; ++rounds) {
    bool moved = false;
    for (Transport* transport : transports_) moved |= transport->progress();
    if (!moved) break;
  }
  ended_.resize(processes);
  Identity peer = environment_.self;
  for (peer.index = 0; peer.index < processes; ++peer.index) {
    const bootstrap::Bootstrap::Ending ending = environment_.bootstrap->ending_of(peer.index);
    if (ending == bootstrap::Bootstrap::Ending::none || ended_[peer.index]) continue;
    ended_[peer.index] = true;
    Endpoint* endpoint = find(peer);
    const bool took_leave = ending == bootstrap::Bootstrap::Ending::finalized;
    // One that took its leave in silence gets an endpoint if an operation names it all the same.
    if (endpoint == nullptr && took_leave) {
      handler_->on_ended(peer);
      continue;
    }
    if (endpoint == nullptr) endpoint = &make(peer);
    endpoint->took_leave_ = took_leave;
    lose(*endpoint, "its process has ended");
  }
}

std::uint64_t EndpointTable::deadline_ns() const {
  std::uint64_t first =
      std::min({timers_.deadline_ns(), census_.deadline_ns(), vigil_.deadline_ns()});
  for (const Transport* transport : transports_) first = std::min(first, transport->deadline_ns());
  return first;
}

void EndpointTable::arm() {
  timers_.look_often();
  census_.arm();
  vigil_.arm();
  for (Transport* transport : transports_) transport->arm();
}

void EndpointTable::part(bool is_job_at_end) {
  for (const auto& [identity, endpoint] : endpoints_) {
    endpoint->part(is_job_at_end && identity.job == environment_.self.job);
    note_waiting(*endpoint);
  }
}

bool EndpointTable::is_drained() const {
  const auto is_settled = [](const auto& entry) { return entry.second->is_settled(); };
  return std::ranges::all_of(waiting_, &Endpoint::is_not_waited_for) &&
         std::ranges::all_of(unresolved_, &Endpoint::is_courtesy) &&
         self_transport_->is_drained() &&
         std::ranges::all_of(transports_, &Transport::is_drained) &&
         std::ranges::all_of(endpoints_, is_settled);
}

void EndpointTable::leave() {
  for (Transport* transport : transports_) transport->leave();
}

void EndpointTable::come_back() {
  earns_ = true;
  for (const auto& [identity, endpoint] : endpoints_)
    if (endpoint->assurance_) endpoint->assurance_->has_parted = false;
  for (Transport* transport : transports_) transport->come_back();
}

void EndpointTable::give_frames_back() {
  for (const auto& [identity, endpoint] : endpoints_) endpoint->drop_sent();
}

void EndpointTable::for_each(const std::function<void(const Endpoint&)>& visit) const {
  for (const auto& [identity, endpoint] : endpoints_) visit(*endpoint);
  if (forgotten_) visit(*forgotten_);
}

void EndpointTable::forget_ended(const std::function<bool(const Identity&)>& is_needed) {
  std::vector<Endpoint*> ended;
  for (const auto& [identity, endpoint] : endpoints_)
    if (identity.job != environment_.self.job && endpoint->is_over() && !is_needed(identity))
      ended.push_back(endpoint.get());
  for (Endpoint* const endpoint : ended) forget(*endpoint);
}

void EndpointTable::forget(Endpoint& endpoint) {
  lose(endpoint, "its process has ended");
  handler_->on_forgotten(endpoint);
  for (Transport* transport : transports_)
    if (transport->reaches_other_jobs()) transport->forget(endpoint.identity());
  if (!forgotten_) forgotten_ = std::make_unique<Endpoint>(Identity{}, false, *environment_.ledger);
  forgotten_->absorb(endpoint);
  std::erase(waiting_, &endpoint);
  std::erase(unresolved_, &endpoint);
  environment_.ledger->refund(memory::Account::endpoints, endpoint.footprint_bytes());
  endpoints_.erase(Identity(endpoint.identity()));
}

void EndpointTable::on_frame(Link& link, ChannelKind kind, std::span<const std::byte> frame) {
  Endpoint& endpoint = endpoint_of(link);
  FramePrefix prefix;
  if (frame.size() < sizeof(prefix) || endpoint.lost_) [[unlikely]]
    return;
  std::memcpy(&prefix, frame.data(), sizeof(prefix));
  if (takes_plain(endpoint, prefix)) [[likely]] {
    handler_->on_frame(endpoint, kind, frame);
  } else {
    on_other_frame(link, kind, prefix, frame);
  }
}

void EndpointTable::on_frame_apart(Link& link, ChannelKind kind, const FrameView& frame) {
  Endpoint& endpoint = endpoint_of(link);
  FramePrefix prefix;
  if (frame.head.size() < sizeof(prefix) || endpoint.lost_) [[unlikely]]
    return;
  std::memcpy(&prefix, frame.head.data(), sizeof(prefix));
  if (takes_plain(endpoint, prefix)) [[likely]] {
    handler_->on_frame_apart(endpoint, kind, frame);
  } else {
    on_other_frame(link, kind, prefix, frame);
  }
}

/// A frame of PREFIX is simply the next of the peer's frames, which it has been now.
inline bool EndpointTable::takes_plain(Endpoint& endpoint, const FramePrefix& prefix) {
  return prefix.is_plain() && !endpoint.assurance_ &&
         endpoint.reorder_.accept_plain(prefix.sequence);
}

void EndpointTable::on_other_frame(Link& link, ChannelKind kind, const FramePrefix& prefix,
                                   FrameView frame) {
  Endpoint& endpoint = endpoint_of(link);
  if (prefix.check != 0) [[unlikely]] {
    frame = check(endpoint, frame.head);
    if (frame.head.empty()) return;
  }
  if (prefix.version != FramePrefix::current_version) return;
  if ((prefix.flags & FramePrefix::sequenced) == 0) {
    if (endpoint.rails_) [[unlikely]] {
      endpoint.rails_->on_heard(link.rail_number, timers_.now_ns());
      choose_rail(endpoint);
    }
    deliver(link, kind, frame);
    return;
  }
  const auto verdict = endpoint.reorder_.accept(prefix.sequence, frame.head, frame.payload);
  if (verdict != delivery::ReorderBuffer::Verdict::in_order) {
    if (endpoint.assurance_) endpoint.hurry(link);
    return;
  }
  if (endpoint.assurance_) endpoint.note_delivered(link, kind, frame.size());
  deliver(link, kind, frame);
  if (endpoint.reorder_.has_early()) [[unlikely]]
    deliver_early(link, kind);
}

std::span<const std::byte> EndpointTable::check(Endpoint& endpoint,
                                                std::span<const std::byte> frame) {
  if (const auto bit = flipper_.next(frame.size())) [[unlikely]] {
    flipped_.assign(frame.begin(), frame.end());
    BitFlipper::flip(flipped_.data(), *bit);
    frame = flipped_;
  }
  const std::span<const std::byte> content = open_sealed_frame(frame);
  if (content.empty()) endpoint.on_damaged(frame);
  return content;
}

void EndpointTable::deliver_early(Link& link, ChannelKind kind) {
  Endpoint& endpoint = endpoint_of(link);
  while (const auto frame = endpoint.reorder_.take_next()) {
    if (endpoint.assurance_) endpoint.note_delivered(link, kind, frame->size());
    deliver(link, kind, std::span<const std::byte>(*frame));
  }
}

inline void EndpointTable::deliver(Link& link, ChannelKind kind, FrameView frame) {
  if (is_control(frame.head.front())) [[unlikely]] {
    on_control(link, frame.head);
  } else if (frame.payload.empty()) {
    handler_->on_frame(endpoint_of(link), kind, frame.head);
  } else {
    handler_->on_frame_apart(endpoint_of(link), kind, frame);
  }
}

void EndpointTable::on_control(const Link& link, std::span<const std::byte> frame) {
  Endpoint& endpoint = endpoint_of(link);
  if (!endpoint.assurance_ || frame.front() == transport::void_frame_class) return;
  switch (static_cast<ControlClass>(frame.front())) {
    case ControlClass::acknowledgement:
      if (const auto acknowledgement = parse_acknowledgement(frame.subspan(sizeof(FramePrefix))))
        endpoint.on_acknowledged(*acknowledgement);
      return;
    case ControlClass::question:
      endpoint.hurry(link);
      return;
    case ControlClass::damaged:
      if (frame.size() == sizeof(FramePrefix) + sizeof(DamageReport)) {
        DamageReport report;
        std::memcpy(&report, frame.data() + sizeof(FramePrefix), sizeof(report));
        endpoint.on_damage_reported(report.sequence);
      }
      return;
    case ControlClass::parting:
      endpoint.assurance_->peer_has_parted = true;
      endpoint.hurry(link);
      return;
  }
}

void EndpointTable::on_link(Link& link, const Identity& peer) {
  Endpoint* const known = find(peer);
  Endpoint& endpoint = known != nullptr ? *known : make(peer);
  if (endpoint.lost_) {  // and what it had sent was still on its way
    link.user = &endpoint;
    link.abandon();
    return;
  }
  if (!is_beside(endpoint, link)) {
    attach(endpoint, link);
    return;
  }
  attach_beside(endpoint, link);
  // What the peer has sent by the link that both of us use is still on its way.
  if (known == nullptr && !try_connect(endpoint)) unresolved_.push_back(&endpoint);
}

void EndpointTable::on_undelivered(Link& link, transport::ChannelSet kinds) {
  if (!link.is_beside) endpoint_of(link).on_undelivered(link, kinds);
}

void EndpointTable::on_operation_done(Link& link, std::uint64_t token, bool was_done) {
  handler_->on_operation_done(endpoint_of(link), token, was_done);
}

void EndpointTable::on_clearance(Link& link, std::uint64_t token,
                                 const transport::Clearance& clearance) {
  handler_->on_clearance(endpoint_of(link), token, clearance);
}

void EndpointTable::apply_policy(Endpoint& endpoint) {
  if (endpoint.lost_ || endpoint.link_ == nullptr || endpoint.link_->channels().empty()) return;
  refresh_table(endpoint);
  for (const ChannelKind kind : transport::earned_kinds) earn(endpoint, kind);
}

void EndpointTable::on_policy_changed() {
  for (const auto& [identity, endpoint] : endpoints_)
    if (endpoint->is_open()) apply_policy(*endpoint);
}

void EndpointTable::refresh_table(Endpoint& endpoint) {
  const SendTable& table = environment_.policy->table(endpoint.link_->channels(),
                                                      endpoint.same_host_, endpoint.messages_);
  endpoint.use_table(table);
  endpoint.next_look_messages_ = table.valid_until_messages();
}

std::uint64_t EndpointTable::serve(Endpoint& endpoint, std::uint64_t now_ns) {
  const std::uint64_t next_ns = endpoint.serve(now_ns);
  if (!has_rails_ || !endpoint.is_open()) return next_ns;
  if (endpoint.assurance_->window.unanswered() >= silent_attempts) on_silence(endpoint);
  if (!endpoint.rails_) return next_ns;
  choose_rail(endpoint);
  return std::min(next_ns, endpoint.rails_->deadline_ns());
}

void EndpointTable::on_lost(Link& link, std::string_view cause) {
  Endpoint& endpoint = endpoint_of(link);
  if (!link.is_beside) {
    lose(endpoint, cause);
  } else if (endpoint.side_link_ == &link) {
    on_side_link_lost(endpoint, link, cause);
  }
}

void EndpointTable::lose(Endpoint& endpoint, std::string_view cause) {
  if (endpoint.lost_) return;
  endpoint.took_leave_ |= endpoint.is_away();
  endpoint.lost_ = true;
  endpoint.loss_ = std::make_unique<const std::string>(
      fmt::format("process {} is not reachable: {}", endpoint.identity_.index, cause));
  endpoint.for_each_link([](Link& link) { link.abandon(); });
  if (Link* const side = std::exchange(endpoint.side_link_, nullptr)) side->abandon();
  endpoint.table_ = nullptr;
  slots_.note_gone(endpoint);
  for (const ChannelKind kind : transport::earned_kinds) {
    endpoint.for_each_link([&](Link& link) {
      link.asked.remove(kind);
      link.taken.remove(kind);
    });
    settle_slots(endpoint, kind);
    slots_.granted(kind).let_go(endpoint);
  }
  endpoint.drop_waiting(*handler_);
  endpoint.drop_sent();
  endpoint.reorder_.clear();
  handler_->on_lost(endpoint);
}

}  // namespace hawser::channel
