// Engine: a backend, the lane lock around it, and the only place in the library that blocks.
//
// Everything above (collectives, comm_ops, the binding) sends, receives and waits through it.
// Ownership: owned by the Process; borrows backend and waiter.
// Threads:   all public calls are thread-safe once set_threaded(true); before, only one thread may
//            use the process and no lock is taken (MPI_THREAD_SINGLE … SERIALIZED). Progress
//            threads need it, whatever the program asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "p2p/attendance.hpp"
#include "p2p/backend.hpp"
#include "p2p/waiter.hpp"

namespace hawser::p2p {

/// Whether user code may run: not in progress threads, whose stack and thread the program does not
/// expect it on.
enum class UserCode : std::uint8_t { allowed, deferred };

/// Work that progress drives outside of the lane lock, because it may call user code: the plans of
/// nonblocking collectives. Progress looks at is_idle() in every round and calls advance() only
/// where there is something to do; a reader that sees an old value has its turn in the next round.
class ProgressSource {
 public:
  virtual ~ProgressSource() = default;
  [[nodiscard]] bool is_idle() const { return idle_.load(std::memory_order_relaxed); }
  /// True if anything happened. Re-entered neither by one thread nor by two at a time for the
  /// same piece of work; the source sees to it. What would call user code that is deferred waits
  /// for a later call.
  virtual bool advance(UserCode user_code) = 0;

 protected:
  void set_idle(bool idle) { idle_.store(idle, std::memory_order_relaxed); }

 private:
  std::atomic<bool> idle_{true};
};

/// The request of every send that was complete when its call returned: there is nothing to tell one
/// from another, so that one serves for all. Never freed.
class SentRequest final : public Request {
 public:
  SentRequest() : Request(core::RequestKind::send) {
    set_complete();
    pin();
  }
  ~SentRequest() override = default;
  Result<void> cancel() override { return {}; }
};

class Engine {
 public:
  Engine(Backend& backend, Waiter& waiter) : backend_(backend), waiter_(waiter) {}

  void set_threaded(bool threaded) { threaded_ = threaded; }
  [[nodiscard]] bool is_threaded() const { return threaded_; }

  // Each takes proc_null as a peer: such a send or receive completes at once and empty, if its
  // communicator was not revoked.
  /// The short way of a send: true if the message has left, and there is nothing to wait for.
  bool sends_at_once(const ConstBuffer& buffer, const Envelope& envelope, SendMode mode) {
    if (envelope.peer == proc_null) [[unlikely]]
      return !envelope.comm->is_revoked();
    return sends_short(buffer, envelope, mode);
  }
  Result<void> send(const ConstBuffer& buffer, const Envelope& envelope, SendMode mode);
  /// The short way of a receive: true if the message was there; *status is filled.
  bool receives_at_once(const Buffer& buffer, const Envelope& envelope, Status* status);
  /// *status (may be null) gets source, tag, bytes and error; an error of the message is returned.
  Result<void> recv(const Buffer& buffer, const Envelope& envelope, Status* status);
  /// recv() without the short way, for whoever has tried it.
  Result<void> recv_posted(const Buffer& buffer, const Envelope& envelope, Status* status);
  Result<Ref<Request>> isend(const ConstBuffer& buffer, const Envelope& envelope, SendMode mode);
  Result<Ref<Request>> irecv(const Buffer& buffer, const Envelope& envelope);
  /// The short way of irecv(): the request, with a reference for the caller. Null, and nothing has
  /// happened, if the long way has something to say first.
  Request* begins_receive(const Buffer& buffer, const Envelope& envelope);
  Result<bool> iprobe(const Envelope& envelope, Status* status);
  Result<void> probe(const Envelope& envelope, Status* status);
  /// Null if there is none. proc_null gives a message whose receive completes empty.
  Result<Ref<Message>> improbe(const Envelope& envelope);
  Result<Ref<Message>> mprobe(const Envelope& envelope);
  Result<Ref<Request>> imrecv(const Buffer& buffer, Ref<Message> message);

