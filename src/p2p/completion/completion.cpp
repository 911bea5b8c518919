#include "p2p/completion/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace hawser::p2p {
namespace {

using base::Error;
using base::ErrorClass;

bool is_waited_for(const Request* request) { return request != nullptr && request->is_active(); }

/// What REQUEST, which is complete, came to.
struct Final {
  Status status;
  Result<void> result;
};

Final look(Request& request) {
  Final out{request.status(), {}};
  request.finish_status(out.status);
  if (out.status.error == 0) [[likely]]
    return out;
  if (request.error() != nullptr) {
    out.result = *request.error();
  } else {
    out.result = Error::from_code(
        out.status.error,
        fmt::format("the query function of the generalized request returned error code {}",
                    out.status.error));
  }
  return out;
}

/// There is something to say of it.
bool is_settled(const Request& request) {
  return request.is_complete() || request.is_interrupted();
}

/// What is said of a request that is interrupted.
Final pending() {
  Final out;
  out.status.error = static_cast<int>(ErrorClass::proc_failed_pending);
  out.result = Error(ErrorClass::proc_failed_pending,
                     "a process has died that might have been the sender; the request is still "
                     "active, and MPIX_Comm_failure_ack lets it wait for the others");
  return out;
}

Final hand_out(Request& request) {
  if (!request.is_complete()) [[unlikely]]
    return pending();
  Final out = look(request);
  if (request.is_persistent()) {
    request.deactivate();
    return out;
  }
  Result<void> detached = request.detach();
  if (!detached.ok() && out.result.ok()) {
    out.status.error = detached.error().code();
    out.result = std::move(detached);
  }
  return out;
}

/// As above; a handle that goes away with its request becomes null.
Final hand_out_of(Request*& place) {
  Request& request = *place;
  if (!request.is_complete()) [[unlikely]]
    return pending();
  if (!request.is_persistent()) place = nullptr;
  return hand_out(request);
}
/// The same for those who only look.
Final look_at(Request& request) { return request.is_complete() ? look(request) : pending(); }
Final hand_out_of(Request* const& place) { return look_at(*place); }

/// True as soon as DONE(), which is asked again after one round of progress.
template <class Done>
bool poll(Engine& engine, Done&& done) {
  if (done()) return true;
  engine.progress();
  if (done()) return true;
  // A loop of tests waits too: let others run.
  engine.waiter().relax();
  return false;
}

template <class Take>
TestOutcome test_one(Engine& engine, Request* request, Status* status, Take&& take) {
  if (!is_waited_for(request)) {
    if (status != nullptr) *status = Status{};
    return {true, {}};
  }
  if (!poll(engine, [&] { return is_settled(*request); })) return {};
  Final out = take(*request);
  if (status != nullptr) *status = out.status;
  return {!is_left_active(out.result), std::move(out.result)};
}

/// A look at an array: the first request of which there is something to say, and whether there is
/// one to wait for.
struct Scan {
  int complete = undefined;
  bool any_active = false;
  [[nodiscard]] bool is_over() const { return complete != undefined || !any_active; }
};

Scan scan(std::span<Request* const> requests) {
  Scan found;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!is_waited_for(requests[i])) continue;
    found.any_active = true;
    if (!is_settled(*requests[i])) continue;
    found.complete = static_cast<int>(i);
    break;
  }
  return found;
}

/// T: Request*, to hand out, or Request* const, to look.
template <class T>
AnyOutcome finish_any(const Scan& found, std::span<T> requests, Status* status) {
  Final out;
  if (found.complete != undefined) {
    out = hand_out_of(requests[static_cast<std::size_t>(found.complete)]);
  }
  if (status != nullptr) *status = out.status;
  return {!is_left_active(out.result), found.complete, std::move(out.result)};
}

template <class T>
AnyOutcome poll_any(Engine& engine, std::span<T> requests, Status* status) {
  Scan found;
  if (!poll(engine, [&] { return (found = scan(requests)).is_over(); })) return {};
  return finish_any(found, requests, status);
}

/// The others that are waited for with a request which ended with CODE may never complete.
bool ends_waiting(int code) {
  return code == static_cast<int>(ErrorClass::proc_failed) ||
         code == static_cast<int>(ErrorClass::proc_failed_pending) ||
         code == static_cast<int>(ErrorClass::revoked);
}

/// Collects the statuses of several requests; remembers the first error.
class Statuses {
 public:
  explicit Statuses(std::span<Status> out) : out_(out) {}

  void put(std::size_t place, std::size_t index, Final found) {
    if (!out_.empty()) out_[place] = found.status;
    if (!found.result.ok() && failed_ == undefined) {
      failed_ = static_cast<int>(index);
      first_sentence_ = found.result.error().sentence();
    }
  }
  void put_empty(std::size_t place) {
    if (!out_.empty()) out_[place] = Status{};
  }
  void put_pending(std::size_t place) {
    if (out_.empty()) return;
    out_[place] = Status{};
    out_[place].error = static_cast<int>(ErrorClass::pending);
  }
  [[nodiscard]] int failed() const { return failed_; }
  [[nodiscard]] Result<void> result() const {
    if (failed_ == undefined) return {};
    return Error(ErrorClass::in_status, fmt::format("request {}: {}", failed_, first_sentence_));
  }

