// SimConnection: what one process has of a connection with one peer: the handshake, carried out
// over simulated datagrams, its queue pair, and the fast paths that stand upon it, one each way.
//
// Ownership: a part of a link of the simulated transport, whose channels it brings and takes.
// Threads:   one.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "channel/policy/policy.hpp"
#include "sim/network.hpp"
#include "transport/transport.hpp"
#include "transport/verbs/handshake.hpp"

namespace hawser::sim {

class SimLink;

/// How much a process has of what is limited. One more than the limit fails the simulation.
class Holdings {
 public:
  struct Holding {
    const char* name;
    std::int64_t held_max;
    std::int64_t held = 0;
  };

  Holdings(Scheduler& scheduler, const channel::PolicySettings& limits)
      : connections{"connections", limits.connections_max},
        fast_paths{"fast paths", limits.fast_paths_max},
        granted_fast_paths{"granted fast paths", limits.fast_paths_max},
        scheduler_(scheduler) {}

  void take(Holding& holding) {
    if (++holding.held > holding.held_max)
      scheduler_.fail(fmt::format("it has {} {}, but may have {}", holding.held, holding.name,
                                  holding.held_max));
  }
  static void drop(Holding& holding) { --holding.held; }

  Holding connections;
  Holding fast_paths;
  Holding granted_fast_paths;
  std::size_t restless = 0;              // handshakes between questions and answers
  std::vector<SimLink*> abandoned = {};  // that are to tell what became of their operations

 private:
  Scheduler& scheduler_;
};

class SimConnection {
 public:
  using PairNumber = Connections::PairNumber;

  SimConnection(Network& network, transport::Sink& sink, SimLink& link, Holdings& holdings,
                std::uint32_t self, std::uint32_t peer)
      : network_(network),
        sink_(sink),
        link_(link),
        holdings_(holdings),
        self_(self),
        peer_(peer),
        handshake_(self, peer) {}
  ~SimConnection() {
    is_closing_ = true;
    forget();
  }
  SimConnection(const SimConnection&) = delete;
  SimConnection& operator=(const SimConnection&) = delete;

  /// Begins to connect.
  void ask();
  /// Begins to end it; its channels are gone at once.
  void give_back();
  void ask_for_fast_path();
  void give_back_fast_path();
  void recall_fast_path() { tell(Parcel::recall); }
  /// What it carries may be lost.
  void break_now() {
    if (is_open()) network_.connections().cut(pair_);
  }

  /// Frames can be sent by it.
  [[nodiscard]] bool is_open() const;
  [[nodiscard]] PairNumber pair() const { return pair_; }
  /// What was sent by PAIR will arrive.
  [[nodiscard]] bool carries(PairNumber pair) const { return pair == pair_ && !is_broken_; }

  /// False: no room now.
  bool start(const transport::Operation& operation);

  // From inside progress():
  void on_letter(std::span<const std::byte> letter);
  /// Whether ARRIVAL came by this connection, and not by one that has ended.
  bool takes(const Arrival& arrival);
  void on_broken(PairNumber pair);
  /// Operations that have ended are told of.
  void report_operations() { report(network_.connections().take_ended(pair_)); }
  /// What the peer says of a fast path.
  void on_notice(Parcel parcel);
  /// Repeats what was not answered, and ends what has drained; true if there was something.
  bool serve();
  [[nodiscard]] std::uint64_t deadline_ns() const;
  /// The peer is gone, and with it all of this.
  void forget();
  /// The same, from anywhere: what became of operations is told by report_abandoned().
  void abandon();
  void report_abandoned() { report(std::exchange(unreported_, {})); }

 private:
  using Handshake = transport::verbs::Handshake;

  [[nodiscard]] std::uint64_t now_ns() const { return network_.scheduler().now_ns(); }
  void carry_out(const Handshake::Outcome& outcome, PairNumber peers);
  void carry_out(const Handshake::Outcome& outcome) { carry_out(outcome, Connections::none); }
  void make_pair();
  void drop_pair();
  void connect(PairNumber peers);
  void open();
  void close_channels();
  void close_fast_path();
  void end_all();
  void end();
  void tell(Parcel parcel);
  void report(const std::vector<Connections::EndedOperation>& ended);
  void on_fast_path_asked();
  void on_fast_path_granted();
  void on_fast_path_refused();
  void on_fast_path_given_back();
  void note_rest();
  [[nodiscard]] bool has_drained() const {
    return is_draining_ && (is_broken_ || network_.connections().is_idle(pair_));
  }

  Network& network_;
  transport::Sink& sink_;
  SimLink& link_;
  Holdings& holdings_;
  const std::uint32_t self_;
  const std::uint32_t peer_;
  Handshake handshake_;
  PairNumber pair_ = Connections::none;
  bool is_connected_ = false;  // the queue pair
  bool is_draining_ = false;   // no new sends, but what was sent is still on its way
  bool is_broken_ = false;
  bool is_restless_ = false;
  std::vector<Connections::EndedOperation> unreported_;
  bool is_closing_ = false;          // the sink hears nothing more
  bool fast_path_is_asked_ = false;  // and not answered yet
};

}  // namespace hawser::sim
