// Connections: the queue pairs of all simulated processes, what is on its way between two that are
// connected, and how a connection breaks.
//
// Nothing is lost or overtaken by its like while a connection lives. One that breaks loses all that
// is on its way, both ways; who sends by it hears of that after a while, who does not may never. A
// queue pair that sends to one that is gone breaks, too.
//
// Ownership: a part of the Network; queue pairs are known by numbers that are never used again.
// Threads:   one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/random.hpp"
#include "transport/transport.hpp"

namespace hawser::sim {

using transport::ChannelKind;

class Network;
struct Arrival;
struct NetworkSettings;

class Connections {
 public:
  using PairNumber = std::uint32_t;
  static constexpr PairNumber none = 0;

  Connections(Network& network, std::uint64_t seed) : network_(network), random_(seed, 4) {}

  /// A queue pair of OWNER for a connection with PEER.
  PairNumber make(std::uint32_t owner, std::uint32_t peer);
  /// PAIR of this side sends to and takes from PEERS.
  void connect(PairNumber pair, PairNumber peers);
  /// The owner begins to send by PAIR.
  void open(PairNumber pair);
  void destroy(PairNumber pair);

  /// Whether a frame sent by PAIR finds room; if not, its owner is woken when it may.
  bool claim_room(PairNumber pair);
  /// The receiver is done with a frame that PAIR had sent.
  void free_room(PairNumber pair);
  /// Sends ARRIVAL, for which room was claimed if it is a frame, by an open PAIR.
  void send(PairNumber pair, Arrival arrival);

  // Operations on memory (operations.cpp).

  struct EndedOperation {
    std::uint64_t token;
    bool was_done;
  };
  /// Starts OPERATION by an open PAIR, whose owner hears when it has ended.
  void start(PairNumber pair, const transport::Operation& operation);
  /// Those of PAIR that have ended and were not taken yet.
  std::vector<EndedOperation> take_ended(PairNumber pair);
  /// The same, and all others, which were not done as far as the owner knows.
  std::vector<EndedOperation> end_operations(PairNumber pair);
  /// Nothing of what the peer of PAIR has started copies anything any more.
  void stop(PairNumber pair);

  /// The connection of PAIR ends for both sides.
  void cut(PairNumber pair);
  /// All those with an end at PORT that are open; what is not yet hears nothing of it.
  void cut_all_of(std::uint32_t port);

  /// Nothing that was sent by PAIR is on its way.
  [[nodiscard]] bool is_idle(PairNumber pair) const;

  /// What is wrong once all handshakes have come to rest: both sides of every connection must know
  /// of it. Empty: nothing.
  [[nodiscard]] std::string disagreement() const;

 private:
  struct Running {
    enum class Stage : std::uint8_t { under_way, cut, copied, ended };
    transport::Operation operation;
    Stage stage;
  };
  struct QueuePair {
    std::uint32_t owner;
    std::uint32_t peer_process;
    PairNumber peer = none;
    bool is_open = false;
    bool is_broken = false;
    bool is_told = false;  // the owner hears that it is broken, or will
    std::uint32_t on_their_way = 0;
    std::size_t slots_used = 0;
    std::array<std::uint64_t, transport::channel_kind_count + 1> last_arrival_ns{};
    std::vector<Running> operations{};
  };

  QueuePair* find(PairNumber pair);
  [[nodiscard]] const QueuePair* find(PairNumber pair) const;
  [[nodiscard]] std::uint64_t arrival_ns(QueuePair& sender, const Arrival& arrival);
  void deliver(PairNumber from, Arrival arrival);
  /// What is sent now, for DELAY_NS, may be the last.
  void maybe_break(PairNumber pair, std::uint64_t delay_ns);
  void mark_broken(PairNumber pair, QueuePair& queue_pair);
  static Running* find_running(QueuePair& owner, std::uint64_t token);
  QueuePair* reach(PairNumber pair, const QueuePair& queue_pair);
  void carry_out(PairNumber pair, std::uint64_t token);
  void finish(PairNumber pair, std::uint64_t token);
  void cut_operations(PairNumber pair, QueuePair& queue_pair);
  void tell(PairNumber pair, QueuePair& queue_pair);

  Network& network_;
  Random random_;
  std::map<PairNumber, QueuePair> pairs_;
  PairNumber last_ = none;
};

}  // namespace hawser::sim
