// XrcAsker and XrcGranter: how a process gets the way into another one's receive queue, and gives
// it back, by datagrams that may be lost, come twice or late. Each direction has its own two.
//
//   asker                            granter
//   closed                           none
//     | where ─────────────────────►   |            only if it does not know the peer's host yet
//   locating                           |
//     | ◄────────────────────── here   |
//   waiting                            |            for another one's question to the same host,
//     | ask ───────────────────────►   |            which makes the queue pair that both use
//   asking                             | may it?    (or: refuse ──► asker closed)
//     | ◄───────────────────── grant   |
//   open                             granted
//     ⋮        ◄────────────── recall  |            repeated until the end comes
//   leaving                            |
//     | all that was sent has left     |
//   ending   end ──────────────────►   |            takes what has come
//     | ◄───────────────────── ended   |
//   closed                           none
//
// The asker repeats what it says until it is answered, ever more seldom; the granter answers what
// is repeated as it did before. An attempt has a number, and numbers count up: a message of another
// attempt is of the past. Who hears of a grant that it does not wait for ends it.
//
// Pure state machines: events and `now` in, an outcome out, which the caller carries out. Threads:
// the lane lock. Bounds: as Handshake's; repetitions are not limited in number, since a peer that
// computes answers nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/verbs/handshake.hpp"

namespace hawser::transport::verbs {

enum class XrcKind : std::uint8_t {
  none,
  where,
  here,
  ask,
  grant,
  refuse,
  end,
  ended,
  recall,
};

/// What is said about an attempt.
struct XrcSaid {
  XrcKind kind = XrcKind::none;
  std::uint32_t attempt = 0;
};

/// When something that is not answered is said again.
class XrcRepetition {
 public:
  static constexpr std::uint64_t interval_ns_min = Handshake::interval_ns_min;
  static constexpr std::uint64_t interval_ns_max = Handshake::interval_ns_max;

  void start(std::uint64_t now_ns) {
    interval_ns_ = interval_ns_min;
    deadline_ns_ = now_ns + interval_ns_;
  }
  void stop() { deadline_ns_ = never_ns; }
  [[nodiscard]] std::uint64_t deadline_ns() const { return deadline_ns_; }
  /// True if it is time; then the next one comes later.
  bool is_due(std::uint64_t now_ns) {
    if (now_ns < deadline_ns_) return false;
    interval_ns_ = std::min(2 * interval_ns_, interval_ns_max);
    deadline_ns_ = now_ns + interval_ns_;
    return true;
  }

 private:
  std::uint64_t interval_ns_ = interval_ns_min;
  std::uint64_t deadline_ns_ = never_ns;
};

class XrcAsker {
 public:
  enum class State : std::uint8_t { closed, locating, waiting, asking, open, leaving, ending };
  struct Outcome {
    enum class Change : std::uint8_t { none, located, open, refused, recalled, ended };
    Change change = Change::none;
    XrcSaid send;  // if its kind is not none
  };

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is(State state) const { return state_ == state; }

  /// Only while closed. IS_LOCATED: the peer's host is known.
  XrcSaid ask(bool is_located, std::uint64_t now_ns);
  /// It has its turn to ask; only while waiting.
  XrcSaid go_on(std::uint64_t now_ns) { return enter(State::asking, XrcKind::ask, now_ns); }
  /// There is no way to the peer's host; only while waiting or locating.
  void give_up() { rest(State::closed); }
  /// Only while open: nothing more is sent.
  void give_back() { rest(State::leaving); }
  /// All that was sent has left; or, whatever the state but closed, waiting or locating: the queue
  /// pair broke.
  XrcSaid end(std::uint64_t now_ns) { return enter(State::ending, XrcKind::end, now_ns); }
  /// The peer is gone.
  void abandon() { rest(State::closed); }
  Outcome on_message(const XrcSaid& said);
  XrcSaid on_time(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t deadline_ns() const { return repetition_.deadline_ns(); }

 private:
  XrcSaid enter(State state, XrcKind kind, std::uint64_t now_ns);
  void rest(State state);
  Outcome on_grant(const XrcSaid& said);
  [[nodiscard]] bool is_answer(const XrcSaid& said, State to) const {
    return state_ == to && said.attempt == attempt_;
  }

  State state_ = State::closed;
  XrcKind repeated_ = XrcKind::none;
  std::uint32_t attempt_ = 0;
  XrcRepetition repetition_;
};

class XrcGranter {
 public:
  [[nodiscard]] bool has_granted() const { return is_granted_; }

  /// A question of ATTEMPT came. DROP(): what was granted before is over. DECIDE(): true grants.
  template <class Drop, class Decide>
  XrcSaid on_ask(std::uint32_t attempt, Drop&& drop, Decide&& decide) {
    const auto ahead = static_cast<std::int32_t>(attempt - attempt_);
    if (ahead < 0) return {};
    if (ahead == 0) return {answer_, attempt};
    if (is_granted_) drop();
    attempt_ = attempt;
    is_granted_ = decide();
    repetition_.stop();
    answer_ = is_granted_ ? XrcKind::grant : XrcKind::refuse;
    return {answer_, attempt};
  }
  /// The end of ATTEMPT came: calls DROP() if that was granted.
  template <class Drop>
  XrcSaid on_end(std::uint32_t attempt, Drop&& drop) {
    if (static_cast<std::int32_t>(attempt - attempt_) >= 0) {
      if (is_granted_) drop();
      attempt_ = attempt;
      abandon();
    }
    return {XrcKind::ended, attempt};
  }
  /// The peer is gone.
  void abandon() {
    is_granted_ = false;
    answer_ = XrcKind::none;
    repetition_.stop();
  }
  /// The peer shall give back what was granted.
  XrcSaid recall(std::uint64_t now_ns) {
    repetition_.start(now_ns);
    return {XrcKind::recall, attempt_};
  }
  XrcSaid on_time(std::uint64_t now_ns) {
    return repetition_.is_due(now_ns) ? XrcSaid{XrcKind::recall, attempt_} : XrcSaid{};
  }
  [[nodiscard]] std::uint64_t deadline_ns() const { return repetition_.deadline_ns(); }

 private:
  std::uint32_t attempt_ = 0;  // the last that we have heard of
  XrcKind answer_ = XrcKind::none;
  bool is_granted_ = false;
  XrcRepetition repetition_;
};

}  // namespace hawser::transport::verbs
