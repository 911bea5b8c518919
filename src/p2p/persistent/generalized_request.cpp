#include "p2p/persistent/generalized_request.hpp"

#include <fmt/format.h>

namespace hawser::p2p {
namespace {

Result<void> result_of(int code, const char* function) {
  if (code == 0) return {};
  return core::Error::from_code(
      code, fmt::format("the {} function of the generalized request returned error code {}",
                        function, code));
}

}  // namespace

Result<void> GeneralizedRequest::end(unsigned event) {
  const unsigned before = events_.fetch_or(event, std::memory_order_acq_rel);
  if ((before | event) != (completed | detached)) return {};
  return result_of(callbacks_.free(), "free");
}

Result<void> GeneralizedRequest::complete() {
  // The user may wait for the request and free it as soon as it is complete.
  const Ref<GeneralizedRequest> keep = Ref<GeneralizedRequest>::share(this);
  if ((events_.load(std::memory_order_relaxed) & completed) != 0) {
    return core::Error(core::ErrorClass::request, "the generalized request is complete already");
  }
  Result<void> result = end(completed);
  set_complete();
  engine_.notify();
  return result;
}

Result<void> GeneralizedRequest::cancel() {
  return result_of(callbacks_.cancel(is_complete()), "cancel");
}

void GeneralizedRequest::finish_status(Status& status) {
  const int code = callbacks_.query(status);
  if (code != 0) status.error = code;
}

}  // namespace hawser::p2p
