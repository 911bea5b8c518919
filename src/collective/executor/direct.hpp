// DirectRunner: carries out a process's blocking collectives.
// DirectRun:    one such call, carried out step by step.
//
// Ownership: a run lives on the caller's stack; it owns the temporaries of the call. A runner
//            belongs to the Process.
// Threads:   a run is used by the calling thread alone, a runner by any.
// Invariant: after the first error the remaining steps still run, so that no other process waits
//            for a message of this one in vain; finish() returns that first error.
#pragma once

#include <optional>
#include <vector>

#include "collective/executor/executor.hpp"
#include "collective/executor/scratch.hpp"
#include "collective/team/teams.hpp"
#include "p2p/engine.hpp"

namespace hawser::collective {

class DirectRunner {
 public:
  /// TEAMS: those of the process; null: collectives consist of messages alone.
  explicit DirectRunner(p2p::Engine& engine, Teams* teams = nullptr)
      : engine_(engine), teams_(teams) {}

  [[nodiscard]] p2p::Engine& engine() const { return engine_; }
  [[nodiscard]] Team* team_of(Comm& comm, int tag) const {
    return teams_ == nullptr ? nullptr : teams_->of(comm, tag);
  }

 private:
  p2p::Engine& engine_;
  Teams* const teams_;
};

class DirectRun {
 public:
  explicit DirectRun(const DirectRunner& runner)
      : runner_(runner), engine_(runner.engine()), visit_(engine_.attendance()) {}
  DirectRun(const DirectRun&) = delete;
  DirectRun& operator=(const DirectRun&) = delete;

  void join(Comm&) {}
  void send(const ConstBuffer& buffer, const p2p::Envelope& envelope);
  void recv(const Buffer& buffer, const p2p::Envelope& envelope);
  void wait() {
    if (!pending_.empty()) wait_for_pending();
  }
  void reduce(const void* in, void* inout, Count count, Datatype& type, Op& op) {
    op.apply(in, inout, count, type);
  }
  void copy(const ConstBuffer& from, const Buffer& to);
  void call(const Call& call) { note(call()); }
  void fail(Error error);
  std::byte* temporary(Count bytes) { return scratch_.allocate(bytes); }
  [[nodiscard]] bool is_oversubscribed(Comm& comm) const {
    return engine_.is_oversubscribed_for(comm);
  }
  [[nodiscard]] bool do_peers_cost(Comm& comm) const { return engine_.do_peers_cost_for(comm); }
  void seek_team(Comm& comm, int tag) { team_ = runner_.team_of(comm, tag); }
  [[nodiscard]] Team* team() const { return team_; }

  /// Completes what is in flight; the end of the call.
  Result<void> finish();

 private:
  void wait_for_pending();
  void note(Result<void> result);

  const DirectRunner& runner_;
  p2p::Engine& engine_;
  const p2p::Attendance::Visit visit_;
  Team* team_ = nullptr;
  std::vector<Ref<Request>> pending_;
  std::optional<Error> error_;
  Scratch<1024> scratch_;
};

using DirectExecutor = BasicExecutor<DirectRun>;

}  // namespace hawser::collective
