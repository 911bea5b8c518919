#include "collective/executor/plan.hpp"

#include <algorithm>

namespace hawser::collective {

void PlanBuilder::send(const ConstBuffer& buffer, const p2p::Envelope& envelope) {
  retain(*buffer.type);
  plan_->steps_.emplace_back(SendStep{buffer, envelope});
}

void PlanBuilder::recv(const Buffer& buffer, const p2p::Envelope& envelope) {
  retain(*buffer.type);
  plan_->steps_.emplace_back(ReceiveStep{buffer, envelope});
}

void PlanBuilder::wait() {
  if (plan_->steps_.empty() || std::holds_alternative<WaitStep>(plan_->steps_.back())) return;
  plan_->steps_.emplace_back(WaitStep{});
}

void PlanBuilder::reduce(const void* in, void* inout, Count count, Datatype& type, Op& op) {
  retain(type);
  retain(op);
  plan_->calls_user_code_ |= !op.is_predefined();
  plan_->steps_.emplace_back(ReduceStep{in, inout, count, &type, &op});
}

void PlanBuilder::copy(const ConstBuffer& from, const Buffer& to) {
  retain(*from.type);
  retain(*to.type);
  plan_->steps_.emplace_back(CopyStep{from, to});
}

void PlanBuilder::fail(Error error) {
  if (!plan_->error_) plan_->error_ = std::move(error);
}

Ref<const Plan> PlanBuilder::finish() {
  wait();
  return Ref<const Plan>::adopt(plan_.leak());
}

void PlanBuilder::retain(core::Object& object) {
  // Nearly every plan has one or two types and one operation, so looking a few entries back finds
  // them. An object that is kept twice (many types in MPI_Ialltoallw) does no harm.
  constexpr std::ptrdiff_t window = 4;
  auto& kept = plan_->retained_;
  const auto first = kept.end() - std::min<std::ptrdiff_t>(window, std::ssize(kept));
  if (std::any_of(first, kept.end(), [&](const auto& one) { return one.get() == &object; })) return;
  kept.push_back(Ref<core::Object>::share(&object));
}

}  // namespace hawser::collective
