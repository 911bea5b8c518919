// Requests (MPI-5.0 §3.7, §3.9, §13.2): completing, starting, cancelling and freeing them.
#include <fmt/format.h>

#include <vector>

#include "binding/calls/show.hpp"
#include "binding/generated/point_to_point.hpp"
#include "p2p/completion/completion.hpp"
#include "p2p/persistent/generalized_request.hpp"

namespace hawser::calls {

using core::Request;

namespace {

std::vector<core::Status> room_for(const StatusArray& statuses, std::size_t count) {
  return std::vector<core::Status>(statuses.is_ignored() ? 0 : count);
}

/// Whether a request that was handed out keeps its handle.
bool keeps_handle(const Request& request) { return request.is_persistent(); }

void take_if_done(const HandleInOut<Request>& request, const Result<void>& result) {
  if (request.get() == nullptr || keeps_handle(*request) || p2p::is_left_active(result)) return;
  request.take();
}

void show_statuses(const StatusArray& out, const std::vector<core::Status>& statuses,
                   std::size_t count, bool with_errors) {
  if (out.is_ignored()) return;
  for (std::size_t i = 0; i < count; ++i) {
    out.set(static_cast<Count>(i), statuses[i]);
    if (with_errors) out.set_error(static_cast<Count>(i), statuses[i].error);
  }
}

}  // namespace

Result<void> wait(Runtime& runtime, HandleInOut<Request> request, StatusOut status) {
  core::Status done;
  Result<void> result = p2p::wait(engine(runtime), request.get(), &done);
  status.set(done);
  take_if_done(request, result);
  return result;
}

Result<void> test(Runtime& runtime, HandleInOut<Request> request, int& flag, StatusOut status) {
  core::Status done;
  p2p::TestOutcome outcome = p2p::test(engine(runtime), request.get(), &done);
  flag = outcome.flag ? 1 : 0;
  if (!outcome.flag) return std::move(outcome.result);
  status.set(done);
  take_if_done(request, outcome.result);
  return std::move(outcome.result);
}

Result<void> waitall(Runtime& runtime, RequestArray& requests, StatusArray statuses) {
  // Nothing is to be waited for, and their statuses are empty.
  requests.drop(engine(runtime).sent_request());
  std::vector<core::Status> done = room_for(statuses, requests.size());
  p2p::AllOutcome outcome = p2p::wait_all(engine(runtime), requests.objects(), done);
  if (!outcome.result.ok()) requests.blame(outcome.failed);
  show_statuses(statuses, done, requests.size(), !outcome.result.ok());
  requests.take_handed_out();
  return std::move(outcome.result);
}

Result<void> testall(Runtime& runtime, RequestArray& requests, int& flag, StatusArray statuses) {
  std::vector<core::Status> done = room_for(statuses, requests.size());
  p2p::AllOutcome outcome = p2p::test_all(engine(runtime), requests.objects(), done);
  flag = outcome.flag ? 1 : 0;
  if (!outcome.flag) return std::move(outcome.result);
  if (!outcome.result.ok()) requests.blame(outcome.failed);
  show_statuses(statuses, done, requests.size(), !outcome.result.ok());
  requests.take_handed_out();
  return std::move(outcome.result);
}

Result<void> waitany(Runtime& runtime, RequestArray& requests, int& index, StatusOut status) {
  core::Status done;
  p2p::AnyOutcome outcome = p2p::wait_any(engine(runtime), requests.objects(), &done);
  index = outcome.index;
  status.set(done);
  if (!outcome.result.ok()) requests.blame(outcome.index);
  requests.take_handed_out();
  return std::move(outcome.result);
}

Result<void> testany(Runtime& runtime, RequestArray& requests, int& index, int& flag,
                     StatusOut status) {
  core::Status done;
  p2p::AnyOutcome outcome = p2p::test_any(engine(runtime), requests.objects(), &done);
  flag = outcome.flag ? 1 : 0;
  index = outcome.index;
  if (outcome.flag) status.set(done);
  if (!outcome.result.ok()) requests.blame(outcome.index);
  requests.take_handed_out();
  return std::move(outcome.result);
}

namespace {

Result<void> show_some(p2p::SomeOutcome outcome, const RequestArray& requests, int& outcount,
                       const StatusArray& statuses, const std::vector<core::Status>& done) {
  outcount = outcome.count;
  if (!outcome.result.ok()) requests.blame(outcome.failed);
  if (outcome.count > 0)
    show_statuses(statuses, done, static_cast<std::size_t>(outcome.count), !outcome.result.ok());
  requests.take_handed_out();
  return std::move(outcome.result);
}

}  // namespace

Result<void> waitsome(Runtime& runtime, RequestArray& requests, int& outcount,
                      std::span<int> indices, StatusArray statuses) {
  std::vector<core::Status> done = room_for(statuses, requests.size());
  return show_some(p2p::wait_some(engine(runtime), requests.objects(), indices, done), requests,
                   outcount, statuses, done);
}

Result<void> testsome(Runtime& runtime, RequestArray& requests, int& outcount,
                      std::span<int> indices, StatusArray statuses) {
  std::vector<core::Status> done = room_for(statuses, requests.size());
  return show_some(p2p::test_some(engine(runtime), requests.objects(), indices, done), requests,
                   outcount, statuses, done);
}

Result<void> request_get_status(Runtime& runtime, Request* request, int& flag, StatusOut status) {
  core::Status done;
  p2p::TestOutcome outcome = p2p::get_status(engine(runtime), request, &done);
  flag = outcome.flag ? 1 : 0;
  if (outcome.flag) status.set(done);
  return std::move(outcome.result);
}

Result<void> request_get_status_all(Runtime& runtime, std::span<Request* const> requests, int& flag,
                                    StatusArray statuses) {
  std::vector<core::Status> done = room_for(statuses, requests.size());
  p2p::AllOutcome outcome = p2p::get_status_all(engine(runtime), requests, done);
  flag = outcome.flag ? 1 : 0;
  if (outcome.flag) show_statuses(statuses, done, requests.size(), !outcome.result.ok());
  return std::move(outcome.result);
}

Result<void> request_get_status_any(Runtime& runtime, std::span<Request* const> requests,
                                    int& index, int& flag, StatusOut status) {
  core::Status done;
  p2p::AnyOutcome outcome = p2p::get_status_any(engine(runtime), requests, &done);
  flag = outcome.flag ? 1 : 0;
  index = outcome.index;
  if (outcome.flag) status.set(done);
  return std::move(outcome.result);
}

Result<void> request_get_status_some(Runtime& runtime, std::span<Request* const> requests,
                                     int& outcount, std::span<int> indices, StatusArray statuses) {
  std::vector<core::Status> done = room_for(statuses, requests.size());
  p2p::SomeOutcome outcome = p2p::get_status_some(engine(runtime), requests, indices, done);
  outcount = outcome.count;
  if (outcome.count > 0)
    show_statuses(statuses, done, static_cast<std::size_t>(outcome.count), !outcome.result.ok());
  return std::move(outcome.result);
}

Result<void> start(Runtime&, HandleInOut<Request> request) { return request->start(); }

Result<void> startall(Runtime&, RequestArray& requests) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request* const request = requests.objects()[i];
    Result<void> started =
        request != nullptr
            ? request->start()
            : base::Error(base::ErrorClass::request, fmt::format("request {} is the null one", i));
    if (started.ok()) continue;
    requests.blame(static_cast<int>(i));
    return started;
  }
  return {};
}

