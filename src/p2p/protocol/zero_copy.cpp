// The part of ChannelBackend that moves long messages without copies and without a connection
// (channel ud_zero_copy; the zero-copy protocol over unreliable datagrams of MVAPICH-Aptus).
//
//   receiver                              sender
//   matched: Link::expect ── clear_to_cross ──►  Link::send_cleared
//            ◄═══════ datagrams of the part ═══
//   on_clearance          ── clear_to_cross ──►  …
//   on_operation_done     ── finished ────────►  complete
//
// What is lost on the way, or can't be sent (not_crossed), makes the link give up the message; the
// receiver then asks for all of it by frames. All parts go by the rail that the receiver expects
// them by. The sender's memory is its user's again when the
// receiver has everything and the adapter has reported each part.
#include <algorithm>

#include "p2p/protocol/channel_backend.hpp"

namespace hawser::p2p {

using channel::ChannelKind;
using channel::Endpoint;
using transport::Clearance;
using transport::DirectMessage;
using transport::HeldMemory;
using wire::FrameClass;

/// What does not fit is cut off by frames alone.
bool ChannelBackend::can_expect(const ReceiveRequest& request) {
  return request.offered.offer == wire::Offer::zero_copy &&
         request.endpoint->has(ChannelKind::ud_zero_copy) && request.total <= request.capacity &&
         address_of(request) != 0 && can_check(request, ChannelKind::ud_zero_copy);
}

void ChannelBackend::start_zero_copy(ReceiveRequest& request) {
  auto held =
      request.endpoint->link().hold(address_of(request) + request.received,
                                    static_cast<std::size_t>(request.total - request.received));
  if (held && expect(request, std::move(*held))) return;
  ++zero_copy_failures_;
  ask_for_frames(request);
}

/// False if the link can't.
bool ChannelBackend::expect(ReceiveRequest& request, std::unique_ptr<HeldMemory> held) {
  Endpoint& peer = *request.endpoint;
  auto transfer = std::make_unique<Transfer>(Transfer{.peer = &peer,
                                                      .receive = &request,
                                                      .send = nullptr,
                                                      .offset = request.received,
                                                      .bytes = request.total - request.received,
                                                      .held = std::move(held),
                                                      .is_chained = false,
                                                      .token = 0,
                                                      .is_direct = true,
                                                      .link = &peer.link()});
  transfer->token = transfers_.insert(transfer.get());
  const auto clearance = transfer->link->expect({.address = address_of(request) + request.received,
                                                 .bytes = static_cast<std::size_t>(transfer->bytes),
                                                 .local_key = transfer->held->local_key(),
                                                 .token = transfer->token});
  if (!clearance) {
    transfers_.erase(transfer->token);
    return false;
  }
  request.retain();  // until it has ended
  clear_to_cross(*transfer.release(), *clearance);
  return true;
}

void ChannelBackend::on_clearance(Endpoint& /*peer*/, std::uint64_t token,
                                  const Clearance& clearance) {
  if (const Transfer* transfer = transfers_.find(token)) clear_to_cross(*transfer, clearance);
}

void ChannelBackend::clear_to_cross(const Transfer& transfer, const Clearance& clearance) {
  const wire::ClearToCross clear{transfer.receive->peer_token, transfer.token, transfer.offset,
                                 transfer.link->rail_number, 0};
  const std::span<const std::byte> words = clearance.bytes();
  transfer.peer->send(wire::class_byte(FrameClass::clear_to_cross),
                      sizeof(channel::FramePrefix) + sizeof(clear) + words.size(),
                      [&](std::byte* body) { std::ranges::copy(words, wire::put(body, clear)); });
  endpoints_.note_waiting(*transfer.peer);
}

void ChannelBackend::on_clear_to_cross(Endpoint& from, std::span<const std::byte> body) {
  const auto clear = wire::take<wire::ClearToCross>(body);
  SendRequest* request = clear ? sends_in_rendezvous_.find(clear->sender_token) : nullptr;
  if (request == nullptr || request->endpoint != &from || clear->offset >= request->total ||
      request->is_over)
    return;
  if (!send_part(*request, *clear, body))
    tell(from, FrameClass::not_crossed, wire::NotCrossed{clear->receiver_token});
}

/// False if it can't be sent.
bool ChannelBackend::send_part(SendRequest& request, const wire::ClearToCross& clear,
                               std::span<const std::byte> clearance) {
  Endpoint& peer = *request.endpoint;
  const std::uint64_t address = address_of(request);
  if (clear.rail >= transport::rails_max) return false;
  transport::Link* const link = peer.link(static_cast<std::uint8_t>(clear.rail));
  if (address == 0 || link == nullptr || !link->channels().has(ChannelKind::ud_zero_copy))
    return false;
  if (request.held.empty() || request.held_rail != link->rail_number) {
    auto held = link->hold(address, static_cast<std::size_t>(request.total));
    if (!held) return false;
    request.held.push_back(std::move(*held));
    request.held_rail = link->rail_number;
  }
  const std::uint64_t bytes = request.total - clear.offset;
  auto transfer = std::make_unique<Transfer>(Transfer{.peer = &peer,
                                                      .receive = nullptr,
                                                      .send = &request,
                                                      .offset = clear.offset,
                                                      .bytes = bytes,
                                                      .held = nullptr,
                                                      .is_chained = false,
                                                      .token = 0,
                                                      .is_direct = true,
                                                      .peer_token = clear.receiver_token,
                                                      .link = link});
  transfer->token = transfers_.insert(transfer.get());
  const DirectMessage message{.address = address + clear.offset,
                              .bytes = static_cast<std::size_t>(bytes),
                              .local_key = request.held.back()->local_key(),
                              .token = transfer->token};
  if (!link->send_cleared(message, clearance)) {
    transfers_.erase(transfer->token);
    return false;
  }
  ++request.parts_leaving;
  static_cast<void>(transfer.release());  // on_operation_done() takes it back
  return true;
}

void ChannelBackend::on_not_crossed(Endpoint& from, std::span<const std::byte> body) {
  const auto frame = wire::take<wire::NotCrossed>(body);
  Transfer* const known = frame ? transfers_.find(frame->receiver_token) : nullptr;
  if (known == nullptr || known->peer != &from || !known->is_direct || known->receive == nullptr)
    return;
  const std::unique_ptr<Transfer> transfer(known);
  transfer->link->stop_expecting(transfer->token);
  transfers_.erase(transfer->token);
  end_direct(*transfer, false);
}

void ChannelBackend::end_direct(const Transfer& transfer, bool was_done) {
  if (transfer.send != nullptr) {
    end_part(transfer, was_done);
    return;
  }
  ReceiveRequest& request = *transfer.receive;
  if (was_done && is_fetched_right(request)) {
    request.received += transfer.bytes;
    complete_fetch(request);
  } else {
    ++zero_copy_failures_;
    if (was_done) request.received = 0;  // what came with the header may be what is wrong
    ask_for_frames(request);
  }
  let_go(request);
}

void ChannelBackend::end_part(const Transfer& transfer, bool has_left) {
  SendRequest& request = *transfer.send;
  if (!has_left)
    tell(*transfer.peer, FrameClass::not_crossed, wire::NotCrossed{transfer.peer_token});
  --request.parts_leaving;
  if (request.is_over) complete_send(request);
}

/// The peer is lost. What leaves for it does so none the less.
void ChannelBackend::abandon_direct(Transfer& known) {
  if (known.receive == nullptr) return;
  const std::unique_ptr<Transfer> transfer(&known);
  transfer->link->stop_expecting(transfer->token);
  transfers_.erase(transfer->token);
  transfer->receive->finish_with({base::ErrorClass::proc_failed, transfer->peer->loss()});
  let_go(*transfer->receive);
}

}  // namespace hawser::p2p
