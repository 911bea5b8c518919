// The short way of the calls that programs make most often: a send, a receive or a wait of which
// nothing needs a second look.
//
// Each returns true if it did all that its MPI function is to do. False: its binding goes the full
// way, which says what is wrong with an argument, and does what takes longer. Nothing has happened
// then, but for waitall(), which may have handed requests out: their handles are null.
//
// Why: with every check in one condition and nothing kept for errors, a call stays in registers
// (decision 0028).
#pragma once

#include <algorithm>
#include <span>

#include "binding/calls/show.hpp"

namespace hawser::calls::short_way {

using base::Count;
using binding::Runtime;
using core::Request;
using p2p::any_source;
using p2p::any_tag;

/// Not negative, or any_tag.
constexpr bool is_receive_tag(int tag) {
  static_assert(any_tag == -2);
  return tag >= any_tag && tag != -1;
}

/// Of one message, checked but for the lower bounds of peer and tag: IN_RANGE says that they hold.
/// `comm` is null if there is anything to say about them.
struct Arguments {
  core::Comm* comm = nullptr;
  core::Datatype* type = nullptr;

  [[gnu::always_inline]] Arguments(Runtime* runtime, const void* data, Count count,
                                   MPI_Datatype datatype, int peer, MPI_Comm communicator,
                                   bool in_range) {
    if (runtime == nullptr || count < 0 || !in_range) [[unlikely]]
      return;
    if (data == nullptr && count != 0) [[unlikely]]
      return;
    core::Comm* const found = runtime->find<core::Comm>(communicator);
    type = runtime->find<core::Datatype>(datatype);
    if (found != nullptr && type != nullptr && type->is_committed() && peer < found->peer_count())
        [[likely]]
      comm = found;
  }
};

/// True if the message has left.
[[gnu::always_inline]] inline bool sends(Runtime* runtime, const void* buf, Count count,
                                         MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  const Arguments is(runtime, buf, count, datatype, dest, comm, dest >= 0 && tag >= 0);
  return is.comm != nullptr &&
         engine(*runtime).sends_at_once({buf, count, is.type}, {is.comm, dest, tag},
                                        p2p::SendMode::standard);
}

[[gnu::always_inline]] inline bool send(const void* buf, Count count, MPI_Datatype datatype,
                                        int dest, int tag, MPI_Comm comm) {
  return sends(Runtime::running(), buf, count, datatype, dest, tag, comm);
}

[[gnu::always_inline]] inline bool isend(const void* buf, Count count, MPI_Datatype datatype,
                                         int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  Runtime* const runtime = Runtime::running();
  if (request == nullptr || !sends(runtime, buf, count, datatype, dest, tag, comm)) return false;
  *request = runtime->show<Request>(engine(*runtime).sent());
  return true;
}

[[gnu::always_inline]] inline bool recv(void* buf, Count count, MPI_Datatype datatype, int source,
                                        int tag, MPI_Comm comm, MPI_Status* status) {
  Runtime* const runtime = Runtime::running();
  const Arguments is(runtime, buf, count, datatype, source, comm,
                     source >= 0 && is_receive_tag(tag));
  core::Status received;
  if (is.comm == nullptr ||
      !engine(*runtime).receives_at_once({buf, count, is.type}, {is.comm, source, tag}, &received))
    return false;
  binding::StatusOut(status).set(received);
  return true;
}

[[gnu::always_inline]] inline bool irecv(void* buf, Count count, MPI_Datatype datatype, int source,
                                         int tag, MPI_Comm comm, MPI_Request* request) {
  Runtime* const runtime = Runtime::running();
  const Arguments is(runtime, buf, count, datatype, source, comm,
                     source >= any_source && is_receive_tag(tag));
  if (is.comm == nullptr || request == nullptr) return false;
  Request* const begun =
      engine(*runtime).begins_receive({buf, count, is.type}, {is.comm, source, tag});
  if (begun == nullptr) return false;
  *request = runtime->show_owned(*begun);
  return true;
}

using RequestPlace = binding::HandleTable::Place;

/// Of null, too, there is none.
[[gnu::always_inline]] inline RequestPlace look_up(Runtime& runtime, MPI_Request handle) {
  return runtime.table<Request>().look_up(binding::raw_handle(handle));
}

inline Request* request_at(const RequestPlace& place) {
  return static_cast<Request*>(place.object());
}

/// The request at PLACE, a plain one, is complete: if all is well its handle goes.
[[gnu::always_inline]] inline bool hands_out(Runtime& runtime, const RequestPlace& place,
                                             MPI_Request& handle) {
  if (request_at(place)->error() != nullptr) [[unlikely]]
    return false;
  runtime.table<Request>().erase(place);
  handle = MPI_REQUEST_NULL;
  return true;
}

[[gnu::always_inline]] inline bool wait(MPI_Request* request, MPI_Status* status) {
  Runtime* const runtime = Runtime::running();
  if (runtime == nullptr || request == nullptr) return false;
  const RequestPlace place = look_up(*runtime, *request);
  Request* const found = request_at(place);
  if (found == nullptr || !found->is_plain()) return false;
  if (!found->is_complete()) {
    engine(*runtime).wait(*found);
    if (!found->is_complete()) return false;  // interrupted
  }
  if (status != nullptr) binding::StatusOut(status).set(found->status());
  return hands_out(*runtime, place, *request);
}

/// Whether each of REQUESTS is one, or null.
inline bool are_live(Runtime& runtime, std::span<const MPI_Request> requests) {
  return std::all_of(requests.begin(), requests.end(), [&](MPI_Request request) {
    return request == MPI_REQUEST_NULL || runtime.find<Request>(request) != nullptr;
  });
}

/// Whether FIRST, the first of REQUESTS, is complete at last. False, too, if one of them is none: a
/// wrong handle is to be told of, not waited before. ARE_CHECKED: none of them is.
[[gnu::noinline]] inline bool completes(Runtime& runtime, Request& first,
                                        std::span<const MPI_Request> requests, bool& are_checked) {
  p2p::Engine& waits = engine(runtime);
  waits.progress();
  if (first.is_complete()) return true;
  if (!are_checked && !are_live(runtime, requests)) return false;
  are_checked = true;
  waits.wait(first);
  return first.is_complete();
}

/// Of requests whose statuses nobody asks for.
inline bool waitall(Count count, MPI_Request* requests, MPI_Status* statuses) {
  Runtime* const runtime = Runtime::running();
  if (runtime == nullptr || requests == nullptr || statuses != nullptr || count < 0) return false;
  const Request* const sent = &engine(*runtime).sent_request();
  bool are_checked = false;
  for (Count i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    const RequestPlace place = look_up(*runtime, requests[i]);
    Request* const request = request_at(place);
    if (request == sent) {
      requests[i] = MPI_REQUEST_NULL;
      continue;
    }
    if (request == nullptr || !request->is_plain()) [[unlikely]]
      return false;
    if (!request->is_complete() &&
        !completes(*runtime, *request, binding::to_span(requests + i, count - i), are_checked))
      return false;
    if (!hands_out(*runtime, place, requests[i])) [[unlikely]]
      return false;
  }
  return true;
}

}  // namespace hawser::calls::short_way