Result<void> cancel(Runtime& runtime, Request& request) {
  const p2p::LaneLock lock(engine(runtime));
  return request.cancel();
}

Result<void> request_free(Runtime&, HandleInOut<Request> request) {
  // The operation goes on; the backend holds what it needs of the request.
  const Ref<Request> freed = request.take();
  return freed->detach();
}

Result<void> grequest_start(Runtime& runtime, MPI_Grequest_query_function* query_fn,
                            MPI_Grequest_free_function* free_fn,
                            MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                            HandleOut<Request> request) {
  p2p::GeneralizedCallbacks callbacks;
  callbacks.query = [query_fn, extra_state](core::Status& status) {
    MPI_Status shown{};
    write_status(status, shown);
    const int code = query_fn(extra_state, &shown);
    const int error = status.error;
    status = read_status(shown);
    status.error = error;
    return code;
  };
  callbacks.free = [free_fn, extra_state] { return free_fn(extra_state); };
  callbacks.cancel = [cancel_fn, extra_state](bool complete) {
    return cancel_fn(extra_state, complete ? 1 : 0);
  };
  request.set(base::make_ref<p2p::GeneralizedRequest>(engine(runtime), std::move(callbacks)));
  return {};
}

Result<void> grequest_complete(Runtime&, Request& request) {
  if (request.kind() != core::RequestKind::generalized)
    return base::Error(base::ErrorClass::request, "the request was not made by MPI_Grequest_start");
  return static_cast<p2p::GeneralizedRequest&>(request).complete();
}

}  // namespace hawser::calls