 private:
  std::span<Status> out_;
  int failed_ = undefined;
  std::string first_sentence_;
};

template <class T>
SomeOutcome finish_some(const Scan& found, std::span<T> requests, std::span<int> indices,
                        std::span<Status> statuses) {
  SomeOutcome out;
  if (!found.any_active) return out;
  out.count = 0;
  if (found.complete == undefined) return out;
  Statuses collected(statuses);
  for (auto i = static_cast<std::size_t>(found.complete); i < requests.size(); ++i) {
    if (!is_waited_for(requests[i]) || !is_settled(*requests[i])) continue;
    const auto place = static_cast<std::size_t>(out.count++);
    indices[place] = static_cast<int>(i);
    collected.put(place, i, hand_out_of(requests[i]));
  }
  out.failed = collected.failed();
  out.result = collected.result();
  return out;
}

template <class T>
SomeOutcome poll_some(Engine& engine, std::span<T> requests, std::span<int> indices,
                      std::span<Status> statuses) {
  Scan found;
  poll(engine, [&] { return (found = scan(requests)).is_over(); });
  return finish_some(found, requests, indices, statuses);
}

template <class T>
AllOutcome poll_all(Engine& engine, std::span<T> requests, std::span<Status> statuses) {
  std::size_t first_open = 0;
  const bool complete = poll(engine, [&] {
    while (first_open < requests.size() &&
           (!is_waited_for(requests[first_open]) || requests[first_open]->is_complete())) {
      ++first_open;
    }
    return first_open == requests.size();
  });
  if (!complete) {
    const bool is_interrupted = requests[first_open]->is_interrupted();
    return is_interrupted ? AllOutcome{false, static_cast<int>(first_open), pending().result}
                          : AllOutcome{};
  }
  Statuses collected(statuses);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (is_waited_for(requests[i])) {
      collected.put(i, i, hand_out_of(requests[i]));
    } else {
      collected.put_empty(i);
    }
  }
  return {true, collected.failed(), collected.result()};
}

}  // namespace

Result<void> wait(Engine& engine, Request* request, Status* status) {
  if (!is_waited_for(request)) {
    if (status != nullptr) *status = Status{};
    return {};
  }
  if (!request->is_complete()) engine.wait(*request);
  Final out = hand_out(*request);
  if (status != nullptr) *status = out.status;
  return std::move(out.result);
}

TestOutcome test(Engine& engine, Request* request, Status* status) {
  return test_one(engine, request, status, hand_out);
}

TestOutcome get_status(Engine& engine, Request* request, Status* status) {
  return test_one(engine, request, status, look_at);
}

AnyOutcome wait_any(Engine& engine, std::span<Request*> requests, Status* status) {
  Scan found;
  engine.wait_until([&] { return (found = scan(requests)).is_over(); });
  return finish_any(found, requests, status);
}

AnyOutcome test_any(Engine& engine, std::span<Request*> requests, Status* status) {
  return poll_any(engine, requests, status);
}

AnyOutcome get_status_any(Engine& engine, std::span<Request* const> requests, Status* status) {
  return poll_any(engine, requests, status);
}

SomeOutcome wait_some(Engine& engine, std::span<Request*> requests, std::span<int> indices,
                      std::span<Status> statuses) {
  Scan found;
  engine.wait_until([&] { return (found = scan(requests)).is_over(); });
  return finish_some(found, requests, indices, statuses);
}

SomeOutcome test_some(Engine& engine, std::span<Request*> requests, std::span<int> indices,
                      std::span<Status> statuses) {
  return poll_some(engine, requests, indices, statuses);
}

SomeOutcome get_status_some(Engine& engine, std::span<Request* const> requests,
                            std::span<int> indices, std::span<Status> statuses) {
  return poll_some(engine, requests, indices, statuses);
}

// In the order of the array: whoever waits for all loses nothing by that, each request is looked at
// once, and user callbacks run between two waits rather than inside of one.
AllOutcome wait_all(Engine& engine, std::span<Request*> requests, std::span<Status> statuses) {
  Statuses collected(statuses);
  bool peer_died = false;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!is_waited_for(requests[i])) {
      collected.put_empty(i);
      continue;
    }
    if (!requests[i]->is_complete()) {
      if (peer_died) {
        collected.put_pending(i);
        continue;
      }
      engine.wait(*requests[i]);
    }
    Final out = hand_out_of(requests[i]);
    peer_died |= ends_waiting(out.status.error);
    collected.put(i, i, std::move(out));
  }
  return {true, collected.failed(), collected.result()};
}

AllOutcome test_all(Engine& engine, std::span<Request*> requests, std::span<Status> statuses) {
  return poll_all(engine, requests, statuses);
}

AllOutcome get_status_all(Engine& engine, std::span<Request* const> requests,
                          std::span<Status> statuses) {
  return poll_all(engine, requests, statuses);
}

}  // namespace hawser::p2p
