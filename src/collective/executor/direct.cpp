#include "collective/executor/direct.hpp"

#include "collective/executor/local_step.hpp"

namespace hawser::collective {

void DirectRun::send(const ConstBuffer& buffer, const p2p::Envelope& envelope) {
  auto request = start_send(engine_, buffer, envelope);
  if (!request.ok()) return fail(request.take_error());
  if (*request) pending_.push_back(std::move(*request));
}

void DirectRun::recv(const Buffer& buffer, const p2p::Envelope& envelope) {
  auto request = engine_.irecv(buffer, envelope);
  if (!request.ok()) return fail(request.take_error());
  pending_.push_back(std::move(*request));
}

void DirectRun::wait_for_pending() {
  std::size_t first_open = 0;
  engine_.wait_until([&] {
    while (first_open < pending_.size() && pending_[first_open]->is_complete()) ++first_open;
    return first_open == pending_.size();
  });
  for (const auto& request : pending_) {
    if (const Error* error = request->error()) fail(*error);
  }
  pending_.clear();
}

void DirectRun::copy(const ConstBuffer& from, const Buffer& to) { note(copy_items(from, to)); }

void DirectRun::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void DirectRun::note(Result<void> result) {
  if (!result.ok()) [[unlikely]]
    fail(result.take_error());
}

Result<void> DirectRun::finish() {
  wait();
  // What the steps found after that means nothing.
  if (team_ != nullptr && team_->has_left()) [[unlikely]]
    return team_->reason();
  if (error_) return std::move(*error_);
  return {};
}

}  // namespace hawser::collective
