// A job for tests: n ranks as n threads of this process, joined by a naive but correct backend.
//
// Messages are guarded by one mutex. Small standard sends are buffered; larger ones complete when
// they are matched, and their data is read only then, so that code which relies on buffering hangs
// and code which touches a buffer too early is caught. A job that takes too long means a deadlock:
// it says so and aborts.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "core/comm/comm.hpp"
#include "p2p/engine.hpp"
#include "p2p/progress/host_waiter.hpp"

namespace hawser::test {

using base::Count;
using base::Ref;
using base::Result;
using core::Comm;
using core::Status;

/// The largest send that is buffered.
inline constexpr Count eager_bytes_max = 64;

class ThreadRequest final : public core::Request {
 public:
  using core::Request::Request;
  void finish(const Status& status) {
    mutable_status() = status;
    set_complete();
  }
  void finish_with(core::Error error) {
    fail(std::move(error));
    set_complete();
  }
};

/// What all ranks of a job share.
class ThreadNetwork {
 public:
  struct Key {
    core::GlobalId comm;
    std::uint32_t context;  // the receiver's
    core::Traffic traffic;
    int source;
    int tag;
    [[nodiscard]] bool matches(const Key& message) const {
      return comm == message.comm && context == message.context && traffic == message.traffic &&
             (source == p2p::any_source || source == message.source) &&
             (tag == p2p::any_tag || tag == message.tag);
    }
  };
  struct Sent {
    Key key;
    std::vector<std::byte> data;  // of a buffered send
    p2p::ConstBuffer buffer;      // of one that waits for its match
    Ref<ThreadRequest> request;   // likewise
    int sender;
    [[nodiscard]] Count bytes() const {
      return request ? buffer.count * buffer.type->size() : static_cast<Count>(data.size());
    }
  };
  struct Posted {
    Key key;
    p2p::Buffer buffer;
    Ref<ThreadRequest> request;
  };
  struct Mailbox {
    std::list<Sent> unexpected;
    std::list<Posted> posted;
  };

  explicit ThreadNetwork(int ranks)
      : mailboxes_(static_cast<std::size_t>(ranks)), words_(static_cast<std::size_t>(ranks)) {}
  [[nodiscard]] int ranks() const { return static_cast<int>(mailboxes_.size()); }
  std::mutex& mutex() { return mutex_; }
  Mailbox& mailbox(int rank) { return mailboxes_[static_cast<std::size_t>(rank)]; }
  std::span<hostmem::WakeWord> words() { return words_; }
  void wake(int rank) { hostmem::Waker::rouse(words_[static_cast<std::size_t>(rank)]); }

  /// Hands the message over and completes both requests. The mutex is held.
  void deliver(Sent& sent, Posted& posted, int receiver) {
    const Count room = posted.buffer.count * posted.buffer.type->size();
    if (sent.request) {
      sent.data.resize(static_cast<std::size_t>(sent.bytes()));
      if (!sent.data.empty()) {
        sent.buffer.type->pack(sent.buffer.data, sent.buffer.count, 0, sent.data.data(),
                               static_cast<Count>(sent.data.size()));
      }
      sent.request->finish({});
      wake(sent.sender);
    }
    const auto bytes = static_cast<Count>(sent.data.size());
    if (bytes > room) {
      posted.request->finish_with({core::ErrorClass::truncate, "the message is too long"});
    } else {
      if (bytes > 0) {
        posted.buffer.type->unpack(posted.buffer.data, posted.buffer.count, 0, sent.data.data(),
                                   bytes);
      }
      posted.request->finish({.source = sent.key.source, .tag = sent.key.tag, .bytes = bytes});
    }
    wake(receiver);
  }

 private:
  std::mutex mutex_;
  std::vector<Mailbox> mailboxes_;
  std::vector<hostmem::WakeWord> words_;
};

class ThreadBackend final : public p2p::Backend {
 public:
  ThreadBackend(ThreadNetwork& network, int rank) : network_(network), rank_(rank) {}

