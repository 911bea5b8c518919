// Request and Status: an operation in flight, and what is known of it at its end (MPI-5.0 §3.7).
//
// Ownership: the starter has one reference (the user's handle); the engine that completes the
//            request has another until complete() was called.
// Threads:   complete() publishes with release; is_complete() acquires. Everything else is guarded
//            by the lane that owns the operation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/ids.hpp"
#include "core/object.hpp"

namespace hawser::core {

/// What MPI_Status says, in our own layout; the binding converts it.
struct Status {
  int source = -1;  // MPI_ANY_SOURCE in an empty status
  int tag = -2;     // MPI_ANY_TAG in an empty status
  int error = 0;    // an MPI error code
  bool cancelled = false;
  base::Count bytes = 0;  // of received data, packed
};

enum class RequestKind : std::uint8_t {
  send,
  receive,
  collective,
  generalized,
  partitioned,
  composite,  // several requests that complete as one (isendrecv, iflush, idup)
};

/// What makes a request complete: set_complete(), or that of which it is made.
enum class Completion : std::uint8_t { own, derived };

class Request : public Object {
 public:
  explicit Request(RequestKind kind, bool persistent = false,
                   Completion completion = Completion::own)
      : kind_(kind),
        persistent_(persistent),
        completion_(completion),
        plain_(!persistent && completion == Completion::own &&
               (kind == RequestKind::send || kind == RequestKind::receive)) {}

  [[nodiscard]] RequestKind kind() const { return kind_; }
  [[nodiscard]] bool is_persistent() const { return persistent_; }
  /// False only for a persistent request that is not started: waits ignore it.
  [[nodiscard]] bool is_active() const { return active_; }
  [[nodiscard, gnu::always_inline]] bool is_complete() const {
    return complete_.load(std::memory_order_acquire) ||
           (completion_ == Completion::derived && are_parts_complete());
  }

  /// It can't complete before the user acknowledges a failure: waits end, and it stays active. Only
  /// of what waits for a message from any source.
  [[nodiscard]] bool is_interrupted() const {
    return interrupted_.load(std::memory_order_acquire) ||
           (completion_ == Completion::derived && are_parts_interrupted());
  }
  void set_interrupted(bool interrupted) {
    interrupted_.store(interrupted, std::memory_order_release);
  }

  /// All that it still needs is the peer's doing: this process has only to find out in the end.
  void leave_to_peer() { left_to_peer_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_left_to_peer() const {
    return left_to_peer_.load(std::memory_order_relaxed);
  }

  /// A single send or receive: its status is known when it is complete, and nothing else is to be
  /// done when it is handed out.
  [[nodiscard]] bool is_plain() const { return plain_; }
  /// Valid once complete; of a derived request, once finish_status() was called.
  [[nodiscard]] const Status& status() const { return status_; }
  /// The sentence behind status().error; null if there is no error.
  [[nodiscard]] const Error* error() const { return error_.get(); }

  /// Starts a persistent (or partitioned) request.
  virtual Result<void> start();
  /// Asks for cancellation (MPI_Cancel); the request still completes, by itself or as cancelled.
  virtual Result<void> cancel();
  /// Called when a wait or test hands the completed request to the user: fills the status in
  /// (generalized requests ask the user's query function here).
  virtual void finish_status(Status& status);
  /// Called when the user's handle goes away by completion or MPI_Request_free. An error is that of
  /// a user's callback.
  virtual Result<void> detach() { return {}; }
  /// The object whose error handler is called for errors of this request; may be null.
  [[nodiscard]] virtual Object* error_object() const { return nullptr; }

  /// After a wait or test handed it out: a persistent request becomes inactive.
  void deactivate() { active_ = false; }

 protected:
  /// Of a derived request: whether all of which it is made is complete. Changes nothing.
  [[nodiscard]] virtual bool are_parts_complete() const { return true; }
  /// Of a derived request: whether one of its parts is interrupted.
  [[nodiscard]] virtual bool are_parts_interrupted() const { return false; }
  /// Takes over status and error of PART, which is complete.
  void adopt(Request& part);
  /// A new life of a persistent request; MPI_ERR_REQUEST while the old one lasts.
  Result<void> restart();
  /// For a new life of a pooled or persistent request.
  void activate() {
    complete_.store(false, std::memory_order_relaxed);
    interrupted_.store(false, std::memory_order_relaxed);
    active_ = true;
    left_to_peer_.store(false, std::memory_order_relaxed);
    status_ = Status{};
    error_.reset();
  }
  void set_inactive() { active_ = false; }
  [[nodiscard]] Status& mutable_status() { return status_; }
  void fail(Error error) {
    status_.error = error.code();
    error_ = std::make_unique<Error>(std::move(error));
  }
  void set_complete() { complete_.store(true, std::memory_order_release); }

 private:
  const RequestKind kind_;
  const bool persistent_;
  const Completion completion_;
  const bool plain_;
  bool active_ = true;
  std::atomic<bool> complete_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> left_to_peer_{false};
  Status status_;
  std::unique_ptr<Error> error_;
};

}  // namespace hawser::core
