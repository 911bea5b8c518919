#include "collective/executor/plan_runner.hpp"

#include <algorithm>
#include <utility>

#include "collective/executor/local_step.hpp"

namespace hawser::collective {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

bool PlanRun::advance() {
  if (taken_.test_and_set(std::memory_order_acquire)) return false;
  const bool moved = !is_complete() && run_steps();
  taken_.clear(std::memory_order_release);
  return moved;
}

bool PlanRun::run_steps() {
  const auto& steps = plan_->steps();
  const std::size_t before = next_step_;
  for (; next_step_ < steps.size(); ++next_step_) {
    if (std::holds_alternative<WaitStep>(steps[next_step_])) {
      if (is_blocked()) return next_step_ != before;
    } else {
      run(steps[next_step_]);
    }
  }
  finish();
  return true;
}

bool PlanRun::is_blocked() {
  const auto open = std::find_if(pending_.begin(), pending_.end(),
                                 [](const auto& request) { return !request->is_complete(); });
  for (auto done = pending_.begin(); done != open; ++done) {
    if (const Error* error = (*done)->error()) note(*error);
  }
  pending_.erase(pending_.begin(), open);
  return !pending_.empty();
}

void PlanRun::run(const Step& step) {
  const auto keep = [this](Result<Ref<Request>> request) {
    if (!request.ok()) return note(request.take_error());
    if (*request) pending_.push_back(std::move(*request));
  };
  const auto check = [this](Result<void> result) {
    if (!result.ok()) note(result.take_error());
  };
  std::visit(
      Overloaded{
          [&](const SendStep& send) { keep(start_send(engine_, send.buffer, send.envelope)); },
          [&](const ReceiveStep& receive) {
            keep(engine_.irecv(receive.buffer, receive.envelope));
          },
          [](const WaitStep&) {},
          [](const ReduceStep& reduce) {
            reduce.op->apply(reduce.in, reduce.inout, reduce.count, *reduce.type);
          },
          [&](const CopyStep& copy) { check(copy_items(copy.from, copy.to)); },
          [&](const Call& call) { check(call()); },
      },
      step);
}

void PlanRun::finish() {
  if (first_error_) fail(std::move(*first_error_));
  set_complete();
  engine_.notify();
}

void PlanRun::note(Error error) {
  if (!first_error_) first_error_ = std::move(error);
}

PlanRunner::PlanRunner(p2p::Engine& engine) : engine_(engine) { engine_.add_source(*this); }
PlanRunner::~PlanRunner() { engine_.remove_source(*this); }

Result<Ref<Request>> PlanRunner::start(Ref<const Plan> plan) {
  if (plan->error() != nullptr) return *plan->error();
  auto run = base::make_ref<PlanRun>(engine_, std::move(plan));
  run->advance();
  if (!run->is_complete()) {
    const std::lock_guard lock(mutex_);
    runs_.push_back(run);
    set_idle(runs_.empty());
  }
  return Ref<Request>(std::move(run));
}

bool PlanRunner::advance(p2p::UserCode user_code) {
  bool moved = false;
  // By index, the lock given back in between: a run may start others. One that is skipped because
  // an earlier one was forgotten has its turn in the next round, which `moved` brings about.
  for (std::size_t i = 0; const Ref<PlanRun> run = at(i); ++i) {
    if (user_code == p2p::UserCode::deferred && run->calls_user_code()) continue;
    moved |= run->advance();
    if (run->is_complete()) forget(*run);
  }
  return moved;
}

Ref<PlanRun> PlanRunner::at(std::size_t index) {
  const std::lock_guard lock(mutex_);
  return index < runs_.size() ? runs_[index] : nullptr;
}

void PlanRunner::forget(const PlanRun& run) {
  Ref<PlanRun> last_reference;  // dropped after the lock: it may free much
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(runs_.begin(), runs_.end(), [&](const auto& one) { return one.get() == &run; });
  if (found == runs_.end()) return;
  last_reference = std::move(*found);
  runs_.erase(found);
  set_idle(runs_.empty());
}

}  // namespace hawser::collective
