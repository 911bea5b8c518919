#include "softrdma/cm/connection.hpp"

#include <algorithm>
#include <cerrno>

namespace softrdma::cm {
namespace {

/// What a consumer may take to answer, as we tell the peer: 69 s.
constexpr std::uint8_t consumer_timeout = 24;
/// How long packets of a connection may be on their way.
constexpr std::uint8_t time_wait_timeout = 15;
/// How long a request may come again that was refused.
constexpr std::uint8_t refused_timeout = 20;

template <std::size_t count>
void fill(std::array<std::byte, count>& out, std::span<const std::byte> private_data) {
  std::ranges::copy(private_data.first(std::min(private_data.size(), count)), out.begin());
}

template <std::size_t count>
std::vector<std::byte> copy_of(const std::array<std::byte, count>& private_data) {
  return {private_data.begin(), private_data.end()};
}

Event event_of(const ConnectRequest& request) {
  return {.type = EventType::request,
          .private_data = copy_of(request.private_data),
          .queue_pair = request.queue_pair,
          .queue_key = request.queue_key,
          .responder_resources = request.initiator_depth,
          .initiator_depth = request.responder_resources,
          .retry_count = request.retry_count,
          .not_ready_retry_count = request.not_ready_retry_count,
          .flow_control = request.flow_control,
          .has_shared_receives = request.has_shared_receives,
          .service = request.service};
}

Event event_of(const ConnectReply& reply) {
  return {.type = EventType::reply,
          .private_data = copy_of(reply.private_data),
          .queue_pair = reply.queue_pair,
          .queue_key = reply.queue_key,
          .responder_resources = reply.initiator_depth,
          .initiator_depth = reply.responder_resources,
          .not_ready_retry_count = reply.not_ready_retry_count,
          .flow_control = reply.flow_control,
          .has_shared_receives = reply.has_shared_receives};
}

}  // namespace

// What the consumer wants

bool Connection::connect(const ConnectRequest& request, std::uint64_t now_ns) {
  if (state_ != State::idle) return false;
  is_active_ = true;
  request_ = request;
  request_.local_id = local_id_;
  receive_sequence_ = request.starting_sequence;
  state_ = State::request_sent;
  waiting_.start(request_, timeout_ns(request.remote_response_timeout), request.retries_max,
                 now_ns);
  host_.send(request_);
  return true;
}

void Connection::begin(const ConnectRequest& from, std::uint32_t sequence) {
  request_ = from;
  remote_id_ = from.local_id;
  receive_sequence_ = sequence;
  state_ = State::request_came;
  ask_for_time(Kind::request);
  raise(event_of(request_));
}

bool Connection::accept(const ConnectReply& reply, std::uint64_t now_ns) {
  if (state_ != State::request_came) return false;
  reply_ = reply;
  reply_.local_id = local_id_;
  reply_.remote_id = remote_id_;
  reply_.starting_sequence = receive_sequence_;
  state_ = State::reply_sent;
  waiting_.start(reply_, answer_wait_ns(), request_.retries_max, now_ns);
  host_.send(reply_);
  return true;
}

bool Connection::confirm() {
  if (state_ != State::reply_came) return false;
  state_ = State::established;
  host_.send(ReadyToUse{.local_id = local_id_, .remote_id = remote_id_});
  return true;
}

bool Connection::note_established() {
  if (state_ != State::reply_sent) return false;
  waiting_.stop();
  state_ = State::established;
  raise(EventType::established);
  return true;
}

bool Connection::reject(std::uint16_t why, std::span<const std::byte> private_data,
                        std::uint64_t now_ns) {
  switch (state_) {
    case State::request_came:
      send_rejection(why, private_data);
      state_ = State::refused;
      ends_ns_ = now_ns + timeout_ns(refused_timeout);
      return true;
    case State::request_sent:
    case State::reply_sent:
    case State::reply_came:
      send_rejection(why, private_data);
      finish();
      return true;
    default:
      return false;
  }
}

bool Connection::disconnect(std::uint64_t now_ns) {
  if (state_ == State::disconnect_came) {
    send_disconnect_reply();
    enter_time_wait(now_ns);
    return true;
  }
  if (state_ != State::established) return false;
  const DisconnectRequest request{
      .local_id = local_id_, .remote_id = remote_id_, .remote_queue_pair = terms().peer};
  state_ = State::disconnect_sent;
  waiting_.start(request, answer_wait_ns(), request_.retries_max, now_ns);
  host_.send(request);
  return true;
}

void Connection::abandon(std::uint64_t now_ns) {
  is_abandoned_ = true;
  const bool is_early = state_ == State::request_sent;
  if (state_ == State::idle) return finish();
  if (!disconnect(now_ns)) reject(is_early ? reason::timeout : reason::consumer, {}, now_ns);
}

// What comes

void Connection::on_message(const Message& message, std::uint64_t now_ns) {
  std::visit([&](const auto& known) { on(known, now_ns); }, message);
}

/// Once more: its answer was lost, or is not there yet. A reply repeats itself.
void Connection::on(const ConnectRequest& /*request*/, std::uint64_t /*now_ns*/) {
  if (state_ == State::request_came) ask_for_time(Kind::request);
  if (state_ == State::refused) host_.send(rejection_);
}

void Connection::on(const Delay& delay, std::uint64_t now_ns) {
  const bool is_wanted = (delay.of == Kind::request && state_ == State::request_sent) ||
                         (delay.of == Kind::reply && state_ == State::reply_sent);
  if (is_wanted) waiting_.wait_until(now_ns + timeout_ns(delay.service_timeout));
}

void Connection::on(const Rejection& rejection, std::uint64_t now_ns) {
  const Event event{.type = EventType::rejected,
                    .status = rejection.reason,
                    .private_data = copy_of(rejection.private_data)};
  switch (state_) {
    case State::request_sent:
    case State::request_came:
    case State::reply_sent:
    case State::reply_came:
      finish();
      return raise(event);
    case State::established:
      enter_time_wait(now_ns);
      return raise(event);
    case State::disconnect_sent:
      // The peer knows nothing of it any more.
      enter_time_wait(now_ns);
      return raise(EventType::disconnected);
    default:
      return;
  }
}

void Connection::on(const ConnectReply& reply, std::uint64_t /*now_ns*/) {
  if (!is_active_) return;
  if (state_ == State::reply_came) return ask_for_time(Kind::reply);
  // What says that we are ready was lost.
  if (state_ == State::established)
    return host_.send(ReadyToUse{.local_id = local_id_, .remote_id = remote_id_});
  if (state_ != State::request_sent) return;
  waiting_.stop();
  reply_ = reply;
  remote_id_ = reply.local_id;
  state_ = State::reply_came;
  ask_for_time(Kind::reply);
  raise(event_of(reply_));
}

void Connection::on(const ReadyToUse& /*ready*/, std::uint64_t /*now_ns*/) { note_established(); }

void Connection::on(const DisconnectRequest& /*request*/, std::uint64_t now_ns) {
  // Who disconnects was ready, though nothing that said so arrived.
  note_established();
  switch (state_) {
    case State::established:
      state_ = State::disconnect_came;
      return raise(EventType::disconnected);
    case State::disconnect_sent:
      send_disconnect_reply();
      enter_time_wait(now_ns);
      return raise(EventType::disconnected);
    case State::time_wait:
      return send_disconnect_reply();
    default:
      return;
  }
}

void Connection::on(const DisconnectReply& /*reply*/, std::uint64_t now_ns) {
  if (state_ != State::disconnect_sent) return;
  enter_time_wait(now_ns);
  raise(EventType::disconnected);
}

// Time

void Connection::on_time(std::uint64_t now_ns) {
  const bool ends = state_ == State::time_wait || state_ == State::refused;
  if (ends && now_ns >= ends_ns_) {
    const bool was_connected = state_ == State::time_wait;
    finish();
    if (was_connected) raise(EventType::time_wait_over);
    return;
  }
  if (!waiting_.is_due(now_ns)) return;
  if (const Message* const again = waiting_.next(now_ns)) return host_.send(*again);
  if (state_ == State::disconnect_sent) {
    enter_time_wait(now_ns);
    return raise(EventType::disconnected, -ETIMEDOUT);
  }
  send_rejection(reason::timeout, {});
  finish();
  raise(EventType::unreachable, -ETIMEDOUT);
}

std::optional<std::uint64_t> Connection::deadline_ns() const {
  if (state_ == State::time_wait || state_ == State::refused) return ends_ns_;
  return waiting_.deadline_ns();
}

// Helpers

QueuePairTerms Connection::terms() const {
  QueuePairTerms terms{
      .peer = is_active_ ? reply_.queue_pair : request_.queue_pair,
      .receive_sequence = receive_sequence_,
      .send_sequence = is_active_ ? reply_.starting_sequence : request_.starting_sequence,
      .path_mtu = request_.path_mtu,
      .responder_resources = request_.initiator_depth,
      .initiator_depth = request_.responder_resources,
      .retry_count = request_.retry_count,
      .not_ready_retry_count = request_.not_ready_retry_count,
      .ack_timeout = request_.path.ack_timeout};
  if (is_active_) {
    terms.responder_resources = reply_.initiator_depth;
    terms.initiator_depth = reply_.responder_resources;
    terms.not_ready_retry_count = reply_.not_ready_retry_count;
  } else if (state_ != State::request_came) {
    terms.responder_resources = reply_.responder_resources;
    terms.initiator_depth = reply_.initiator_depth;
  }
  return terms;
}

void Connection::raise(const Event& event) {
  if (!is_abandoned_) host_.on_event(event);
}

void Connection::raise(EventType type, int status) { raise({.type = type, .status = status}); }

/// How long the peer may take.
std::uint64_t Connection::answer_wait_ns() const {
  return timeout_ns(is_active_ ? request_.remote_response_timeout
                               : request_.local_response_timeout);
}

/// Until the consumer has decided.
void Connection::ask_for_time(Kind of) {
  host_.send(Delay{.local_id = local_id_,
                   .remote_id = remote_id_,
                   .of = of,
                   .service_timeout = consumer_timeout});
}

void Connection::send_rejection(std::uint16_t why, std::span<const std::byte> private_data) {
  const Kind of = state_ == State::request_came ? Kind::request
                  : state_ == State::reply_came ? Kind::reply
                                                : Kind::other;
  rejection_ = {.local_id = local_id_, .remote_id = remote_id_, .of = of, .reason = why};
  fill(rejection_.private_data, private_data);
  host_.send(rejection_);
}

void Connection::send_disconnect_reply() {
  host_.send(DisconnectReply{.local_id = local_id_, .remote_id = remote_id_});
}

void Connection::enter_time_wait(std::uint64_t now_ns) {
  waiting_.stop();
  state_ = State::time_wait;
  ends_ns_ = now_ns + timeout_ns(time_wait_timeout);
}

}  // namespace softrdma::cm
