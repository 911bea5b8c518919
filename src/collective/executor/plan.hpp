// Plan: the steps of one collective call of this process, written down.
//
// Ownership: a plan keeps its communicators, types, operations and temporaries alive. User buffers
//            are borrowed until the request of a run completes.
// Threads:   immutable once built. Its temporaries belong to one run at a time.
// Tags:      drawn when the plan is built. Runs of one plan follow one another, and messages with
//            one tag keep their order, so a plan may run again (persistent collectives).
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "collective/executor/executor.hpp"
#include "collective/executor/scratch.hpp"
#include "p2p/engine.hpp"

namespace hawser::collective {

struct SendStep {
  ConstBuffer buffer;
  p2p::Envelope envelope;
};
struct ReceiveStep {
  Buffer buffer;
  p2p::Envelope envelope;
};
struct WaitStep {};
struct ReduceStep {
  const void* in;
  void* inout;
  Count count;
  Datatype* type;
  Op* op;
};
struct CopyStep {
  ConstBuffer from;
  Buffer to;
};
using Step = std::variant<SendStep, ReceiveStep, WaitStep, ReduceStep, CopyStep, Call>;
static_assert(sizeof(Step) <= 64);

class Plan : public base::RefCounted {
 public:
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  /// The communicator of the call, whose error handler its errors go to.
  [[nodiscard]] Comm& comm() const { return *comms_.front(); }
  /// Some of its steps may.
  [[nodiscard]] bool calls_user_code() const { return calls_user_code_; }
  /// Why the call can't be carried out; null if it can.
  [[nodiscard]] const Error* error() const { return error_ ? &*error_ : nullptr; }

 private:
  friend class PlanBuilder;

  std::vector<Step> steps_;
  std::vector<Ref<Comm>> comms_;
  std::vector<Ref<core::Object>> retained_;
  std::optional<Error> error_;
  bool calls_user_code_ = false;
  Scratch<0> scratch_;
};

/// Records a plan. The last step of every plan is a wait.
class PlanBuilder {
 public:
  explicit PlanBuilder(const p2p::Engine& engine) : engine_(engine) {}

  void join(Comm& comm) { plan_->comms_.push_back(Ref<Comm>::share(&comm)); }
  void send(const ConstBuffer& buffer, const p2p::Envelope& envelope);
  void recv(const Buffer& buffer, const p2p::Envelope& envelope);
  void wait();
  void reduce(const void* in, void* inout, Count count, Datatype& type, Op& op);
  void copy(const ConstBuffer& from, const Buffer& to);
  void call(Call call) {
    plan_->calls_user_code_ = true;
    plan_->steps_.emplace_back(std::move(call));
  }
  void fail(Error error);
  std::byte* temporary(Count bytes) { return plan_->scratch_.allocate(bytes); }
  [[nodiscard]] bool is_oversubscribed(Comm& comm) const {
    return engine_.is_oversubscribed_for(comm);
  }
  [[nodiscard]] bool do_peers_cost(Comm& comm) const { return engine_.do_peers_cost_for(comm); }
  void seek_team(Comm&, int) {}
  [[nodiscard]] static Team* team() { return nullptr; }

  /// Gives the plan away; the builder is used up.
  Ref<const Plan> finish();

 private:
  void retain(core::Object& object);

  const p2p::Engine& engine_;
  Ref<Plan> plan_ = base::make_ref<Plan>();
};

using RecordingExecutor = BasicExecutor<PlanBuilder>;

}  // namespace hawser::collective
