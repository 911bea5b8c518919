// Rest: whether the two sides of a link do without a connection until one of them has something to
// say again.
//
//    who has not used it for long:  rest    -->
//                                      <--  rested   (the other one, with nothing under way either)
//    ends the connection, unless something was sent or came meanwhile
//
// Both may ask at once; then both answer, and either ends it. Who has agreed may still send: if the
// other one has ended the connection then, it broke, and what was sent is sent again.
//
// Pure state machine: fed what was said and done; whether something is under way is its owner's to
// know. Ownership: a value. Threads: one at a time.
#pragma once

#include <cstdint>

namespace hawser::transport::tcp {

class Rest {
 public:
  /// Whether to say `rest`: nothing was under way for long.
  bool ask() { return change(State::awake, State::asked); }
  /// The peer says `rest`. Whether this side agrees: then it answers `rested`, if it could make a
  /// connection by itself.
  bool on_asked(bool is_idle) {
    if (is_idle && state_ != State::ending) state_ = State::agreed;
    return is_idle;
  }
  /// The peer says `rested`. Whether the connection is to be ended soon: see is_ending().
  bool on_agreed() {
    return change(State::asked, State::ending) || change(State::agreed, State::ending);
  }
  /// A frame was sent or came.
  void on_use() { state_ = State::awake; }

  /// This side ends the connection now.
  [[nodiscard]] bool is_ending() const { return state_ == State::ending; }
  /// The peer was asked, or has asked, and nothing has happened since: if the connection ends now,
  /// nobody misses it.
  [[nodiscard]] bool is_welcome() const {
    return state_ == State::asked || state_ == State::agreed || state_ == State::ending;
  }
  /// It has ended by agreement.
  void begin() { state_ = State::resting; }
  [[nodiscard]] bool is_resting() const { return state_ == State::resting; }

 private:
  enum class State : std::uint8_t { awake, asked, agreed, ending, resting };

  bool change(State from, State to) {
    if (state_ != from) return false;
    state_ = to;
    return true;
  }

  State state_ = State::awake;
};

}  // namespace hawser::transport::tcp
