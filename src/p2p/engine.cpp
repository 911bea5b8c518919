#include "p2p/engine.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "base/cache_line.hpp"
#include "base/prefetch.hpp"
#include "platform/thread.hpp"

namespace hawser::p2p {

namespace {

/// What a receive from proc_null gives (MPI-5.0 §3.10).
Status proc_null_status() {
  Status status;
  status.source = proc_null;
  return status;
}

/// Asks for the lines that a message will be stored to, in their order: who waits for one has
/// nothing else to do, and would wait for each that no cache holds once the message is there. As
/// far as a long frame goes (out of cache, near and far: 1 KiB -31 and -13 %, 4 KiB -34 and -13 %,
/// 32 KiB -20 and -12 %; in a cache, or of a buffer that is much too long, as without).
class LinesAhead {
 public:
  /// Those behind the first of BUFFER, unless its type leaves gaps.
  explicit LinesAhead(const Buffer& buffer)
      : next_(reinterpret_cast<std::uintptr_t>(first_byte(buffer.data, *buffer.type)) + line_bytes),
        left_bytes_(buffer.type->is_dense() ? std::min(bytes_of(buffer), bytes_max) - line_bytes
                                            : 0) {}
  /// Asks for two, if there are any left. With four the next look has to wait for them; unrolled,
  /// 4 KiB far gained 3 % only, as if the processor dropped some.
  void ask() {
    if (left_bytes_ <= 0) return;
#pragma GCC unroll 1
    for (int line = 0; line < 2; ++line) {
      base::prefetch_for_write(reinterpret_cast<const void*>(next_));
      next_ += line_bytes;
      left_bytes_ -= line_bytes;
    }
  }

 private:
  static constexpr Count bytes_max = Count{32} * 1024;
  static constexpr Count line_bytes = base::cache_line_bytes;

