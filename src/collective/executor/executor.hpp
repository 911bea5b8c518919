// Executor: what algorithms are written against. One algorithm text serves two ways of running:
//
//   DirectExecutor     carries every step out at once and blocks in wait() (direct.hpp);
//   RecordingExecutor  writes the steps down as an immutable Plan, which is run by progress
//                      without blocking (plan.hpp, plan_runner.hpp).
//
// An executor is a small value: a run that does the work, and the communicator and tag that its
// messages carry. on() gives the same run on another communicator, for intercommunicators.
//
// Rules for algorithms: steps and their addresses must depend on arguments only, never on data;
// what send(), recv() and reduce() name stays untouched until wait(); between two processes,
// messages are received in the order in which they are sent.
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "collective/arguments.hpp"

namespace hawser::collective {

class Team;  // team/team.hpp

/// A step of the caller's own, run in its place among the others, without any lock held.
using Call = std::function<Result<void>()>;

template <class T>
concept Run = requires(T run, Comm& comm, const ConstBuffer& from, const Buffer& to,
                       const p2p::Envelope& envelope, Call call, Op& op, Datatype& type) {
  run.join(comm);
  run.send(from, envelope);
  run.recv(to, envelope);
  run.wait();
  run.reduce(nullptr, nullptr, Count{}, type, op);
  run.copy(from, to);
  run.call(std::move(call));
  run.fail(std::declval<Error>());
  { run.temporary(Count{}) } -> std::same_as<std::byte*>;
  { run.is_oversubscribed(comm) } -> std::convertible_to<bool>;
  { run.do_peers_cost(comm) } -> std::convertible_to<bool>;
  run.seek_team(comm, int{});
  { run.team() } -> std::same_as<Team*>;
};

template <Run R>
class BasicExecutor {
 public:
  /// Draws the tag of one collective call: to be made by all members, in the same order.
  BasicExecutor(R& run, Comm& comm) : run_(&run), comm_(&comm), tag_(comm.next_collective_tag()) {
    run.join(comm);
  }
  [[nodiscard]] BasicExecutor on(Comm& other) const { return BasicExecutor(*run_, other); }

  [[nodiscard]] Comm& comm() const { return *comm_; }
  [[nodiscard]] int rank() const { return comm_->rank(); }
  [[nodiscard]] int size() const { return comm_->size(); }
  // Of which all members think alike.
  [[nodiscard]] bool is_oversubscribed() const { return run_->is_oversubscribed(*comm_); }
  [[nodiscard]] bool do_peers_cost() const { return run_->do_peers_cost(*comm_); }
  /// To be made by all members, once a call and before its first message: finds the team of the
  /// communicator. A plan has none: it must not block.
  void seek_team() { run_->seek_team(*comm_, tag_); }
  [[nodiscard]] Team* team() const { return run_->team(); }

  /// Start a message to or from PEER; it is complete after the next wait().
  void send(const ConstBuffer& buffer, int peer) { run_->send(buffer, envelope(peer)); }
  void recv(const Buffer& buffer, int peer) { run_->recv(buffer, envelope(peer)); }
  /// All messages that were started so far.
  void wait() { run_->wait(); }
  /// inout[i] = in[i] op inout[i]
  void reduce(const void* in, void* inout, Count count, Datatype& type, Op& op) {
    if (count > 0) run_->reduce(in, inout, count, type, op);
  }
  /// Between any two layouts of equal signature.
  void copy(const ConstBuffer& from, const Buffer& to) { run_->copy(from, to); }
  /// FUNCTION returns Result<void>, or nothing.
  template <class Function>
  void call(Function function) {
    if constexpr (std::is_void_v<std::invoke_result_t<Function&>>) {
      run_->call([function = std::move(function)]() mutable -> Result<void> {
        function();
        return {};
      });
    } else {
      run_->call(std::move(function));
    }
  }
  /// Uninitialised memory for as long as the operation lasts.
  [[nodiscard]] std::byte* temporary(Count bytes) { return run_->temporary(bytes); }
  /// The operation ends with ERROR, unless an earlier one comes first.
  void fail(Error error) { run_->fail(std::move(error)); }

 private:
  [[nodiscard]] p2p::Envelope envelope(int peer) const {
    return {comm_, peer, tag_, core::Traffic::collective};
  }

  R* run_;
  Comm* comm_;
  int tag_;
};

}  // namespace hawser::collective
