// Completion: waits and tests for one, any, some or all of several requests (MPI-5.0 §3.7.3 to
// §3.7.6).
//
// Requests are borrowed from the user's handles. Null ones (MPI_REQUEST_NULL) and inactive ones are
// ignored. A request that is handed out gets its final status, becomes inactive if it is persistent
// and is detached if not; in an array it is then replaced by null, as its handle must be.
// A receive from any source that was interrupted by a death (MPIX_ERR_PROC_FAILED_PENDING) ends a
// wait or test but is not handed out: it stays active.
// Threads: any number, each with requests of its own.
// Errors:  of the requests. MPI_ERR_IN_STATUS says that they stand in the statuses, each of which
//          then has its own code, success or MPI_ERR_PENDING.
#pragma once

#include <span>

#include "p2p/engine.hpp"

namespace hawser::p2p {

/// MPI_UNDEFINED: no request in the array is active.
inline constexpr int undefined = -32766;

/// What a wait or test says of a request that it did not hand out, and which stays active.
inline bool is_left_active(const Result<void>& result) {
  return !result.ok() &&
         result.error().code() == static_cast<int>(base::ErrorClass::proc_failed_pending);
}

/// Of a single request. *status (may be null) is empty if there was nothing to complete.
Result<void> wait(Engine& engine, Request* request, Status* status);

struct TestOutcome {
  bool flag = false;
  Result<void> result;
};
TestOutcome test(Engine& engine, Request* request, Status* status);
/// MPI_Request_get_status: tells, but hands nothing out.
TestOutcome get_status(Engine& engine, Request* request, Status* status);

struct AnyOutcome {
  bool flag = false;      // a request is complete, or none is active
  int index = undefined;  // of that request
  Result<void> result;
};
AnyOutcome wait_any(Engine& engine, std::span<Request*> requests, Status* status);
AnyOutcome test_any(Engine& engine, std::span<Request*> requests, Status* status);
AnyOutcome get_status_any(Engine& engine, std::span<Request* const> requests, Status* status);

struct SomeOutcome {
  int count = undefined;   // of complete requests
  int failed = undefined;  // index of the first one with an error
  Result<void> result;
};
/// The indices of complete requests and their statuses go to the first `count` places of INDICES
/// (as long as REQUESTS) and STATUSES (likewise, or empty: ignored).
SomeOutcome wait_some(Engine& engine, std::span<Request*> requests, std::span<int> indices,
                      std::span<Status> statuses);
SomeOutcome test_some(Engine& engine, std::span<Request*> requests, std::span<int> indices,
                      std::span<Status> statuses);
SomeOutcome get_status_some(Engine& engine, std::span<Request* const> requests,
                            std::span<int> indices, std::span<Status> statuses);

struct AllOutcome {
  bool flag = false;       // all are complete; if not, statuses are untouched
  int failed = undefined;  // index of the first one with an error
  Result<void> result;
};
/// Waits for all, whatever became of some; but no longer once a peer has died, since the others may
/// be waiting for it too: what is not complete then is pending, and keeps its place in REQUESTS.
/// STATUSES: as long as REQUESTS, or empty: ignored.
AllOutcome wait_all(Engine& engine, std::span<Request*> requests, std::span<Status> statuses);
AllOutcome test_all(Engine& engine, std::span<Request*> requests, std::span<Status> statuses);
AllOutcome get_status_all(Engine& engine, std::span<Request* const> requests,
                          std::span<Status> statuses);

}  // namespace hawser::p2p
