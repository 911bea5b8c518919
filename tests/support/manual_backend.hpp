// A backend for tests whose messages move only when the test says so, on one thread.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "p2p/engine.hpp"

namespace hawser::test {

class ManualRequest : public core::Request {
 public:
  using core::Request::activate;
  using core::Request::mutable_status;
  using core::Request::Request;
  using core::Request::set_inactive;

  void finish(const core::Status& status = {}) {
    mutable_status() = status;
    set_complete();
  }
  void finish_with(core::Error error) {
    fail(std::move(error));
    set_complete();
  }
  base::Result<void> cancel() override {
    if (is_complete()) return {};
    mutable_status().cancelled = true;
    set_complete();
    return {};
  }
};

class ManualBackend final : public p2p::Backend {
 public:
  struct Send {
    p2p::ConstBuffer buffer;
    p2p::Envelope envelope;
    p2p::SendMode mode;
    base::Ref<ManualRequest> request;
    [[nodiscard]] std::vector<std::byte> data() const {
      std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.count * buffer.type->size()));
      if (!bytes.empty()) {
        buffer.type->pack(buffer.data, buffer.count, 0, bytes.data(),
                          static_cast<base::Count>(bytes.size()));
      }
      return bytes;
    }
  };
  struct Receive {
    p2p::Buffer buffer;
    p2p::Envelope envelope;
    base::Ref<ManualRequest> request;
  };

  std::vector<Send> sends;
  std::vector<Receive> receives;
  base::Count immediate_bytes_max = -1;  // of sends that need no request
  bool refuses_sends = false;
  std::function<void(ManualRequest&)> on_send;
  std::function<bool()> on_progress = [] { return false; };
  std::function<std::uint64_t()> deadline = [] { return base::never_ns; };
  int immediate_sends = 0;
  int rounds = 0;

  bool try_send(const p2p::ConstBuffer& buffer, const p2p::Envelope&) override {
    if (buffer.count * buffer.type->size() > immediate_bytes_max) return false;
    ++immediate_sends;
    return true;
  }
  base::Result<base::Ref<core::Request>> isend(const p2p::ConstBuffer& buffer,
                                               const p2p::Envelope& envelope,
                                               p2p::SendMode mode) override {
    if (refuses_sends) return core::Error(core::ErrorClass::proc_failed, "the peer is dead");
    sends.push_back(
        {buffer, envelope, mode, base::make_ref<ManualRequest>(core::RequestKind::send)});
    if (on_send) on_send(*sends.back().request);
    return base::Ref<core::Request>(sends.back().request);
  }
  base::Result<base::Ref<core::Request>> irecv(const p2p::Buffer& buffer,
                                               const p2p::Envelope& envelope) override {
    receives.push_back(
        {buffer, envelope, base::make_ref<ManualRequest>(core::RequestKind::receive)});
    return base::Ref<core::Request>(receives.back().request);
  }
  base::Result<bool> iprobe(const p2p::Envelope&, core::Status*) override { return false; }
  base::Result<base::Ref<p2p::Message>> improbe(const p2p::Envelope&) override {
    return base::Ref<p2p::Message>();
  }
  base::Result<base::Ref<core::Request>> imrecv(const p2p::Buffer&,
                                                base::Ref<p2p::Message>) override {
    return core::Error(core::ErrorClass::unsupported_operation, "not in this test double");
  }
  bool progress() override {
    ++rounds;
    return on_progress();
  }
  [[nodiscard]] std::uint64_t deadline_ns() const override { return deadline(); }
  bool is_drained() override { return true; }
};

/// Spins; waiting for what no round of progress brings is a bug of the test.
class ManualWaiter final : public p2p::Waiter {
 public:
  ManualWaiter() : Waiter({.spin_ns = 1000000}) {}
  int relaxes = 0;

  [[nodiscard]] std::uint64_t now_ns() const override { return now_ns_ += 1000; }
  void relax() override { ++relaxes; }
  std::uint32_t prepare() override { return 0; }
  void sleep(std::uint32_t, std::uint64_t, p2p::WakeBy) override {
    std::fprintf(stderr, "the test waits for what never comes\n");
    std::abort();
  }
  void cancel() override {}
  void wake() override {}

 private:
  mutable std::uint64_t now_ns_ = 0;
};

struct ManualProcess {
  ManualBackend backend;
  ManualWaiter waiter;
  p2p::Engine engine{backend, waiter};
};

/// A communicator of RANKS processes, of which this is number 0.
inline base::Ref<core::Comm> manual_comm(int ranks, core::Object* session = nullptr) {
  core::Comm::Description description;
  description.group = core::Group::of_stride(1, 0, 1, ranks);
  description.errhandler = base::make_ref<core::Errhandler>(core::ErrhandlerKind::errors_return);
  description.session = session;
  return base::make_ref<core::Comm>(std::move(description));
}

}  // namespace hawser::test
