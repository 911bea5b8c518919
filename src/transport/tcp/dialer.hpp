// Dialer: which of a peer's addresses to try, and when, until one of them leads to it.
//
// Addresses are tried in their order: the next one a while after the one before, or as soon as that
// has failed, without waiting for what is under way. When all have failed they are tried again
// after a pause, which grows. It gives up when none could be reached for a time. One that accepts
// connections and says nothing counts as reached: a process that computes answers late. Its owner
// notices if the host has vanished meanwhile.
//
// Pure state machine: fed events and `now`, it says what to do; it owns no clock, socket or
// connection.
// Ownership: a value. Threads: one at a time.
// Bounds:    one attempt by each address at a time; the pauses between rounds grow to
//            pause_ns_max.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "platform/ip_address.hpp"

namespace hawser::transport::tcp {

using base::never_ns;

class Dialer {
 public:
  static constexpr std::uint64_t stagger_ns = 200'000'000;   // between the starts of attempts
  static constexpr std::uint64_t answer_ns = 5'000'000'000;  // that a host has to answer at all
  static constexpr std::uint64_t pause_ns_initial = 50'000'000;
  static constexpr std::uint64_t pause_ns_max = 2'000'000'000;

  /// Gives up when nothing was reached for TIMEOUT_NS.
  Dialer(const std::vector<platform::IpAddress>& candidates, std::uint16_t port,
         std::uint64_t timeout_ns);

  void begin(std::uint64_t now_ns);
  /// It is over, for whatever reason; attempts that are under way are the owner's to end.
  void stop() { is_dialing_ = false; }
  [[nodiscard]] bool is_dialing() const { return is_dialing_; }

  struct Action {
    enum class Kind : std::uint8_t {
      none,     // until deadline_ns()
      start,    // an attempt by `candidate`
      abandon,  // the attempt by `candidate`: its host does not answer
      give_up   // it has stopped
    };
    Kind kind = Kind::none;
    std::size_t candidate = 0;
  };
  /// What to do next; called until it is `none`.
  Action next(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t deadline_ns() const;

  /// The attempt by CANDIDATE has reached something that accepts connections.
  void on_reached(std::size_t candidate);
  /// It has ended; WHY is for people.
  void on_failed(std::size_t candidate, std::string why, std::uint64_t now_ns);

  [[nodiscard]] const platform::IpAddress& address(std::size_t candidate) const {
    return candidates_[candidate].address;
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// What was tried, and what each has said last.
  [[nodiscard]] std::string report() const;

 private:
  enum class State : std::uint8_t { idle, started, reached, failed };
  struct Candidate {
    platform::IpAddress address;
    State state = State::idle;
    std::uint64_t started_ns = 0;
    std::string why = {};
  };

  [[nodiscard]] bool any(State state) const;
  [[nodiscard]] std::optional<std::size_t> first_idle() const;
  void begin_round(std::uint64_t at_ns);

  std::vector<Candidate> candidates_;
  std::uint16_t port_;
  std::uint64_t timeout_ns_;
  bool is_dialing_ = false;
  std::uint64_t next_start_ns_ = 0;
  std::uint64_t out_of_reach_since_ns_ = 0;
  std::uint64_t pause_ns_ = pause_ns_initial;
};

}  // namespace hawser::transport::tcp
