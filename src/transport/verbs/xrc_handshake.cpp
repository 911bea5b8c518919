#include "transport/verbs/xrc_handshake.hpp"

#include "base/assert.hpp"

namespace hawser::transport::verbs {

using Change = XrcAsker::Outcome::Change;

XrcSaid XrcAsker::ask(bool is_located, std::uint64_t now_ns) {
  HAWSER_ASSERT(state_ == State::closed);
  ++attempt_;
  if (!is_located) return enter(State::locating, XrcKind::where, now_ns);
  rest(State::waiting);
  return {};
}

XrcAsker::Outcome XrcAsker::on_message(const XrcSaid& said) {
  switch (said.kind) {
    case XrcKind::here:
      if (!is_answer(said, State::locating)) return {};
      rest(State::waiting);
      return {.change = Change::located, .send = {}};
    case XrcKind::grant:
      return on_grant(said);
    case XrcKind::refuse:
      if (!is_answer(said, State::asking)) return {};
      rest(State::closed);
      return {.change = Change::refused, .send = {}};
    case XrcKind::recall:
      if (!is_answer(said, State::open)) return {};
      return {.change = Change::recalled, .send = {}};
    case XrcKind::ended:
      if (!is_answer(said, State::ending)) return {};
      rest(State::closed);
      return {.change = Change::ended, .send = {}};
    default:
      return {};
  }
}

XrcAsker::Outcome XrcAsker::on_grant(const XrcSaid& said) {
  if (is_answer(said, State::asking)) {
    rest(State::open);
    return {.change = Change::open, .send = {}};
  }
  const bool is_over = said.attempt != attempt_ || state_ == State::closed;
  return {.send = {is_over ? XrcKind::end : XrcKind::none, said.attempt}};
}

XrcSaid XrcAsker::on_time(std::uint64_t now_ns) {
  return repetition_.is_due(now_ns) ? XrcSaid{repeated_, attempt_} : XrcSaid{};
}

XrcSaid XrcAsker::enter(State state, XrcKind kind, std::uint64_t now_ns) {
  state_ = state;
  repeated_ = kind;
  repetition_.start(now_ns);
  return {kind, attempt_};
}

void XrcAsker::rest(State state) {
  state_ = state;
  repetition_.stop();
}

}  // namespace hawser::transport::verbs