  /// One round of progress: the backend under the lane lock, then the sources.
  bool progress() { return progress(UserCode::allowed); }
  /// Returns once DONE() is true, and asks it no more: it may take what it waits for. Progresses,
  /// spins and sleeps in between. DONE must depend only on what progress() or another thread inside
  /// this Engine changes.
  template <class Done>
  void wait_until(Done&& done);
  /// Until REQUEST is complete or interrupted, which only a receive from any source can be.
  void wait(const Request& request) {
    wait_until([&] { return request.is_complete() || request.is_interrupted(); });
  }
  /// A receive that a blocking call waits for: until it is complete, or was given up because a
  /// process has died that might have been the sender.
  Result<void> wait_for_receive(Request& request);
  /// Told by whoever completes something that another thread may be waiting for.
  void notify() {
    // A read-modify-write, not a load: either it sees the sleeper's announcement, or the sleeper's
    // last look sees what was completed before.
    if (sleepers_.fetch_add(0, std::memory_order_seq_cst) > 0) waiter_.wake();
  }

  /// Who drives: the program, or progress threads.
  [[nodiscard]] Attendance& attendance() { return attendance_; }
  /// A progress thread's life: drives while the program does not, and sleeps while nothing happens,
  /// until IS_DISMISSED is seen to be true; rouse_attendants() has it look.
  void attend(const std::atomic<bool>& is_dismissed, WakeBy by);
  void rouse_attendants();

  // Failures; see Backend. Each takes the lane lock.
  Result<void> post(const Identity& peer, ActiveClass message_class,
                    std::span<const std::byte> message);
  void refuse(std::span<const std::uint32_t> contexts, Refusal what);

  void add_source(ProgressSource& source);
  void remove_source(ProgressSource& source);

  /// What isend() returns where the message has left already.
  [[nodiscard]] Ref<Request> sent() { return Ref<Request>::share(&sent_); }
  [[nodiscard]] const Request& sent_request() const { return sent_; }
  [[nodiscard]] Backend& backend() { return backend_; }
  [[nodiscard]] Waiter& waiter() { return waiter_; }
  /// Ranks on this host outnumber its cores: collectives prefer few wake-ups over short paths.
  [[nodiscard]] bool is_oversubscribed() const { return waiter_.policy().oversubscribed; }
  /// The same for collectives of COMM, whose members must agree on an algorithm: only a host's own
  /// processes know about its cores.
  [[nodiscard]] bool is_oversubscribed_for(Comm& comm) const {
    return is_oversubscribed() && reach_of(comm) == core::Reach::host;
  }
  /// Each peer that a process talks to costs it memory or a connection, as far as the job is
  /// concerned: collectives prefer few partners for all over many for one. Other jobs may be of
  /// another mind.
  [[nodiscard]] bool do_peers_cost_for(Comm& comm) const {
    return peers_cost_ && reach_of(comm) != core::Reach::jobs;
  }
  void set_peers_cost(bool peers_cost) { peers_cost_ = peers_cost; }
  /// How far away a process is. Until it is set, all are on this host.
  void set_distance(std::function<core::Reach(const base::Identity&)> distance) {
    distance_ = std::move(distance);
  }

 private:
  friend class LaneLock;

  [[nodiscard]] core::Reach reach_of(Comm& comm) const {
    const core::Reach known = comm.reach();
    return known == core::Reach::unknown ? find_reach(comm) : known;
  }
  core::Reach find_reach(Comm& comm) const;

  /// How long a progress thread sleeps at most: what the program's own calls have made due in the
  /// meantime (frames to be sent again, the rest of a copy) waits no longer.
  static constexpr std::uint64_t attendant_sleep_ns_max = 2'000'000;
  /// How long one stays awake that has moved something, or has stepped aside: waking it costs the
  /// program a signal from core to core (7 us in a virtual machine), and the message as long again.
  static constexpr std::uint64_t attendant_lingers_ns = 100'000;

