// Agreement: the members of a group decide on one value together, whoever of them dies meanwhile.
// A pure state machine: starts, messages and deaths go in, messages and at last a decision come
// out.
//
//   member                               coordinator: the lowest rank that is not known to have
//   died start: contribution  ───────────────►  waits for those of all that live, combines them
//   accepts the proposal ◄───────────────  proposal
//   accepted             ───────────────►  waits for all that live
//   decides              ◄───────────────  decision
//
// When a coordinator dies, the members turn to the next one, and the next one asks all of them.
// Contributions then carry the proposal that was accepted last; the one of the highest coordinator
// is proposed again, so that what a dead coordinator may have decided stays decided. Who has turned
// to a coordinator accepts no proposal of a lower one any more. Who has decided answers whoever
// still asks with the decision.
//
// Assumes that deaths are real, and that all that live learn of each: then whoever decides first
// has made sure that all that live had accepted the same (uniform agreement).
//
// Messages (little-endian; checked before use; n: members; a set has a bit for each, in 64-bit
// words):
//   | kind (32) | ballot (32) | and then:
//   contribution: | value (32) | has_accepted (32) | blob (128) | failed (set) | acknowledged (set)
//   |
//                 if has_accepted is 1: | its ballot (32) | 0 (32) | the decision that was accepted
//                 |
//   question, accepted: nothing
//   proposal, decision: | value (32) | 0 (32) | failed (set) | acknowledged (set) | n blobs (128) |
//
// Ownership: owned by Mitigation, which keeps it for a while after the decision.
// Threads:   the lane lock.
// Bounds:    a message and a contribution for each member.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm_ops/rank_set.hpp"

namespace hawser::comm_ops {

class Agreement {
 public:
  using Blob = std::array<std::uint64_t, 2>;
  /// What a member brings along.
  struct Contribution {
    std::uint32_t value = 0;  // of which the bitwise conjunction is decided
    Blob blob{};              // for all to know
    RankSet failed;           // who has died, as far as it knows; their union is decided
    RankSet acknowledged;     // of them; their intersection is decided
  };
  struct Decision {
    std::uint32_t value = 0;
    RankSet failed;
    RankSet acknowledged;
    std::vector<Blob> blobs;  // by rank; nothing of those that had died
    friend bool operator==(const Decision&, const Decision&) = default;
  };
  struct Message {
    int to;
    std::vector<std::byte> bytes;
  };

  /// Of SIZE members, of which this process is number SELF.
  Agreement(int size, int self);

  /// Messages to this process may have been dropped: if it coordinates, it asks. Before start().
  void note_missed() { has_missed_ = true; }
  /// This process takes part from now on. Once.
  void start(Contribution contribution);
  [[nodiscard]] bool has_started() const { return own_.has_value(); }
  /// FROM must be a rank of the group; BYTES may be anything.
  void on_message(int from, std::span<const std::byte> bytes);
  void on_failed(int rank);
  /// To be sent now, in this order.
  std::vector<Message> take_messages() { return std::exchange(outgoing_, {}); }

  [[nodiscard]] const std::optional<Decision>& decision() const { return decision_; }

 private:
  enum class Kind : std::uint32_t { contribution = 1, question, proposal, accepted, decision };
  struct Accepted {
    int ballot;
    Decision decision;
  };
  struct Heard {
    Contribution contribution;
    std::optional<Accepted> accepted;
  };
  class Writer;
  class Reader;

  /// Whom this process turns to: no one below whom it turned to already.
  [[nodiscard]] int coordinator() const;
  [[nodiscard]] bool lives(int rank) const { return !failed_.has(rank); }
  void turn_to_coordinator();
  void coordinate();
  void propose();
  void finish_if_all_accepted();
  void pass_on(Decision decided);
  void decide(Decision decision);
  [[nodiscard]] Decision combine() const;

  void on_contribution(int from, Reader& reader);
  void on_question(int from);
  void on_proposal(int from, Reader& reader);
  void on_accepted(int from, int ballot);
  void send(int to, Kind kind, int ballot);
  void send_contribution(int to);
  void send_decision(int to, Kind kind, const Decision& decision);
  template <class Send>
  void send_to_others(Send&& send);

  const int size_;
  const int self_;
  RankSet failed_;
  std::optional<Contribution> own_;
  int ballot_ = 0;           // the coordinator whose proposals this process accepts
  bool has_turned_ = false;  // it has its contribution
  std::optional<Accepted> accepted_;
  // Of a coordinator:
  std::vector<std::optional<Heard>> heard_;  // by rank
  bool has_missed_ = false;
  bool has_asked_ = false;
  std::optional<Decision> proposal_;
  RankSet accepters_;

  std::optional<Decision> decision_;
  std::vector<Message> outgoing_;
};

}  // namespace hawser::comm_ops
