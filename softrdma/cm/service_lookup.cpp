#include "softrdma/cm/service_lookup.hpp"

#include <cerrno>

namespace softrdma::cm {
namespace {

/// How long a question may come again that was answered.
constexpr std::uint8_t answered_timeout = 20;

}  // namespace

void ServiceLookup::ask(ServiceRequest request, std::uint64_t wait_ns, std::uint8_t repeats,
                        std::uint64_t now_ns) {
  request.request_id = id_;
  state_ = State::asked;
  waiting_.start(request, wait_ns, repeats, now_ns);
  host_.send(request);
}

void ServiceLookup::begin(const ServiceRequest& request) {
  state_ = State::wanted;
  service_ = request.service;
  host_.on_event({.type = EventType::service_request,
                  .private_data = {request.private_data.begin(), request.private_data.end()},
                  .service = request.service});
}

bool ServiceLookup::answer(ServiceReply reply, std::uint64_t now_ns) {
  if (state_ != State::wanted) return false;
  reply_ = reply;
  reply_.request_id = id_;
  reply_.service = service_;
  state_ = State::answered;
  ends_ns_ = now_ns + timeout_ns(answered_timeout);
  host_.send(reply_);
  return true;
}

void ServiceLookup::abandon(std::uint64_t now_ns) {
  if (state_ == State::wanted) answer({.status = service_status::rejected}, now_ns);
  if (state_ == State::answered) return;
  waiting_.stop();
  state_ = State::over;
}

void ServiceLookup::on_message(const Message& message) {
  const bool is_question = std::holds_alternative<ServiceRequest>(message);
  if (is_question && state_ == State::answered) return host_.send(reply_);
  const auto* const reply = std::get_if<ServiceReply>(&message);
  if (reply == nullptr || state_ != State::asked) return;
  waiting_.stop();
  state_ = State::over;
  const bool is_there = reply->status == service_status::valid;
  host_.on_event({.type = is_there ? EventType::service_reply : EventType::unreachable,
                  .status = reply->status,
                  .private_data = {reply->private_data.begin(), reply->private_data.end()},
                  .queue_pair = reply->queue_pair,
                  .queue_key = reply->queue_key,
                  .service = reply->service});
}

void ServiceLookup::on_time(std::uint64_t now_ns) {
  if (state_ == State::answered && now_ns >= ends_ns_) state_ = State::over;
  if (!waiting_.is_due(now_ns)) return;
  if (const Message* const again = waiting_.next(now_ns)) return host_.send(*again);
  state_ = State::over;
  host_.on_event({.type = EventType::unreachable, .status = -ETIMEDOUT});
}

std::optional<std::uint64_t> ServiceLookup::deadline_ns() const {
  if (state_ == State::answered) return ends_ns_;
  return waiting_.deadline_ns();
}

}  // namespace softrdma::cm