  bool progress(UserCode user_code);
  /// Until there is something to do, or the program is inside.
  void attend_asleep(const std::atomic<bool>& is_dismissed, WakeBy by);
  /// Progress threads take over if REQUEST is not complete and needs somebody here.
  void leave_behind(const Request& request) {
    if (attendance_.is_attended() && !request.is_complete() && !request.is_left_to_peer())
      hand_over();
  }
  void leave_behind(const Result<Ref<Request>>& request) {
    if (request.ok()) leave_behind(**request);
  }
  void hand_over();
  Result<Ref<Request>> begin_receive(const Buffer& buffer, const Envelope& envelope);
  /// When progress() has something to do though nobody wakes us.
  [[nodiscard]] std::uint64_t deadline_ns();
  /// The ticket for the waiter's sleep().
  std::uint32_t prepare_to_sleep();
  /// In a round of progress that looks at every clock.
  void do_what_is_due();

  bool sends_short(const ConstBuffer& buffer, const Envelope& envelope, SendMode mode);
  bool sends_short_locked(const ConstBuffer& buffer, const Envelope& envelope);
  Request* begins_receive_locked(const Buffer& buffer, const Envelope& envelope);
  /// The long way.
  Result<Ref<Request>> begin_send(const ConstBuffer& buffer, const Envelope& envelope,
                                  SendMode mode);

  Backend& backend_;
  Waiter& waiter_;
  bool threaded_ = false;
  bool peers_cost_ = false;
  std::function<core::Reach(const base::Identity&)> distance_;
  SpinRecord spins_;
  std::uint32_t receives_ = 0;  // that were tried the short way
  std::recursive_mutex mutex_;
  std::atomic<bool> attendant_drives_{false};  // a progress thread, under the lock, just now
  std::atomic<int> sleepers_{0};               // threads of the program
  Attendance attendance_;
  std::vector<ProgressSource*> sources_;
  SentRequest sent_;
};

/// Holds the lane lock of an Engine for a scope, if the process is threaded.
class LaneLock {
 public:
  explicit LaneLock(Engine& engine) : engine_(engine), locked_(engine.threaded_) {
    if (locked_) engine_.mutex_.lock();
  }
  ~LaneLock() {
    if (locked_) engine_.mutex_.unlock();
  }
  LaneLock(const LaneLock&) = delete;
  LaneLock& operator=(const LaneLock&) = delete;

 private:
  Engine& engine_;
  const bool locked_;
};

// With one thread there is no lock to keep note of, nor a progress thread to tell.

inline Request* Engine::begins_receive(const Buffer& buffer, const Envelope& envelope) {
  if (envelope.peer == proc_null) [[unlikely]]
    return nullptr;
  return threaded_ ? begins_receive_locked(buffer, envelope) : backend_.try_irecv(buffer, envelope);
}

inline bool Engine::sends_short(const ConstBuffer& buffer, const Envelope& envelope,
                                SendMode mode) {
  if (mode == SendMode::synchronous) return false;
  return threaded_ ? sends_short_locked(buffer, envelope) : backend_.try_send(buffer, envelope);
}

template <class Done>
void Engine::wait_until(Done&& done) {
  Patience patience(waiter_, spins_);
  Attendance::Visit visit(attendance_);
  while (!done()) {
    if (attendant_drives_.load(std::memory_order_relaxed) && patience.lasts_beside_attendant())
        [[unlikely]]
      continue;
    if (progress()) {
      patience.renew();
      continue;
    }
    if (patience.lasts()) continue;
    // Announce, look once more, then sleep: a message that arrives in between wakes us.
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t ticket = prepare_to_sleep();
    const bool is_done = done();
    std::uint64_t deadline = never_ns;
    if (is_done || progress()) {
      waiter_.cancel();
      // Another thread may have gone to sleep on the announcement that we took back.
      if (threaded_) waiter_.wake();
    } else {
      deadline = deadline_ns();
      waiter_.sleep(ticket, deadline, WakeBy::anything);
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    if (deadline == never_ns || waiter_.now_ns() < deadline) {
      patience.renew();
    } else {
      do_what_is_due();  // no sign that anything else is about to come
    }
    visit.note_sleep();
    if (is_done) return;
  }
}

}  // namespace hawser::p2p
