#include <memory>
#include <utility>

#include "comm_ops/assemble.hpp"
#include "comm_ops/comm_factory.hpp"
#include "comm_ops/groups.hpp"

namespace hawser::comm_ops {
namespace {

/// What a duplicate takes over. Made when the user calls, as the standard demands of idup too.
class Copies {
 public:
  Copies(Comm& parent, Info* info) : result_(parent.attributes().copy_to(parent, attributes_)) {
    const Info* const hints = info != nullptr ? info : parent.info();
    if (hints != nullptr) info_ = hints->duplicate();
  }
  /// What the attributes' callbacks said.
  [[nodiscard]] const Result<void>& result() const { return result_; }
  void move_to(Comm& duplicate) {
    duplicate.attributes() = std::move(attributes_);
    duplicate.set_info(std::move(info_));
  }

 private:
  core::AttributeSet attributes_;
  Ref<Info> info_;
  Result<void> result_;
};

Result<Ref<Comm>> make_duplicate(const Comm& parent, Told<Numbers> told, Copies& copies) {
  const Side ours{share(parent.group()), std::move(told.ours)};
  const Side theirs{share(parent.peer_group()), std::move(told.theirs)};
  Result<Ref<Comm>> comm = make_child(parent, ours, theirs, parent.rank());
  if (comm.ok()) copies.move_to(**comm);
  return comm;
}

}  // namespace

// In both, a process whose callback failed still takes part in the exchange: the others wait for
// it.

Result<Ref<Comm>> CommFactory::dup(Comm& parent, Info* info) {
  Copies copies(parent, info);
  Result<Told<Numbers>> told = tell_all(engine_, parent, take_numbers(parent.is_inter()));
  if (!copies.result().ok()) return Error(copies.result().error());
  if (!told.ok()) return told.take_error();
  return make_duplicate(parent, std::move(*told), copies);
}

Result<Ref<Request>> CommFactory::idup(Comm& parent, Info* info,
                                       std::function<void(Ref<Comm>)> result) {
  struct State {
    Copies copies;
    Told<Numbers> told;
  };
  const auto state = std::make_shared<State>(
      State{Copies(parent, info), Told<Numbers>(parent, take_numbers(parent.is_inter()))});
  collective::PlanBuilder plan = plans_.builder();
  add_exchange(plan, parent, state->told);
  plan.wait();
  plan.call([state, &parent, result = std::move(result)]() -> Result<void> {
    if (!state->copies.result().ok()) return {};
    Result<Ref<Comm>> comm = make_duplicate(parent, std::move(state->told), state->copies);
    if (!comm.ok()) return comm.take_error();
    result(std::move(*comm));
    return {};
  });
  Result<Ref<Request>> request = plans_.start(plan.finish());
  if (!state->copies.result().ok()) return Error(state->copies.result().error());
  return request;
}

}  // namespace hawser::comm_ops
