// GeneralizedRequest: an operation of the user's own behind a request (MPI-5.0 §13.2).
//
// Ownership: the callbacks own what they need.
// Threads:   complete() may be called by any thread; it wakes those that wait. Callbacks run
//            without any lock of ours.
// Invariant: free() is called once: when the request was completed and its handle is gone.
#pragma once

#include <atomic>
#include <functional>

#include "p2p/engine.hpp"

namespace hawser::p2p {

/// Each returns an MPI error code (0: success).
struct GeneralizedCallbacks {
  /// Fills the status in.
  std::function<int(Status& status)> query;
  std::function<int()> free;
  std::function<int(bool complete)> cancel;
};

class GeneralizedRequest final : public Request {
 public:
  GeneralizedRequest(Engine& engine, GeneralizedCallbacks callbacks)
      : Request(core::RequestKind::generalized),
        engine_(engine),
        callbacks_(std::move(callbacks)) {}

  /// MPI_Grequest_complete; MPI_ERR_REQUEST the second time.
  Result<void> complete();
  Result<void> cancel() override;
  void finish_status(Status& status) override;
  Result<void> detach() override { return end(detached); }

 private:
  static constexpr unsigned completed = 1;
  static constexpr unsigned detached = 2;

  /// Calls free() if EVENT is the second one of the two.
  Result<void> end(unsigned event);

  Engine& engine_;
  const GeneralizedCallbacks callbacks_;
  std::atomic<unsigned> events_{0};
};

}  // namespace hawser::p2p
