// The part of EndpointTable that deals with earned channels: who asks for one, who grants it, and
// who gives it back when somebody else finds no slot.
#include <algorithm>

#include "channel/endpoint/endpoint_table.hpp"

namespace hawser::channel {

namespace {

/// Messages after which a peer that found no slot, or lost it, tries again; the second where a
/// question and its answer are the price.
constexpr std::uint64_t review_messages = 16;
constexpr std::uint64_t refused_messages = 64;

}  // namespace

bool EndpointTable::on_channel_asked(Link& link, ChannelKind kind) {
  Endpoint& endpoint = endpoint_of(link);
  if (endpoint.lost_ || link.is_beside) return false;
  Slots<Endpoint>& granted = slots_.granted(kind);
  // One slot for all rails. What we asked for by one is there by another.
  const bool is_expected = is_mutual(kind) && endpoint.release_reserved(kind);
  const bool is_held = !is_expected && endpoint.rails_ && granted.is_held_by(endpoint);
  if (is_expected || (is_held ? slots_.has_memory() : slots_.reserve(granted))) {
    if (!is_held) granted.hold(endpoint);
    if (is_mutual(kind)) {
      link.asked.remove(kind);
      link.taken.add(kind);
    }
    return true;
  }
  // A full peer refuses; but who has lain idle shall make room for the next one that asks.
  const auto activity = [&](const Endpoint& each) {
    return is_mutual(kind) ? each.activity() : each.received(kind).messages;
  };
  Endpoint* const idle = granted.turn_away(endpoints_.size(), activity);
  if (idle != nullptr) take_back(*idle, kind);
  return false;
}

bool EndpointTable::take_back(Endpoint& endpoint, ChannelKind kind) {
  if (is_mutual(kind)) return give_back(endpoint, kind);
  if (!endpoint.rails_) return endpoint.link_->recall(kind);
  bool has_told = false;
  endpoint.for_each_link([&](Link& link) {
    if (link.incoming().has(kind)) has_told |= link.recall(kind);
  });
  return has_told;
}

void EndpointTable::keep_within_memory() {
  const DedicatedSlots::Holder excess =
      slots_.excess([](const Endpoint& endpoint, ChannelKind kind) {
        return is_mutual(kind) ? endpoint.activity() : endpoint.received(kind).messages;
      });
  if (excess.endpoint != nullptr && take_back(*excess.endpoint, excess.kind))
    slots_.note_going(*excess.endpoint);
}

void EndpointTable::on_channels_changed(Link& link) {
  if (link.is_beside) return;  // whoever has payload for it looks by itself
  Endpoint& endpoint = endpoint_of(link);
  for (const ChannelKind kind : transport::earned_kinds) {
    if (link.channels().has(kind)) {
      link.asked.remove(kind);
      link.taken.add(kind);
    } else if (link.taken.has(kind) && !link.asked.has(kind) && !is_mutual(kind)) {
      // A mutual one takes its slot until what it took is free: on_channel_given_back().
      forget_channel(endpoint, link, kind);
    }
    settle_slots(endpoint, kind);
  }
  if (endpoint.assurance_) endpoint.narrow_windows();
  if (endpoint.lost_) return;
  if (&link != endpoint.link_) give_back_unshared(endpoint, link);
  if (endpoint.link_->channels().empty()) {
    endpoint.close();
    return;
  }
  apply_policy(endpoint);
  endpoint.flush(*handler_);
  note_waiting(endpoint);
  // What was lost with its connection was due while there was none.
  if (endpoint.assurance_) endpoint.expect(endpoint.assurance_->deadline_ns());
}

void EndpointTable::settle_slots(Endpoint& endpoint, ChannelKind kind) {
  Slots<Endpoint>& asked = slots_.asked(kind);
  const auto has = [&](const Link& link) { return link.channels().has(kind); };
  const auto takes = [&](const Link& link) { return link.taken.has(kind); };
  if (endpoint.reserved_.has(kind) && endpoint.any_link(has)) {
    asked.hold(endpoint);
    endpoint.reserved_.remove(kind);
  }
  if (endpoint.any_link(takes)) return;
  asked.let_go(endpoint);
  if (endpoint.release_reserved(kind)) asked.release();
}

void EndpointTable::forget_channel(Endpoint& endpoint, Link& link, ChannelKind kind) {
  link.asked.remove(kind);
  link.taken.remove(kind);
  settle_slots(endpoint, kind);
  endpoint.earns_from(kind) = endpoint.messages_ + review_messages;
}

void EndpointTable::on_channel_refused(Link& link, ChannelKind kind) {
  // Another peer may have the slot meanwhile; this one asks again.
  Endpoint& endpoint = endpoint_of(link);
  if (!link.asked.has(kind)) return;  // we have granted the peer the same
  forget_channel(endpoint, link, kind);
  endpoint.earns_from(kind) = endpoint.messages_ + refused_messages;
  apply_policy(endpoint);
}

void EndpointTable::on_channel_given_back(Link& link, ChannelKind kind) {
  Endpoint& endpoint = endpoint_of(link);
  slots_.note_gone(endpoint);
  if (!is_mutual(kind)) {
    const auto is_granted = [&](const Link& each) {
      return &each != &link && each.incoming().has(kind);
    };
    if (!endpoint.rails_ || !endpoint.any_link(is_granted)) slots_.granted(kind).let_go(endpoint);
    return;
  }
  forget_channel(endpoint, link, kind);
  apply_policy(endpoint);
}

void EndpointTable::on_channel_recalled(Link& link, ChannelKind kind) {
  give_back(endpoint_of(link), kind);
}

void EndpointTable::earn(Endpoint& endpoint, ChannelKind kind) {
  if (!earns_) return;
  const Link& link = *endpoint.link_;
  if (has_rails_ && is_mutual(kind) && link.channels().has(kind)) earn_further(endpoint, kind);
  if (link.channels().has(kind) || link.taken.has(kind)) return;
  const bool is_crowded_out = link.crowded_out().has(kind);
  if (!link.earnable().has(kind) && !is_crowded_out) return;
  // Another rail has what can't be on two.
  if (!is_mutual(kind) && (endpoint.reserved_.has(kind) || slots_.asked(kind).is_held_by(endpoint)))
    return;
  const bool is_given = is_mutual(kind) && asks_at_start(endpoint);
  const std::uint64_t earned_at =
      is_given ? 0
               : std::max(environment_.policy->earned_at(kind, endpoint.same_host_),
                          endpoint.earns_from(kind));
  if (endpoint.messages_ < earned_at) {
    endpoint.look_again_at(earned_at);
  } else if (is_crowded_out) {
    press_for_room(endpoint, kind);
  } else {
    ask(endpoint, *endpoint.link_, kind);
  }
}

/// Nobody is asked anything: that it is earnable again is told.
void EndpointTable::press_for_room(Endpoint& endpoint, ChannelKind kind) {
  endpoint.earns_from(kind) = endpoint.messages_ + review_messages;
  endpoint.look_again_at(endpoint.earns_from(kind));
  turn_away(kind);
}

/// The link in use has a channel of KIND: the other rails shall have it as well.
void EndpointTable::earn_further(Endpoint& endpoint, ChannelKind kind) {
  connect_rails(endpoint);
  const std::uint64_t from_messages = endpoint.earns_from(kind);
  if (endpoint.messages_ < from_messages) {
    endpoint.look_again_at(from_messages);
    return;
  }
  endpoint.for_each_link([&](Link& link) {
    if (&link == endpoint.link_ || !endpoint.rails_->is_usable(link.rail_number)) return;
    if (link.earnable().has(kind) && !link.channels().has(kind) && !link.taken.has(kind))
      ask(endpoint, link, kind);
  });
}

void EndpointTable::ask(Endpoint& endpoint, Link& link, ChannelKind kind) {
  Slots<Endpoint>& asked = slots_.asked(kind);
  // The slot is reserved before asking, so that the limit is never passed. One is for all rails.
  const bool has_slot = endpoint.reserved_.has(kind) || asked.is_held_by(endpoint);
  if (has_slot ? !slots_.has_memory() : !reserve(kind)) {
    endpoint.look_again_at(endpoint.messages_ + review_messages);
    return;
  }
  if (!has_slot) endpoint.reserved_.add(kind);
  if (link.ask(kind)) {
    link.asked.add(kind);
    link.taken.add(kind);
    return;
  }
  settle_slots(endpoint, kind);
  if (link.earnable().has(kind)) {
    endpoint.look_again_at(endpoint.messages_ + 1);
  } else if (&link == endpoint.link_) {  // other rails have limits of their own
    asked.close();
  }
}

bool EndpointTable::reserve(ChannelKind kind) {
  Slots<Endpoint>& asked = slots_.asked(kind);
  if (slots_.reserve(asked)) return true;
  // What others granted us costs their memory, not ours.
  if (!slots_.has_memory() && !is_mutual(kind)) return false;
  turn_away(kind);
  return slots_.reserve(asked);
}

void EndpointTable::turn_away(ChannelKind kind) {
  const auto activity = [&](const Endpoint& each) {
    return is_mutual(kind) ? each.activity() : each.messages_;
  };
  Endpoint* const idle = slots_.asked(kind).turn_away(endpoints_.size(), activity);
  if (idle != nullptr) give_back(*idle, kind);
}

bool EndpointTable::give_back(Endpoint& endpoint, ChannelKind kind) {
  // Where its messages are copied jointly, the peer says so in the ring that they were offered by.
  if (kind == ChannelKind::ring && endpoint.sends_under_way > 0) return false;
  bool has_ended = false;
  endpoint.for_each_link([&](Link& link) { has_ended |= give_back(endpoint, link, kind); });
  if (has_ended) apply_policy(endpoint);  // earned anew
  return has_ended;
}

bool EndpointTable::give_back(Endpoint& endpoint, Link& link, ChannelKind kind) {
  if (!link.channels().has(kind) || !endpoint.can_do_without(kind) || !link.give_back(kind))
    return false;
  if (!is_mutual(kind)) forget_channel(endpoint, link, kind);
  endpoint.earns_from(kind) = endpoint.messages_ + review_messages;
  return true;
}

void EndpointTable::give_back_unshared(Endpoint& endpoint, Link& link) {
  for (const ChannelKind kind : {ChannelKind::rc_fast_path, ChannelKind::xrc_send})
    if (link.channels().has(kind)) give_back(endpoint, link, kind);
}

}  // namespace hawser::channel