  bool try_send(const p2p::ConstBuffer& buffer, const p2p::Envelope& envelope) override {
    const Count bytes = buffer.count * buffer.type->size();
    if (bytes > eager_bytes_max) return false;
    ThreadNetwork::Sent sent = describe(envelope);
    sent.data.resize(static_cast<std::size_t>(bytes));
    if (bytes > 0) buffer.type->pack(buffer.data, buffer.count, 0, sent.data.data(), bytes);
    carry(std::move(sent), envelope);
    return true;
  }
  Result<Ref<core::Request>> isend(const p2p::ConstBuffer& buffer, const p2p::Envelope& envelope,
                                   p2p::SendMode) override {
    ThreadNetwork::Sent sent = describe(envelope);
    sent.buffer = buffer;
    sent.request = base::make_ref<ThreadRequest>(core::RequestKind::send);
    Ref<core::Request> request = sent.request;
    carry(std::move(sent), envelope);
    return request;
  }
  Result<Ref<core::Request>> irecv(const p2p::Buffer& buffer,
                                   const p2p::Envelope& envelope) override {
    const std::lock_guard lock(network_.mutex());
    auto& mailbox = network_.mailbox(rank_);
    ThreadNetwork::Posted posted{pattern_of(envelope), buffer,
                                 base::make_ref<ThreadRequest>(core::RequestKind::receive)};
    Ref<core::Request> request = posted.request;
    for (auto sent = mailbox.unexpected.begin(); sent != mailbox.unexpected.end(); ++sent) {
      if (!posted.key.matches(sent->key)) continue;
      network_.deliver(*sent, posted, rank_);
      mailbox.unexpected.erase(sent);
      return request;
    }
    mailbox.posted.push_back(std::move(posted));
    return request;
  }
  base::Result<bool> iprobe(const p2p::Envelope& envelope, Status* status) override {
    const std::lock_guard lock(network_.mutex());
    const ThreadNetwork::Key key = pattern_of(envelope);
    for (const auto& sent : network_.mailbox(rank_).unexpected) {
      if (!key.matches(sent.key)) continue;
      if (status != nullptr) {
        *status = {.source = sent.key.source, .tag = sent.key.tag, .bytes = sent.bytes()};
      }
      return true;
    }
    return false;
  }
  base::Result<Ref<p2p::Message>> improbe(const p2p::Envelope&) override {
    return base::Ref<p2p::Message>();
  }
  Result<Ref<core::Request>> imrecv(const p2p::Buffer&, Ref<p2p::Message>) override {
    return core::Error(core::ErrorClass::unsupported_operation, "not in this test double");
  }
  bool progress() override { return false; }  // the peers' threads do it
  bool is_drained() override { return true; }

 private:
  /// What a receive or probe by ENVELOPE matches.
  static ThreadNetwork::Key pattern_of(const p2p::Envelope& envelope) {
    return {envelope.comm->id(), envelope.comm->context(), envelope.traffic, envelope.peer,
            envelope.tag};
  }
  [[nodiscard]] ThreadNetwork::Sent describe(const p2p::Envelope& envelope) const {
    const Comm& comm = *envelope.comm;
    return {.key = {comm.id(), comm.peer_context(envelope.peer), envelope.traffic, comm.rank(),
                    envelope.tag},
            .data = {},
            .buffer = {},
            .request = {},
            .sender = rank_};
  }
  void carry(ThreadNetwork::Sent sent, const p2p::Envelope& envelope) {
    const int receiver = static_cast<int>(envelope.comm->peer_group().member(envelope.peer).index);
    const std::lock_guard lock(network_.mutex());
    auto& mailbox = network_.mailbox(receiver);
    for (auto posted = mailbox.posted.begin(); posted != mailbox.posted.end(); ++posted) {
      if (!posted->key.matches(sent.key)) continue;
      network_.deliver(sent, *posted, receiver);
      mailbox.posted.erase(posted);
      return;
    }
    mailbox.unexpected.push_back(std::move(sent));
    network_.wake(receiver);
  }

  ThreadNetwork& network_;
  const int rank_;
};

/// What the threads of a job share with each other as processes of one host would.
class ThreadHost final : public bootstrap::Bootstrap {
 public:
  static constexpr std::uint64_t job = 1;

