// The part of ChannelBackend that fetches what did not come with its header, and its progress.
#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "p2p/protocol/channel_backend.hpp"
#include "p2p/protocol/copy_run.hpp"

namespace hawser::p2p {

using channel::ChannelKind;
using channel::Endpoint;
using transport::MemoryPiece;
using wire::FrameClass;

ChannelBackend::ChannelBackend(channel::EndpointTable& endpoints, memory::Ledger& ledger,
                               const ProtocolSettings& settings)
    : endpoints_(endpoints),
      ledger_(ledger),
      settings_(settings),
      match_(ledger),
      send_pool_(ledger),
      receive_pool_(ledger),
      flipper_(endpoints.flip_one_in()),
      active_(endpoints),
      stored_messages_(ledger) {
  endpoints_.set_handler(*this);
}

ChannelBackend::~ChannelBackend() {
  // Operations that have not ended when the process does: those with peers that are gone.
  transfers_.for_each([](const Transfer& transfer) { delete &transfer; });
  // Messages that nobody received; a program that finalises with such is legal in the world model
  // only if they were cancelled, but their memory is ours in any case.
  while (match_.unexpected_count() > 0) drop_stored(static_cast<StoredMessage&>(*match_.oldest()));
}

void ChannelBackend::drop_stored(StoredMessage& message) { discard(take_out(message)); }

void ChannelBackend::discard(std::unique_ptr<StoredMessage> message) {
  forget_stream(*message);
  recycle(std::move(message));
}

void ChannelBackend::set_threaded(bool threaded) {
  threaded_ = threaded;
  send_pool_.set_threaded(threaded);
  receive_pool_.set_threaded(threaded);
}

bool ChannelBackend::progress() {
  bool moved = !undecided_.empty();
  if (moved) [[unlikely]]
    fetch_undecided();  // first: sends may be over after what comes next
  moved |= endpoints_.progress();
  moved |= active_.hand_over();
  if (!pipelines_.empty()) [[unlikely]]
    moved |= push_pipelines();
  if (!single_copies_.empty()) [[unlikely]]
    moved |= push_single_copies();
  if (!side_copies_.empty()) [[unlikely]]
    moved |= push_side_copies();
  if (!joint_copies_.empty() || !joint_parts_.empty()) [[unlikely]]
    moved |= push_joint_copies();
  return moved;
}

void ChannelBackend::fetch_undecided() {
  for (ReceiveRequest* const request : std::exchange(undecided_, {})) {
    fetch_now(*request);
    let_go(*request);
  }
}

/// A message to FROM has been offered. One from it that waits for that is fetched: one, so that the
/// peer has the next of our messages while we copy.
void ChannelBackend::fetch_undecided(const Endpoint& from) {
  const auto next = std::ranges::find(undecided_, &from, &ReceiveRequest::endpoint);
  if (next == undecided_.end()) return;
  ReceiveRequest& request = **next;
  undecided_.erase(next);
  fetch_now(request);
  let_go(request);
}

bool ChannelBackend::push_pipelines() {
  bool moved = false;
  const Endpoint* full = nullptr;  // the last one found without room: no use to ask it again
  std::erase_if(pipelines_, [&](SendRequest* request) {
    if (request->endpoint == full) return false;
    moved |= push_pipeline(*request, Pushing::patiently);
    const bool is_lost = request->endpoint->is_lost();
    if (request->offset < request->end && !is_lost) {
      full = request->endpoint;
      return false;
    }
    if (!request->more.empty() && !is_lost) {
      std::tie(request->offset, request->end) = request->more.back();
      request->more.pop_back();
      return false;
    }
    if (request->sent >= request->total || is_lost) complete_send(*request);
    return true;
  });
  return moved;
}

bool ChannelBackend::is_drained() {
  const auto is_owed = [](const SendRequest& request) { return !request.endpoint->is_away(); };
  bool owes =
      std::ranges::any_of(pipelines_, [&](const auto* request) { return is_owed(*request); });
  sends_in_rendezvous_.for_each([&](const SendRequest& request) {
    owes |= request.parts_leaving > 0 || (request.copy && is_owed(request));
  });
  return !owes && endpoints_.is_drained();
}

void ChannelBackend::fetch(ReceiveRequest& request) {
  if (!is_decided_later(request)) {
    fetch_now(request);
    return;
  }
  request.retain();  // until then
  undecided_.push_back(&request);
}

/// Of messages that cross, in one window after the other, say, the first ones are often there
/// before we have posted a send. How they are fetched is decided with the next one, or when the
/// program waits: else those of one direction would go by frames, and the others by one copy.
bool ChannelBackend::is_decided_later(const ReceiveRequest& request) {
  const Endpoint& from = *request.endpoint;
  return request.offered.offer == wire::Offer::frames_or_single_copy && from.sends_under_way == 0 &&
         from.crossings_remembered > 0 && !from.is_lost();
}

void ChannelBackend::fetch_now(ReceiveRequest& request) {
  if (request.endpoint->is_lost()) [[unlikely]] {
    request.finish_with({base::ErrorClass::proc_failed, request.endpoint->loss()});
    return;
  }
  FetchSituation situation{};
  situation.missing_bytes = request.missing_bytes();
  choose_copy(request, situation);
  situation.can_get = can_use_operations(request, wire::Offer::get) &&
                      can_check(request, operations_channel(*request.endpoint));
  situation.can_put = can_use_operations(request, wire::Offer::put);
  situation.can_expect = can_expect(request);
  const FetchProtocol protocol = choose(situation).protocol;
  ++fetches_[static_cast<std::size_t>(protocol)];
  switch (protocol) {
    case FetchProtocol::nothing:
      complete_fetch(request);
      return;
    case FetchProtocol::single_copy:
      if (request.offered.offer == wire::Offer::frames_or_single_copy)
        request.endpoint->count_received(ChannelKind::single_copy, situation.missing_bytes);
      request.retain();
      begin_check(request);
      single_copies_.push_back(&request);
      return;
    case FetchProtocol::joint_copy:
      request.endpoint->count_received(ChannelKind::single_copy, situation.missing_bytes);
      start_joint_copy(request);
      return;
    case FetchProtocol::rdma_get:
      start_get(request);
      return;
    case FetchProtocol::rdma_put:
      start_put(request);
      return;
    case FetchProtocol::zero_copy:
      start_zero_copy(request);
      return;
    case FetchProtocol::copy_pipeline:
      ask_for_frames(request);
      return;
  }
}

/// Whether one copy is made, and by whom: as its sender offers, and our rules agree; where we have
/// the choice, as it pays.
void ChannelBackend::choose_copy(const ReceiveRequest& request, FetchSituation& situation) {
  Endpoint& from = *request.endpoint;
  if (!from.has(ChannelKind::single_copy) || !can_check(request, ChannelKind::single_copy)) return;
  if (request.offered.offer == wire::Offer::single_copy)
    situation.can_copy = from.select(request.total) == ChannelKind::single_copy;
  if (request.offered.offer != wire::Offer::frames_or_single_copy) return;
  const Flow flow = note_flow(from);
  if (flow == Flow::both_ways)
    situation.can_copy =
        from.may_be_copied_once(request.total) && from.link().does_one_copy_pay(request.total);
  if (flow == Flow::from_peer) situation.can_join = is_copied_jointly(request);
}

/// A long message from FROM is about to be fetched. Whether it crosses one of ours, or none of the
/// last ones did.
ChannelBackend::Flow ChannelBackend::note_flow(Endpoint& from) {
  constexpr std::uint8_t messages_remembered = 16;
  if (from.sends_under_way > 0) {
    from.crossings_remembered = messages_remembered;
    if (transport::JointCopies* const copies = from.link().joint_copies()) copies->put_off_trial();
    return Flow::both_ways;
  }
  if (from.crossings_remembered == 0) return Flow::from_peer;
  --from.crossings_remembered;
  return Flow::perhaps_both_ways;
}

void ChannelBackend::complete_fetch(ReceiveRequest& request) {
  tell(*request.endpoint, FrameClass::finished, wire::Finished{request.peer_token});
  request.finish();
}

/// A message in one piece of memory here and there, whose payload is not checked: it is copied in
/// one run with others.
bool ChannelBackend::is_copied_in_runs(const ReceiveRequest& request) {
  return request.offered.is_checked == 0 && address_of(request) != 0;
}

/// Copies the next run, and the next chunk of each message that is in none.
bool ChannelBackend::push_single_copies() {
  CopyRun run(settings_.single_copy_chunk_bytes);
  std::array<ReceiveRequest*, CopyRun::pieces_max> requests;
  std::size_t looked_at = 0;
  for (ReceiveRequest* const request : single_copies_) {
    const std::size_t number = run.count();
    if (is_copied_in_runs(*request)) {
      if (!run.add(request->endpoint, address_of(*request) + request->received,
                   request->offered.address + request->received, request->missing_bytes()))
        break;
      requests[number] = request;
    }
    ++looked_at;
  }
  const ReceiveRequest* refused = nullptr;
  if (run.count() > 0 &&
      !run.distribute(
          requests.front()->endpoint->link().get(run.local(), run.remote()),
          [&](std::size_t number, std::size_t bytes) { requests[number]->received += bytes; }))
    refused = requests.front();
  put_behind(single_copies_, looked_at,
             [](const ReceiveRequest* request) { return request->missing_bytes() > 0; });
  std::erase_if(single_copies_, [&](ReceiveRequest* request) {
    if (!is_copied_in_runs(*request)) return copy_chunk(*request);
    if (request != refused && request->missing_bytes() > 0) return false;
    if (request == refused) {
      ask_for_frames(*request);
    } else {
      complete_fetch(*request);
    }
    let_go(*request);
    return true;
  });
  return true;
}

/// Copies the next chunk; true if the request needs no further chunk from here.
bool ChannelBackend::copy_chunk(ReceiveRequest& request) {
  constexpr std::size_t pieces_max = 64;
  std::array<core::Segment, pieces_max> segments;
  const std::uint64_t wanted = std::min(request.total, request.capacity);
  Count covered = 0;
  const std::size_t count =
      request.buffer.type->segments(request.buffer.data, request.buffer.count,
                                    static_cast<Count>(request.received), segments, &covered);
  std::array<MemoryPiece, pieces_max> local;
  const std::uint64_t limit = std::min(
      wanted - request.received, static_cast<std::uint64_t>(settings_.single_copy_chunk_bytes));
  std::uint64_t bytes = 0;
  std::size_t pieces = 0;
  for (; pieces < count && bytes < limit; ++pieces) {
    const std::uint64_t piece = std::min<std::uint64_t>(segments[pieces].bytes, limit - bytes);
    local[pieces] = {reinterpret_cast<std::uint64_t>(segments[pieces].data), piece};
    bytes += piece;
  }
  const MemoryPiece remote{request.offered.address + request.received, bytes};
  const std::int64_t copied =
      request.endpoint->link().get(std::span(local).first(pieces), {&remote, 1});
  if (copied <= 0) [[unlikely]] {
    // Refused in mid-message: the rest comes by frames, or all, if the first part is unchecked yet.
    if (request.offered.is_checked != 0) request.received = 0;
    ask_for_frames(request);
    let_go(request);
    return true;
  }
  request.received += static_cast<std::uint64_t>(copied);
  if (request.offered.is_checked != 0) [[unlikely]]
    check_copied(request, std::span(local).first(pieces), static_cast<std::uint64_t>(copied));
  if (request.received < wanted) return false;
  if (!is_copy_right(request)) [[unlikely]] {
    request.endpoint->count_failed_checksum();
    request.received = 0;
    ask_for_frames(request);
    let_go(request);
    return true;
  }
  complete_fetch(request);
  let_go(request);
  return true;
}

void ChannelBackend::ask_for_frames(ReceiveRequest& request) {
  request.retain();  // until the last data frame
  request.token = receives_by_frames_.insert(&request);
  tell(*request.endpoint, FrameClass::clear_to_send,
       wire::ClearToSend{request.peer_token, request.token, request.received, 0});
}

void ChannelBackend::on_data(Endpoint& from, ChannelKind kind, channel::FrameView body) {
  const auto header = wire::take<wire::DataHeader>(body.head);
  ReceiveRequest* request = header ? receives_by_frames_.find(header->receiver_token) : nullptr;
  if (request == nullptr || request->endpoint != &from || request->joint) return;
  const std::span<const std::byte> payload = wire::payload_of(body);
  if (header->offset > request->total || payload.size() > request->total - header->offset) return;
  from.count_received(kind, payload.size());
  if (request->put) {
    store_block_data(*request, header->offset, payload);
  } else {
    request->store(header->offset, payload);
  }
  complete_by_frames(*request);
}

/// All of it may be there now.
void ChannelBackend::complete_by_frames(ReceiveRequest& request) {
  if (request.received < request.total) return;
  receives_by_frames_.erase(request.token);
  const bool has_copied = request.put && request.put->has_copied;
  if (has_copied && !is_fetched_right(request)) {
    request.put.reset();
    request.received = 0;
    ask_for_frames(request);
    let_go(request);
    return;
  }
  // The sender waits for it, since only we can tell whether what it wrote is right, or that what
  // it did not send as frames was read.
  if (request.pieces || has_copied ||
      (request.put && request.endpoint->is_checked(ChannelKind::rc_rdma)))
    tell(*request.endpoint, FrameClass::finished, wire::Finished{request.peer_token});
  request.finish();
  let_go(request);
}

std::vector<ChannelBackend::Stream>::iterator ChannelBackend::find_stream(const Endpoint& from,
                                                                          std::uint64_t token) {
  return std::ranges::find_if(streams_, [&](const Stream& stream) {
    return stream.from == &from && stream.token == token;
  });
}

/// The first bytes of a stream are in REQUEST: the others go there as well.
void ChannelBackend::follow_stream(ReceiveRequest& request) {
  if (request.received >= request.total) {
    request.finish();
  } else if (request.endpoint->is_lost()) {
    request.finish_with({base::ErrorClass::proc_failed, request.endpoint->loss()});
  } else {
    request.retain();  // until the last frame
    const auto known = find_stream(*request.endpoint, request.peer_token);
    Stream& stream = known != streams_.end() ? *known : streams_.emplace_back();
    stream = {request.endpoint, request.peer_token, &request, nullptr};
  }
}

void ChannelBackend::on_stream_data(Endpoint& from, channel::FrameView body) {
  const auto header = wire::take<wire::StreamDataHeader>(body.head);
  if (!header) return;
  const std::span<const std::byte> payload = wire::payload_of(body);
  const auto stream = find_stream(from, header->sender_token);
  if (stream == streams_.end()) return;
  if (StoredMessage* stored = stream->stored) {
    const std::uint64_t missing = stored->rendezvous.total - stored->payload().size();
    if (payload.size() > missing) return;
    stored->append(payload);
    ledger_.charge(memory::Account::unexpected, payload.size());
    if (payload.size() == missing) streams_.erase(stream);
    return;
  }
  ReceiveRequest& request = *stream->request;
  if (payload.size() > request.total - request.received) return;
  request.store(request.received, payload);
  return_credit(from, payload.size());
  if (request.received < request.total) return;
  streams_.erase(stream);
  request.finish();
  let_go(request);
}

void ChannelBackend::on_lost(Endpoint& endpoint) {
  const base::Error error(base::ErrorClass::proc_failed, endpoint.loss());
  abandon_side_copies(endpoint);
  abandon_joint_copies(endpoint);
  abandon_transfers(endpoint);
  sends_in_rendezvous_.for_each([&](SendRequest& request) {
    if (request.endpoint != &endpoint) return;
    std::erase(pipelines_, &request);
    if (!request.is_complete()) request.finish_with(error);
    complete_send(request);
  });
  receives_by_frames_.for_each([&](ReceiveRequest& request) {
    if (request.endpoint != &endpoint) return;
    receives_by_frames_.erase(request.token);
    request.drop_rdma();
    request.finish_with(error);
    let_go(request);
  });
  for (auto* const requests : {&single_copies_, &undecided_})
    std::erase_if(*requests, [&](ReceiveRequest* request) {
      if (request->endpoint != &endpoint) return false;
      request->finish_with(error);
      let_go(*request);
      return true;
    });
  std::erase_if(streams_, [&](const Stream& stream) {
    if (stream.from != &endpoint) return false;
    if (stream.request != nullptr) {
      stream.request->finish_with(error);
      let_go(*stream.request);
    }
    return true;
  });
  lost_.push_back(&endpoint);
  note_departure({endpoint.identity(), endpoint.took_leave()});
}

/// Nobody has a communicator any more for what of it was never received.
void ChannelBackend::on_forgotten(Endpoint& endpoint) {
  std::vector<StoredMessage*> stored;
  match_.for_each_unexpected([&](UnexpectedMessage& message) {
    auto& each = static_cast<StoredMessage&>(message);
    if (each.from == &endpoint) stored.push_back(&each);
  });
  for (StoredMessage* const message : stored) drop_stored(*message);
  std::erase(lost_, &endpoint);
  if (comms_ != nullptr) comms_->forget_failure(endpoint.identity());
}

}  // namespace hawser::p2p
