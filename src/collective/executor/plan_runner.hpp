// PlanRunner: the nonblocking collectives of a process that are under way.
//
// Progress calls advance(), outside of the lane lock: plans may call user code (reductions, steps
// of comm_ops). A run is advanced by one thread at a time; a thread that finds it taken, or a user
// function that comes back here through an MPI call, passes over it. Where user code is deferred,
// plans that call any rest as a whole.
//
// Ownership: one per Process, outlived by its Engine. A run is kept until it completes.
// Threads:   all calls are thread-safe.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "collective/executor/plan.hpp"
#include "p2p/engine.hpp"

namespace hawser::collective {

/// A run of a plan; the request that the user waits for.
class PlanRun final : public Request {
 public:
  PlanRun(p2p::Engine& engine, Ref<const Plan> plan)
      : Request(core::RequestKind::collective), engine_(engine), plan_(std::move(plan)) {}

  /// Goes on as far as it can without blocking; true if anything happened.
  bool advance();
  [[nodiscard]] bool calls_user_code() const { return plan_->calls_user_code(); }
  [[nodiscard]] Object* error_object() const override { return &plan_->comm(); }

 private:
  bool run_steps();
  bool is_blocked();
  void run(const Step& step);
  void finish();
  void note(Error error);

  p2p::Engine& engine_;
  const Ref<const Plan> plan_;
  std::atomic_flag taken_;
  // Guarded by taken_:
  std::size_t next_step_ = 0;
  std::vector<Ref<Request>> pending_;
  std::optional<Error> first_error_;
};

class PlanRunner final : public p2p::ProgressSource {
 public:
  explicit PlanRunner(p2p::Engine& engine);
  ~PlanRunner() override;
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  [[nodiscard]] p2p::Engine& engine() { return engine_; }
  /// Records a plan for this process.
  [[nodiscard]] PlanBuilder builder() { return PlanBuilder(engine_); }
  /// Begins a run: its first messages are on their way when this returns. The plan's error if it
  /// can't be carried out.
  Result<Ref<Request>> start(Ref<const Plan> plan);
  bool advance(p2p::UserCode user_code) override;

 private:
  Ref<PlanRun> at(std::size_t index);
  void forget(const PlanRun& run);

  p2p::Engine& engine_;
  std::mutex mutex_;
  std::vector<Ref<PlanRun>> runs_;  // guarded by mutex_
};

}  // namespace hawser::collective