  explicit ThreadHost(std::uint32_t ranks) {
    placement_.self.job = job;
    placement_.size = placement_.local_size = ranks;
  }
  [[nodiscard]] const bootstrap::Placement& placement() const override { return placement_; }
  Result<void> publish(std::string_view, std::span<const std::byte>) override { return {}; }
  Result<std::optional<std::vector<std::byte>>> look_up(std::uint32_t, std::string_view) override {
    return std::optional<std::vector<std::byte>>();
  }
  [[nodiscard]] std::optional<HostMemory> host_memory() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint32_t> local_rank_of(std::uint32_t index) const override {
    return index;
  }
  void arrive_at_end() override {}
  [[nodiscard]] bool have_all_arrived_at_end() const override { return true; }
  void report_initialized() override {}
  void report_finalized() override {}
  [[noreturn]] void abort(int, std::string_view) override { std::abort(); }

 private:
  bootstrap::Placement placement_;
};

/// One rank as its thread sees it.
struct Rank {
  int rank;
  int size;
  p2p::Engine& engine;
  const bootstrap::Bootstrap& host;
  std::span<hostmem::WakeWord> words;  // of all ranks

  /// The communicator of the world's ranks FIRST, FIRST+STRIDE, …; null on others. ID tells
  /// communicators apart and must be equal on all members.
  [[nodiscard]] Ref<Comm> comm(std::uint64_t id, int first, int stride, int count) const {
    return make({id, 0}, group(first, stride, count), nullptr, nullptr);
  }
  [[nodiscard]] Ref<Comm> world(std::uint64_t id = 1) const { return comm(id, 0, 1, size); }
  /// Between the world's ranks [0, split) and [split, size).
  [[nodiscard]] Ref<Comm> inter(std::uint64_t id, int split) const {
    auto low = group(0, 1, split);
    auto high = group(split, 1, size - split);
    if (rank >= split) std::swap(low, high);
    auto local = make({id, rank < split ? 1U : 2U}, low, nullptr, nullptr);
    return make({id, 3}, low, high, local);
  }

 private:
  static constexpr std::uint64_t job = ThreadHost::job;

  static Ref<core::Group> group(int first, int stride, int count) {
    return core::Group::of_stride(job, static_cast<std::uint32_t>(first), stride, count);
  }
  [[nodiscard]] Ref<Comm> make(core::GlobalId id, const Ref<core::Group>& members,
                               Ref<core::Group> remote, Ref<Comm> local) const {
    const int me = members->rank_of({job, static_cast<std::uint32_t>(rank), 0});
    if (me < 0) return nullptr;
    Comm::Description description;
    description.group = members;
    description.remote_group = std::move(remote);
    description.rank = me;
    description.id = id;
    description.local = std::move(local);
    description.errhandler = base::make_ref<core::Errhandler>(core::ErrhandlerKind::errors_return);
    return base::make_ref<Comm>(std::move(description));
  }
};

/// Ends the program if its job is not done in time: a deadlock.
class Watch {
 public:
  explicit Watch(int ranks) : thread_([this, ranks] { watch(ranks); }) {}
  ~Watch() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void watch(int ranks) {
    constexpr std::chrono::seconds longest{100};
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, longest, [this] { return done_; })) return;
    std::fprintf(stderr, "%d ranks have not ended after 100 s: deadlock\n", ranks);
    std::abort();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

/// Runs FUNCTION on RANKS threads and joins them. Messages that nobody received are a bug.
inline void run_ranks(int ranks, bool oversubscribed, const std::function<void(Rank&)>& function) {
  ThreadNetwork network(ranks);
  const ThreadHost host(static_cast<std::uint32_t>(ranks));
  const Watch watch(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&network, &host, &function, rank, ranks, oversubscribed] {
      ThreadBackend backend(network, rank);
      p2p::HostWaiter waiter(network.words()[static_cast<std::size_t>(rank)],
                             hostmem::FencePayer::waker,
                             {.oversubscribed = oversubscribed, .spin_ns = 1});
      p2p::Engine engine(backend, waiter);
      Rank self{rank, ranks, engine, host, network.words()};
      function(self);
    });
  }
  for (auto& thread : threads) thread.join();
  for (int rank = 0; rank < ranks; ++rank) {
    if (network.mailbox(rank).unexpected.empty() && network.mailbox(rank).posted.empty()) continue;
    std::fprintf(stderr, "rank %d was left with messages or receives without a match\n", rank);
    std::abort();
  }
}

}  // namespace hawser::test
