// The receiving half of ChannelBackend: matching, unexpected messages, probes.
#include <fmt/format.h>

#include <algorithm>

#include "base/prefetch.hpp"
#include "p2p/protocol/channel_backend.hpp"

namespace hawser::p2p {

using channel::ChannelKind;
using channel::Endpoint;
using wire::class_byte;
using wire::FrameClass;

namespace {

MatchKey key_for(const Envelope& envelope) {
  return {(envelope.comm->context() << 2) | static_cast<std::uint32_t>(envelope.traffic),
          envelope.peer, envelope.tag};
}

FrameClass class_of(const channel::FrameView& frame) {
  return static_cast<FrameClass>(frame.head[0]);
}
/// What follows the prefix.
channel::FrameView body_of(const channel::FrameView& frame) {
  return {frame.head.subspan(sizeof(channel::FramePrefix)), frame.payload};
}

Status status_of(const MatchKey& key, std::uint64_t bytes) {
  Status status;
  status.source = key.source;
  status.tag = key.tag;
  status.bytes = static_cast<Count>(bytes);
  return status;
}

}  // namespace

/// A message that a matched probe took out of matching. If its handle is never used for a receive,
/// its data goes with it.
class ChannelBackend::ProbedMessage final : public Message {
 public:
  ProbedMessage(ChannelBackend& backend, Ref<Comm> comm, std::unique_ptr<StoredMessage> stored)
      : Message(std::move(comm), status_of(stored->node.key, stored->total_bytes())),
        backend_(backend),
        stored_(std::move(stored)) {}
  std::unique_ptr<StoredMessage> take() { return std::move(stored_); }

