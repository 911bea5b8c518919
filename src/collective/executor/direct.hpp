// DirectRun: one blocking collective call, carried out step by step.
//
// Ownership: lives on the caller's stack; owns the temporaries of the call.
// Threads:   used by the calling thread alone.
// Invariant: after the first error the remaining steps still run, so that no other process waits
//            for a message of this one in vain; finish() returns that first error.
#pragma once

#include <optional>
#include <vector>

#include "collective/executor/executor.hpp"
#include "collective/executor/scratch.hpp"
#include "p2p/engine.hpp"

namespace hawser::collective {

class DirectRun {
 public:
  explicit DirectRun(p2p::Engine& engine) : engine_(engine) {}
  DirectRun(const DirectRun&) = delete;
  DirectRun& operator=(const DirectRun&) = delete;

  void join(Comm&) {}
  void send(const ConstBuffer& buffer, const p2p::Envelope& envelope);
  void recv(const Buffer& buffer, const p2p::Envelope& envelope);
  void wait();
  void reduce(const void* in, void* inout, Count count, Datatype& type, Op& op) {
    op.apply(in, inout, count, type);
  }
  void copy(const ConstBuffer& from, const Buffer& to);
  void call(const Call& call) { note(call()); }
  void fail(Error error);
  std::byte* temporary(Count bytes) { return scratch_.allocate(bytes); }
  [[nodiscard]] bool is_oversubscribed() const { return engine_.is_oversubscribed(); }

  /// Completes what is in flight; the end of the call.
  Result<void> finish();

 private:
  void note(Result<void> result);

  p2p::Engine& engine_;
  std::vector<Ref<Request>> pending_;
  std::optional<Error> error_;
  Scratch<1024> scratch_;
};

using DirectExecutor = BasicExecutor<DirectRun>;

}  // namespace hawser::collective
