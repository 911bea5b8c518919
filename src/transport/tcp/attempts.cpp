#include "transport/tcp/attempts.hpp"

#include <algorithm>
#include <utility>

namespace hawser::transport::tcp {

void Attempts::begin(Purpose purpose, std::uint64_t now_ns) {
  purpose_ = purpose;
  dialer_.begin(now_ns);
  follow_dialer(now_ns);
}

void Attempts::stop() {
  dialer_.stop();
  attempts_.clear();
}

bool Attempts::serve(std::uint64_t now_ns) {
  std::erase_if(attempts_, [&](Attempt& each) { return serve(each, now_ns); });
  return follow_dialer(now_ns);
}

void Attempts::fail_silent(std::uint32_t timeout_s) {
  for (const Attempt& each : attempts_) {
    if (each.caller) {
      each.caller->fail_if_silent(timeout_s);
    } else if (each.proven) {
      each.proven->fail_if_silent(timeout_s);
    }
  }
}

std::unique_ptr<Connection> Attempts::take(const Connection& connection) {
  const auto found = std::ranges::find_if(
      attempts_, [&](const Attempt& each) { return each.proven.get() == &connection; });
  return found == attempts_.end() ? nullptr : std::move(found->proven);
}

bool Attempts::serve(Attempt& attempt, std::uint64_t now_ns) {
  if (attempt.proven) {
    if (!attempt.proven->has_failed()) return false;
    dialer_.on_failed(attempt.candidate, attempt.proven->failure(), now_ns);
    return true;
  }
  if (!attempt.caller) return true;  // taken
  switch (attempt.caller->state()) {
    case GreetingState::connecting:
      return false;
    case GreetingState::greeting:
      dialer_.on_reached(attempt.candidate);
      return false;
    case GreetingState::failed:
      dialer_.on_failed(attempt.candidate, attempt.caller->failure(), now_ns);
      return true;
    case GreetingState::done:
      break;
  }
  const std::optional<Connection::Keys> keys = attempt.caller->keys();
  attempt.proven =
      std::make_unique<Connection>(services_, owner_, attempt.caller->take_socket(), keys);
  attempt.caller.reset();
  return false;
}

bool Attempts::follow_dialer(std::uint64_t now_ns) {
  while (dialer_.is_dialing()) {
    const Dialer::Action action = dialer_.next(now_ns);
    switch (action.kind) {
      case Dialer::Action::Kind::none:
        return true;
      case Dialer::Action::Kind::start:
        start(action.candidate, now_ns);
        break;
      case Dialer::Action::Kind::abandon:
        std::erase_if(attempts_,
                      [&](const Attempt& each) { return each.candidate == action.candidate; });
        break;
      case Dialer::Action::Kind::give_up:
        return false;
    }
  }
  return true;
}

void Attempts::start(std::size_t candidate, std::uint64_t now_ns) {
  auto socket = connect(candidate);
  if (!socket) {
    // One more connection is not worth another peer's only one.
    services_.lacks_room |=
        from_ == nullptr && socket.error().code() == static_cast<int>(ErrorClass::no_mem);
    dialer_.on_failed(candidate, socket.error().sentence(), now_ns);
    return;
  }
  attempts_.push_back(
      {candidate, std::make_unique<Caller>(services_, peer_, std::move(*socket), purpose_, news_),
       nullptr});
}

Result<platform::TcpSocket> Attempts::connect(std::size_t candidate) {
  const IpAddress& to = dialer_.address(candidate);
  if (from_ == nullptr) return platform::TcpSocket::connect(to, dialer_.port());
  const IpAddress* const source = from_->address_towards(to);
  if (source == nullptr) return Error(ErrorClass::other, "there is no address to connect from");
  return platform::TcpSocket::connect_from(*source, from_->name, to, dialer_.port());
}

}  // namespace hawser::transport::tcp