 private:
  ~ProbedMessage() override {
    if (stored_) backend_.discard(std::move(stored_));
  }
  ChannelBackend& backend_;
  std::unique_ptr<StoredMessage> stored_;
};

/// REQUEST matches a message of TOTAL bytes, of which PAYLOAD has come.
[[gnu::always_inline]] inline void ChannelBackend::deliver_first(
    ReceiveRequest& request, Endpoint& from, const MatchKey& key, std::uint64_t total,
    std::span<const std::byte> payload) {
  request.match(key, total);
  request.endpoint = &from;
  request.store(0, payload);
  if (payload.size() > free_payload_bytes) return_credit(from, payload.size());
}

void ChannelBackend::deliver(ReceiveRequest& request, Endpoint& from, const MatchKey& key,
                             const wire::RendezvousHeader& rendezvous, FrameClass frame_class,
                             std::span<const std::byte> payload) {
  deliver_first(request, from, key, rendezvous.total, payload);
  request.set_interrupted(false);  // it has a sender
  request.peer_token = rendezvous.token;
  if (frame_class == FrameClass::stream) {
    follow_stream(request);
    return;
  }
  request.offered = rendezvous;
  fetch(request);
}

/// Null for a peer that is silent: a receive connects to nobody. Null, too, if COMM is not sound.
inline Endpoint* ChannelBackend::known_endpoint(Comm& comm, int peer) {
  if (void* known = comm.peers().find(peer)) [[likely]]
    return static_cast<Endpoint*>(known);
  if (!comm.is_sound()) [[unlikely]]
    return nullptr;
  Endpoint* const endpoint = endpoints_.find(comm.peer_group().member(peer));
  if (endpoint != nullptr) comm.peers().insert(peer, endpoint);
  return endpoint;
}

template <ChannelKind kind>
[[gnu::always_inline]] inline Taken ChannelBackend::take_from(Endpoint& from, const Buffer& buffer,
                                                              std::uint64_t capacity,
                                                              const Envelope& envelope,
                                                              Status* status) {
  const MatchKey wanted = key_for(envelope);
  if (UnexpectedMessage* found = match_.find_unexpected(wanted); found != nullptr) [[unlikely]]
    return take_stored(static_cast<StoredMessage&>(*found), buffer, capacity, status);
  if (capacity > bytes_in_a_line) from.link().expect(kind, wire::eager_overhead + capacity);
  const channel::FrameView frame = from.front(kind);
  if (frame.head.empty()) return Taken::nothing;
  // Such as a credit that comes back: only progress() takes it out, and shows what is behind it.
  if (!from.has_turn(frame, class_byte(FrameClass::eager))) return Taken::no;
  const std::optional<wire::EagerArrival> arrival = wire::parse_eager(body_of(frame));
  if (!arrival) return Taken::no;
  const MatchKey key{arrival->match.context, arrival->match.source,
                     wanted.tag == any_tag ? any_tag : arrival->match.tag};
  const std::size_t bytes = arrival->payload.size();
  if (!(key == wanted) || bytes > capacity) return Taken::no;
  unpack_frame(from, buffer, 0, arrival->payload.data(), bytes, bytes);
  *status = status_of({key.context, key.source, arrival->match.tag}, bytes);
  from.count_received(kind, bytes);
  from.pop(kind);
  if (bytes > free_payload_bytes) return_credit(from, bytes);
  return Taken::message;
}

/// One that is whole and fits; anything else goes the long way.
Taken ChannelBackend::take_stored(StoredMessage& message, const Buffer& buffer,
                                  std::uint64_t capacity, Status* status) {
  if (message.frame_class != FrameClass::eager) return Taken::no;
  const std::span<const std::byte> payload = message.payload();
  if (payload.size() > capacity) return Taken::no;
  unpack_frame(*message.from, buffer, 0, payload.data(), payload.size(), payload.size());
  *status = status_of(message.node.key, payload.size());
  if (payload.size() > free_payload_bytes) return_credit(*message.from, payload.size());
  recycle(take_out(message));
  return Taken::message;
}

/// A function of its own: with one for both kinds, messages of a line took 3 to 7 % longer by
/// rings.
Taken ChannelBackend::take_from_fast_path(Endpoint& from, const Buffer& buffer,
                                          std::uint64_t capacity, const Envelope& envelope,
                                          Status* status) {
  constexpr ChannelKind kind = ChannelKind::rc_fast_path;
  if (!from.has_incoming(kind) || from.is_urgent() ||
      capacity + wire::eager_overhead > from.frame_bytes_max(kind))
    return Taken::no;
  return take_from<kind>(from, buffer, capacity, envelope, status);
}

Taken ChannelBackend::try_recv(const Buffer& buffer, const Envelope& envelope, Status* status) {
  const auto capacity = static_cast<std::uint64_t>(bytes_of(buffer));
  // A long message wants its receive to be posted when its first frame comes.
  if (capacity > fragment_bytes) return Taken::no;
  Endpoint* const from = known_endpoint(*envelope.comm, envelope.peer);
  if (from == nullptr || match_.posted_count() > 0) return Taken::no;
  if (from->has_incoming(ChannelKind::ring)) [[likely]]
    return take_from<ChannelKind::ring>(*from, buffer, capacity, envelope, status);
  return take_from_fast_path(*from, buffer, capacity, envelope, status);
}

/// The request of a receive that is posted, or complete, with a reference for the caller.
[[gnu::always_inline]] inline ReceiveRequest& ChannelBackend::begin_receive(
    const Buffer& buffer, const Envelope& envelope) {
  ReceiveRequest& request = *receive_pool_.take();
  request.begin(*this, buffer, *envelope.comm);
  const MatchKey key = key_for(envelope);
  if (UnexpectedMessage* found = match_.find_unexpected(key); found != nullptr) {
    deliver_stored(request, take_out(*found));
    return request;
  }
  // A store to memory that no cache holds would keep back our next message behind it.
  base::prefetch_for_write(first_byte(buffer.data, *buffer.type));
  request.retain_unshared();  // the backend's, until the request is complete
  request.is_posted = true;
  match_.post(request, key);
  return request;
}

Request* ChannelBackend::try_irecv(const Buffer& buffer, const Envelope& envelope) {
  if (has_departures_ || !envelope.comm->is_sound()) [[unlikely]]
    return nullptr;
  return &begin_receive(buffer, envelope);
}

Result<Ref<Request>> ChannelBackend::irecv(const Buffer& buffer, const Envelope& envelope) {
  if (Trouble trouble = trouble_of(*envelope.comm, envelope.traffic)) [[unlikely]]
    return *std::move(trouble);
  ReceiveRequest& request = begin_receive(buffer, envelope);
  auto handle = Ref<Request>::adopt(&request);
  if (request.is_posted && (has_departures_ || !envelope.comm->is_sound())) [[unlikely]]
    judge(request);
  return handle;
}

void ChannelBackend::give_up(ReceiveRequest& posted, base::Error error) {
  match_.cancel(posted);
  posted.is_posted = false;
  posted.finish_with(std::move(error));
  let_go(posted);
}

Result<void> ChannelBackend::cancel(ReceiveRequest& request) {
  if (!request.is_posted) return {};
  match_.cancel(request);
  request.is_posted = false;
  request.mutable_status().cancelled = true;
  request.set_complete();
  let_go(request);
  return {};
}

Result<bool> ChannelBackend::iprobe(const Envelope& envelope, Status* status) {
  if (Trouble trouble = trouble_of(*envelope.comm, envelope.traffic)) [[unlikely]]
    return *std::move(trouble);
  const UnexpectedMessage* found = match_.find_unexpected(key_for(envelope));
  if (found == nullptr) {
    if (Trouble trouble = hopelessness(*envelope.comm, envelope.peer, envelope.traffic))
        [[unlikely]]
      return *std::move(trouble);
    note_probe(*envelope.comm, envelope.peer);
    return false;
  }
  const auto& message = static_cast<const StoredMessage&>(*found);
  if (status != nullptr) *status = status_of(message.node.key, message.total_bytes());
  return true;
}

Result<Ref<Message>> ChannelBackend::improbe(const Envelope& envelope) {
  const Result<bool> found = iprobe(envelope, nullptr);
  if (!found) return found.error();
  if (!*found) return Ref<Message>();
  UnexpectedMessage* message = match_.find_unexpected(key_for(envelope));
  return Ref<Message>(
      base::make_ref<ProbedMessage>(*this, Ref<Comm>::share(envelope.comm), take_out(*message)));
}

Result<Ref<Request>> ChannelBackend::imrecv(const Buffer& buffer, Ref<Message> message) {
  std::unique_ptr<StoredMessage> stored = static_cast<ProbedMessage&>(*message).take();
  if (!stored)
    return base::Error(base::ErrorClass::request, "the message has been received already");
  if (Trouble trouble = trouble_of(message->comm(), Traffic::point_to_point)) [[unlikely]] {
    refuse_stored(*stored);
    recycle(std::move(stored));
    return *std::move(trouble);
  }
  ReceiveRequest* request = receive_pool_.take();
  auto handle = Ref<Request>::adopt(request);
  request->begin(*this, buffer, message->comm());
  deliver_stored(*request, std::move(stored));
  return handle;
}

[[gnu::always_inline]] inline void ChannelBackend::on_eager(Endpoint& from, ChannelKind kind,
                                                            channel::FrameView body) {
  const std::optional<wire::EagerArrival> arrival = wire::parse_eager(body);
  if (!arrival) return;
  from.count_received(kind, arrival->payload.size());
  const MatchKey key{arrival->match.context, arrival->match.source, arrival->match.tag};
  PostedReceive* posted = match_.match_arrival(key);
  if (posted == nullptr) {
    static constexpr wire::RendezvousHeader nothing{};
    const MatchKey copy = key;  // so that the first one stays in registers
    store_unexpected(from, copy, FrameClass::eager, nothing, arrival->payload);
    return;
  }
  auto& request = static_cast<ReceiveRequest&>(*posted);
  request.is_posted = false;
  deliver_first(request, from, key, arrival->payload.size(), arrival->payload);
  request.finish();
  let_go(request);
}

void ChannelBackend::on_arrival(Endpoint& from, ChannelKind kind, FrameClass frame_class,
                                const channel::FrameView& body) {
  const std::optional<wire::Arrival> arrival = wire::parse_arrival(frame_class, body);
  if (!arrival) return;
  // What we may have to keep is bounded by the credit that we gave.
  if (frame_class == FrameClass::stream &&
      arrival->rendezvous.total > static_cast<std::uint64_t>(settings_.credit_bytes))
    return;
  const bool is_rendezvous = frame_class == FrameClass::rendezvous;
  from.count_received(is_rendezvous ? channel_of(arrival->rendezvous.offer, kind) : kind,
                      is_rendezvous && comes_in_parts(arrival->rendezvous)
                          ? arrival->payload.size()
                          : arrival->rendezvous.total);
  const MatchKey key{arrival->match.context, arrival->match.source, arrival->match.tag};
  PostedReceive* posted = match_.match_arrival(key);
  if (posted == nullptr) {
    store_unexpected(from, key, frame_class, arrival->rendezvous, arrival->payload);
    return;
  }
  auto& request = static_cast<ReceiveRequest&>(*posted);
  request.is_posted = false;
  deliver(request, from, key, arrival->rendezvous, frame_class, arrival->payload);
  let_go(request);
}

void ChannelBackend::on_frame(Endpoint& from, ChannelKind kind, std::span<const std::byte> frame) {
  take_frame(from, kind, frame);
}

void ChannelBackend::on_frame_apart(Endpoint& from, ChannelKind kind,
                                    const channel::FrameView& frame) {
  take_frame(from, kind, frame);
}

// Inlined: frames in one piece, which are the short ones, stay in registers.
[[gnu::always_inline]] inline void ChannelBackend::take_frame(Endpoint& from, ChannelKind kind,
                                                              channel::FrameView frame) {
  const FrameClass frame_class = class_of(frame);
  if (frame_class == FrameClass::eager) [[likely]] {
    on_eager(from, kind, body_of(frame));
  } else {
    on_other_frame(from, kind, frame_class, body_of(frame));
  }
}

void ChannelBackend::on_other_frame(Endpoint& from, ChannelKind kind, FrameClass frame_class,
                                    const channel::FrameView& body) {
  switch (frame_class) {
    case FrameClass::eager:
      return;
    case FrameClass::rendezvous:
    case FrameClass::stream:
      on_arrival(from, kind, frame_class, body);
      return;
    case FrameClass::clear_to_send:
      on_clear_to_send(from, body.head);
      return;
    case FrameClass::data:
      on_data(from, kind, body);
      return;
    case FrameClass::stream_data:
      on_stream_data(from, body);
      return;
    case FrameClass::finished:
      on_finished(from, body.head);
      return;
    case FrameClass::clear_to_put:
      on_clear_to_put(from, body.head);
      return;
    case FrameClass::put_done:
      on_put_done(from, body.head);
      return;
    case FrameClass::clear_to_cross:
      on_clear_to_cross(from, body.head);
      return;
    case FrameClass::not_crossed:
      on_not_crossed(from, body.head);
      return;
    case FrameClass::join_copy:
      on_join_copy(from, body.head);
      return;
    case FrameClass::part_copied:
      on_part_copied(from, body.head);
      return;
    case FrameClass::refused:
      on_refused(from, body.head);
      return;
    case FrameClass::active:
      active_.on_frame(from, body.head);
      return;
    case FrameClass::credit:
      if (std::span<const std::byte> rest = body.head;
          const auto credit = wire::take<wire::Credit>(rest))
        from.send_credit_bytes += static_cast<std::int64_t>(std::min<std::uint64_t>(
            credit->bytes, static_cast<std::uint64_t>(settings_.credit_bytes)));
      return;
  }
}

/// RENDEZVOUS: what its sender offers; says nothing if the message is eager.
void ChannelBackend::store_unexpected(Endpoint& from, const MatchKey& key, FrameClass frame_class,
                                      const wire::RendezvousHeader& rendezvous,
                                      std::span<const std::byte> payload) {
  if (is_refused(key)) [[unlikely]] {
    refuse(from, frame_class, rendezvous, payload.size());
    return;
  }
  if (payload.size() >= dear_payload_bytes) endpoints_.end_turn();
  std::unique_ptr<StoredMessage> message = stored_messages_.take();
  const bool is_stream = frame_class == FrameClass::stream;
  message->from = &from;
  message->frame_class = frame_class;
  if (frame_class != FrameClass::eager) message->rendezvous = rendezvous;
  message->keep(payload,
                is_stream ? static_cast<std::size_t>(rendezvous.total) - payload.size() : 0);
  if (is_stream) streams_.push_back({&from, rendezvous.token, nullptr, message.get()});
  ledger_.charge(memory::Account::unexpected, message->kept_bytes());
  ++unexpected_messages_;
  match_.store(*message.release(), key);
}

void ChannelBackend::deliver_stored(ReceiveRequest& request,
                                    std::unique_ptr<StoredMessage> message) {
  const std::span<const std::byte> payload = message->payload();
  if (message->frame_class == FrameClass::eager) {
    deliver_first(request, *message->from, message->node.key, payload.size(), payload);
    request.finish();
  } else {
    deliver(request, *message->from, message->node.key, message->rendezvous, message->frame_class,
            payload);
  }
  recycle(std::move(message));
}

void ChannelBackend::forget_stream(const StoredMessage& message) {
  std::erase_if(streams_, [&](const Stream& stream) { return stream.stored == &message; });
}

void ChannelBackend::return_credit(Endpoint& from, std::size_t payload_bytes) {
  from.credit_to_return += static_cast<std::int64_t>(payload_bytes);
  // Seldom enough to cost nothing, early enough that a steady sender never runs dry.
  if (from.credit_to_return < settings_.credit_bytes / 4) return;
  const wire::Credit credit{static_cast<std::uint64_t>(from.credit_to_return)};
  from.credit_to_return = 0;
  tell(from, FrameClass::credit, credit);
}

}  // namespace hawser::p2p