  std::uintptr_t next_;
  Count left_bytes_;
};

/// The communicator that says so may be revoked; a null message has none.
Result<void> check_proc_null(const Envelope& envelope) {
  return envelope.comm == nullptr ? Result<void>() : core::check_not_revoked(*envelope.comm);
}

/// A request that is complete from the start: a send to or a receive from proc_null.
class ProcNullRequest final : public Request {
 public:
  explicit ProcNullRequest(core::RequestKind kind) : Request(kind) {
    activate();
    if (kind == core::RequestKind::receive) mutable_status() = proc_null_status();
    set_complete();
  }
};

class ProcNullMessage final : public Message {
 public:
  explicit ProcNullMessage(Comm& comm) : Message(Ref<Comm>::share(&comm), proc_null_status()) {}
};

Result<void> result_of(const Request& request) {
  if (request.error() == nullptr) [[likely]]
    return {};
  return *request.error();
}

/// Whether a probe needs no other look: it found a message, or why there will be none.
template <class Found>
bool is_answered(const Result<Found>& found) {
  return !found || static_cast<bool>(*found);
}

/// LOOK(), and once more after a round of progress.
template <class Look>
auto look_twice(Engine& engine, Look&& look) {
  {
    const LaneLock lock(engine);
    auto found = look();
    if (is_answered(found)) return found;
  }
  engine.progress();
  const LaneLock lock(engine);
  return look();
}

constexpr int pending_code = static_cast<int>(base::ErrorClass::proc_failed_pending);

/// Why a blocking call gives up what a nonblocking one would go on waiting for.
base::Error given_up(const base::Error& error) {
  return {base::ErrorClass::proc_failed, error.sentence()};
}

/// LOOK() until it finds something or fails.
template <class Look>
auto look_until_found(Engine& engine, Look&& look) {
  std::optional<std::invoke_result_t<Look>> found;
  engine.wait_until([&] {
    const LaneLock lock(engine);
    found = look();
    return is_answered(*found);
  });
  if (!found->ok() && found->error().code() == pending_code) found = given_up(found->error());
  return *std::move(found);
}

}  // namespace

Result<void> Engine::send(const ConstBuffer& buffer, const Envelope& envelope, SendMode mode) {
  if (sends_at_once(buffer, envelope, mode)) return {};
  Result<Ref<Request>> request = begin_send(buffer, envelope, mode);
  if (!request) return request.take_error();
  wait(**request);
  return result_of(**request);
}

Result<void> Engine::recv(const Buffer& buffer, const Envelope& envelope, Status* status) {
  Status at_once;
  if (receives_at_once(buffer, envelope, status == nullptr ? &at_once : status)) return {};
  return recv_posted(buffer, envelope, status);
}

Result<void> Engine::recv_posted(const Buffer& buffer, const Envelope& envelope, Status* status) {
  Result<Ref<Request>> request = begin_receive(buffer, envelope);
  if (!request) return request.take_error();
  Result<void> received = wait_for_receive(**request);
  if (status != nullptr) *status = (*request)->status();
  return received;
}

Result<void> Engine::wait_for_receive(Request& request) {
  wait(request);
  if (!request.is_complete()) [[unlikely]] {
    {
      const LaneLock lock(*this);
      HAWSER_TRY(request.cancel());
    }
    // Its message may have come meanwhile, and be on its way into the buffer.
    wait_until([&] { return request.is_complete(); });
    if (request.status().cancelled)
      return base::Error(base::ErrorClass::proc_failed,
                         "a process has died that might have been the sender, and this was not "
                         "acknowledged; MPIX_Comm_failure_ack does so");
  }
  return result_of(request);
}

Result<void> Engine::post(const Identity& peer, ActiveClass message_class,
                          std::span<const std::byte> message) {
  const LaneLock lock(*this);
  return backend_.post(peer, message_class, message);
}

void Engine::refuse(std::span<const std::uint32_t> contexts, Refusal what) {
  const LaneLock lock(*this);
  backend_.refuse(contexts, what);
  if (threaded_) notify();
}

bool Engine::receives_at_once(const Buffer& buffer, const Envelope& envelope, Status* status) {
  // Nothing else moves meanwhile: so neither for long, nor every time.
  constexpr int looks_max = 256;
  constexpr std::uint32_t receives_per_round = 16;
  // A message of one line is there by then where cores share a cache. Where they don't, each look
  // that comes too early takes the line from a sender who is about to write it: fewer are quicker.
  constexpr int looks_without_pause = 24;
  if (threaded_ || envelope.peer < 0 || ++receives_ % receives_per_round == 0) return false;
  const WaitPolicy& policy = waiter_.policy();
  const bool pauses = bytes_of(buffer) <= bytes_in_a_line;
  // A store to memory that no cache holds would keep back our answer behind it. Of a short message
  // these are all lines (where its data has gaps, asking for the wrong one does no harm).
  const std::byte* const place = first_byte(buffer.data, *buffer.type);
  base::prefetch_for_write(place);
  if (!pauses) base::prefetch_for_write(place + bytes_of(buffer) - 1);
  const int looks_wanted = policy.oversubscribed || policy.sleeps_at_once ? 1 : looks_max;
  LinesAhead lines(buffer);
  for (int looks = 1; looks <= looks_wanted; ++looks) {
    const Taken taken = backend_.try_recv(buffer, envelope, status);
    if (taken != Taken::nothing) return taken == Taken::message;
    if (!pauses) {
      lines.ask();
    } else if (looks > looks_without_pause) {
      waiter_.relax();
    }
  }
  return false;
}

Request* Engine::begins_receive_locked(const Buffer& buffer, const Envelope& envelope) {
  Request* request = nullptr;
  {
    const LaneLock lock(*this);
    request = backend_.try_irecv(buffer, envelope);
  }
  if (request != nullptr) leave_behind(*request);
  return request;
}

bool Engine::sends_short_locked(const ConstBuffer& buffer, const Envelope& envelope) {
  const LaneLock lock(*this);
  if (!backend_.try_send(buffer, envelope)) return false;
  notify();
  return true;
}

Result<Ref<Request>> Engine::isend(const ConstBuffer& buffer, const Envelope& envelope,
                                   SendMode mode) {
  if (envelope.peer == proc_null) {
    HAWSER_TRY(check_proc_null(envelope));
    return Ref<Request>(base::make_ref<ProcNullRequest>(core::RequestKind::send));
  }
  if (sends_short(buffer, envelope, mode)) [[likely]]
    return sent();
  Result<Ref<Request>> request = begin_send(buffer, envelope, mode);
  leave_behind(request);
  return request;
}

Result<Ref<Request>> Engine::begin_send(const ConstBuffer& buffer, const Envelope& envelope,
                                        SendMode mode) {
  const LaneLock lock(*this);
  Result<Ref<Request>> request = backend_.isend(buffer, envelope, mode);
  if (threaded_) notify();
  return request;
}

Result<Ref<Request>> Engine::irecv(const Buffer& buffer, const Envelope& envelope) {
  Result<Ref<Request>> request = begin_receive(buffer, envelope);
  leave_behind(request);
  return request;
}

Result<Ref<Request>> Engine::begin_receive(const Buffer& buffer, const Envelope& envelope) {
  if (envelope.peer == proc_null) {
    HAWSER_TRY(check_proc_null(envelope));
    return Ref<Request>(base::make_ref<ProcNullRequest>(core::RequestKind::receive));
  }
  const LaneLock lock(*this);
  return backend_.irecv(buffer, envelope);
}

Result<bool> Engine::iprobe(const Envelope& envelope, Status* status) {
  if (envelope.peer == proc_null) {
    HAWSER_TRY(check_proc_null(envelope));
    if (status != nullptr) *status = proc_null_status();
    return true;
  }
  return look_twice(*this, [&] { return backend_.iprobe(envelope, status); });
}

Result<void> Engine::probe(const Envelope& envelope, Status* status) {
  Result<bool> found =
      envelope.peer == proc_null
          ? iprobe(envelope, status)
          : look_until_found(*this, [&] { return backend_.iprobe(envelope, status); });
  if (!found) return found.take_error();
  return {};
}

Result<Ref<Message>> Engine::improbe(const Envelope& envelope) {
  if (envelope.peer == proc_null) {
    HAWSER_TRY(check_proc_null(envelope));
    return Ref<Message>(base::make_ref<ProcNullMessage>(*envelope.comm));
  }
  return look_twice(*this, [&] { return backend_.improbe(envelope); });
}

Result<Ref<Message>> Engine::mprobe(const Envelope& envelope) {
  if (envelope.peer == proc_null) return improbe(envelope);
  return look_until_found(*this, [&] { return backend_.improbe(envelope); });
}

Result<Ref<Request>> Engine::imrecv(const Buffer& buffer, Ref<Message> message) {
  if (message->status().source == proc_null)
    return Ref<Request>(base::make_ref<ProcNullRequest>(core::RequestKind::receive));
  Result<Ref<Request>> request = [&] {
    const LaneLock lock(*this);
    return backend_.imrecv(buffer, std::move(message));
  }();
  leave_behind(request);
  return request;
}

core::Reach Engine::find_reach(Comm& comm) const {
  core::Reach reach = core::Reach::host;
  for (int rank = 0; distance_ && rank < comm.size() && reach != core::Reach::jobs; ++rank)
    reach = std::max(reach, distance_(comm.group().member(rank)));
  for (int rank = 0; distance_ && comm.is_inter() && rank < comm.peer_count(); ++rank)
    reach = std::max(reach, distance_(comm.peer_group().member(rank)));
  comm.set_reach(reach);
  return reach;
}

bool Engine::progress(UserCode user_code) {
  bool moved = false;
  {
    const LaneLock lock(*this);
    const bool is_attendant = user_code == UserCode::deferred;
    if (is_attendant) attendant_drives_.store(true, std::memory_order_relaxed);
    moved = backend_.progress();
    if (is_attendant) attendant_drives_.store(false, std::memory_order_relaxed);
  }
  // By index: a source may start a collective of its own, which adds nothing, or remove itself.
  for (std::size_t i = 0; i < sources_.size(); ++i)
    if (!sources_[i]->is_idle()) [[unlikely]]
      moved |= sources_[i]->advance(user_code);
  if (moved && threaded_) notify();
  return moved;
}

std::uint32_t Engine::prepare_to_sleep() {
  const std::uint32_t ticket = waiter_.prepare();
  const LaneLock lock(*this);
  backend_.arm();
  return ticket;
}

void Engine::do_what_is_due() {
  {
    const LaneLock lock(*this);
    backend_.arm();
  }
  progress();
}

std::uint64_t Engine::deadline_ns() {
  const LaneLock lock(*this);
  return backend_.deadline_ns();
}

void Engine::attend(const std::atomic<bool>& is_dismissed, WakeBy by) {
  platform::OtherCores cores;
  const WaitPolicy& policy = waiter_.policy();
  const std::uint64_t lingers_ns =
      policy.oversubscribed || policy.sleeps_at_once ? 0 : attendant_lingers_ns;
  std::uint64_t sleeps_at_ns = 0;
  while (!is_dismissed.load(std::memory_order_acquire)) {
    cores.avoid(attendance_.program_core());
    if (attendance_.is_program_inside()) {
      attendance_.step_aside(lingers_ns);
    } else if (progress(UserCode::deferred)) {
      sleeps_at_ns = waiter_.now_ns() + lingers_ns;
    } else if (waiter_.now_ns() < sleeps_at_ns) {
      waiter_.give_way();
    } else {
      attend_asleep(is_dismissed, by);
    }
  }
}

void Engine::attend_asleep(const std::atomic<bool>& is_dismissed, WakeBy by) {
  const Attendance::Sleep asleep(attendance_);
  const std::uint32_t ticket = prepare_to_sleep();
  if (is_dismissed.load(std::memory_order_acquire) || progress(UserCode::deferred)) {
    waiter_.cancel();
    waiter_.wake();  // others may sleep on the announcement that was taken back
    return;
  }
  const std::uint64_t look_ns = waiter_.now_ns() + attendant_sleep_ns_max;
  waiter_.sleep(ticket, by == WakeBy::arrivals ? look_ns : std::min(look_ns, deadline_ns()), by);
}

void Engine::hand_over() {
  attendance_.note_program_core(platform::current_core());
  if (attendance_.is_program_inside() || attendance_.hand_over()) return;
  // One that is asleep is woken by what comes, though the program may have looked since and have
  // told peers that it is awake.
  if (attendance_.is_anybody_asleep()) static_cast<void>(prepare_to_sleep());
  bool has_work = false;
  {
    const LaneLock lock(*this);
    has_work = backend_.has_work();
  }
  if (has_work) waiter_.wake();
}

void Engine::rouse_attendants() {
  attendance_.call_back();
  waiter_.wake();
}

void Engine::add_source(ProgressSource& source) { sources_.push_back(&source); }

void Engine::remove_source(ProgressSource& source) { std::erase(sources_, &source); }

}  // namespace hawser::p2p
