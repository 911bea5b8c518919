// Backend: the contract of MPI point-to-point (DESIGN §3). Channels + matching is one
// implementation, networks that match in the NIC will be another; a process uses exactly one.
// Collectives, RMA, partitioned communication and all above use nothing else.
//
// Ownership: user buffers stay the user's until the request completes; requests and messages are
//            references. Communicators are retained by the operations that use them.
// Threads:   every call, progress() included, is made under the lane lock of the Engine.
// Errors:    what is wrong with a message (truncation, a dead peer) is the request's error; a
//            Result says that an operation could not be started.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/copy.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "core/comm/comm.hpp"
#include "core/datatype/datatype.hpp"
#include "core/request/request.hpp"

namespace hawser::p2p {

using base::Count;
using base::Identity;
using base::Ref;
using base::Result;
using core::Comm;
using core::Datatype;
using core::Request;
using core::Status;
using core::Traffic;

inline constexpr int any_source = -1;
inline constexpr int any_tag = -2;
inline constexpr int proc_null = -3;
/// MPI_TAG_UB.
inline constexpr int tag_max = 0x7fffffff;
/// Of one active message.
inline constexpr std::size_t active_bytes_max = 1 << 20;

/// COUNT items of TYPE (committed) at DATA. Retained by an operation that outlives the call.
struct Buffer {
  void* data = nullptr;
  Count count = 0;
  Datatype* type = nullptr;
};
struct ConstBuffer {
  const void* data = nullptr;
  Count count = 0;
  Datatype* type = nullptr;
};

/// Of the data, packed.
inline Count bytes_of(const Buffer& buffer) { return buffer.count * buffer.type->size(); }
inline Count bytes_of(const ConstBuffer& buffer) { return buffer.count * buffer.type->size(); }

/// The reference that an operation takes: none to predefined types, which outlive operations.
inline Ref<Datatype> hold(Datatype& type) {
  return type.is_predefined() ? Ref<Datatype>() : Ref<Datatype>::share(&type);
}

/// Where the data of items of TYPE at DATA begins. By integers, since DATA may be MPI_BOTTOM.
inline std::byte* first_byte(const void* data, const Datatype& type) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(data) +
                                      static_cast<std::uintptr_t>(type.true_lower_bound()));
}

/// A COPY for pack_by() and unpack_by().
struct InlineCopy {
  [[gnu::always_inline]] void operator()(std::byte* to, const std::byte* from,
                                         std::size_t bytes) const {
    base::copy_bytes(to, from, bytes);
  }
};

/// The BYTES of the packed items of BUFFER from OFFSET on; those of a dense type by
/// COPY(to, from, bytes).
template <class Copy>
[[gnu::always_inline]] inline void pack_by(Copy&& copy, const ConstBuffer& buffer, Count offset,
                                           std::byte* out, Count bytes) {
  if (bytes == 0) return;
  if (buffer.type->is_dense()) {
    copy(out, first_byte(buffer.data, *buffer.type) + offset, static_cast<std::size_t>(bytes));
  } else {
    buffer.type->pack(buffer.data, buffer.count, offset, out, bytes);
  }
}
[[gnu::always_inline]] inline void pack(const ConstBuffer& buffer, Count offset, std::byte* out,
                                        Count bytes) {
  pack_by(InlineCopy(), buffer, offset, out, bytes);
}
/// The opposite: stores them.
template <class Copy>
[[gnu::always_inline]] inline void unpack_by(Copy&& copy, const Buffer& buffer, Count offset,
                                             const std::byte* in, Count bytes) {
  if (bytes == 0) return;
  if (buffer.type->is_dense()) {
    copy(first_byte(buffer.data, *buffer.type) + offset, in, static_cast<std::size_t>(bytes));
  } else {
    buffer.type->unpack(buffer.data, buffer.count, offset, in, bytes);
  }
}
[[gnu::always_inline]] inline void unpack(const Buffer& buffer, Count offset, const std::byte* in,
                                          Count bytes) {
  unpack_by(InlineCopy(), buffer, offset, in, bytes);
}

/// What is matched: communicator and kind of traffic, peer's rank in comm.peer_group(), tag.
/// A receive may say any_source and any_tag. proc_null is dealt with by the Engine, never here.
struct Envelope {
  Comm* comm = nullptr;
  int peer = 0;
  int tag = 0;
  Traffic traffic = Traffic::point_to_point;
};

enum class SendMode : std::uint8_t {
  standard,
  synchronous,  // completes once matched
  ready,        // the receive is posted already; treated as standard
};

/// A message taken out of matching by a matched probe; owned by the user's handle.
class Message : public core::Object {
 public:
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] Comm& comm() const { return *comm_; }

 protected:
  Message(Ref<Comm> comm, const Status& status) : comm_(std::move(comm)), status_(status) {}

 private:
  Ref<Comm> comm_;
  Status status_;
};

/// A message of up to so many bytes fits into one cache line with its headers.
inline constexpr Count bytes_in_a_line = 32;

/// What try_recv found.
enum class Taken : std::uint8_t {
  message,  // the message was received
  nothing,  // it has not come yet; look again
  no,       // it can't be received this way: call irecv
};

/// Whose business a message is that is not matched (an active message).
enum class ActiveClass : std::uint32_t { revocation, agreement, call, refusal, death };
/// It goes to processes that may have ended, and is not waited for.
constexpr bool is_courtesy(ActiveClass message_class) {
  return message_class == ActiveClass::death;
}
inline constexpr std::size_t active_class_count = 5;

/// Which messages of a communicator are of no use any more.
enum class Refusal : std::uint8_t { collectives, everything };

/// A process is gone.
struct Departure {
  Identity process;
  bool took_leave;  // it had finalised MPI; else it died, or can't be reached any more
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// Sends now, without a request, if the message is small and its channel has room. False: nothing
  /// was done; call isend. Standard mode only.
  virtual bool try_send(const ConstBuffer& buffer, const Envelope& envelope) = 0;
  virtual Result<Ref<Request>> isend(const ConstBuffer& buffer, const Envelope& envelope,
                                     SendMode mode) = 0;
  /// Receives now, without a request, if the next message of a dedicated channel from the peer (no
  /// wildcard) is what a receive posted now would get: short, and whole. Moves nothing else. For
  /// backends that have such channels.
  virtual Taken try_recv(const Buffer&, const Envelope&, Status*) { return Taken::no; }
  virtual Result<Ref<Request>> irecv(const Buffer& buffer, const Envelope& envelope) = 0;
  /// The same, with less around it: a request, and a reference to it for the caller. Null: nothing
  /// was done; call irecv. For backends to which that makes a difference.
  virtual Request* try_irecv(const Buffer&, const Envelope&) { return nullptr; }
  /// True and *status filled if a matching message has arrived; an error if none has and its sender
  /// is gone.
  virtual Result<bool> iprobe(const Envelope& envelope, Status* status) = 0;
  /// The same; null if there is none.
  virtual Result<Ref<Message>> improbe(const Envelope& envelope) = 0;
  virtual Result<Ref<Request>> imrecv(const Buffer& buffer, Ref<Message> message) = 0;
  /// Moves messages; true if anything happened. Never blocks, never calls user code.
  virtual bool progress() = 0;
  /// When progress() has something to do by itself, in the waiter's nanoseconds: 0 at once,
  /// never_ns not at all.
  [[nodiscard]] virtual std::uint64_t deadline_ns() const { return base::never_ns; }
  /// Something that was begun goes on in the next progress(), though nothing comes.
  [[nodiscard]] virtual bool has_work() const { return false; }
  /// Called before this process looks for work once more and then sleeps: whatever comes from now
  /// on has to wake it.
  virtual void arm() {}
  // Failures. A backend that does not offer these leaves them out: nobody is ever gone then.
  /// Sends MESSAGE, of at most active_bytes_max, to the handler of its class in PEER, now or when
  /// there is room; not in the order of other messages. Lost with its peer.
  virtual Result<void> post(const Identity& peer, ActiveClass message_class,
                            std::span<const std::byte> message);
  using ActiveHandler =
      std::function<void(const Identity& from, std::span<const std::byte> message)>;
  using DepartureHandler = std::function<void(const Departure&)>;
  /// Both are called by progress(), and may post. What comes before there is a handler is dropped.
  virtual void set_active_handler(ActiveClass /*message_class*/, const ActiveHandler& /*handler*/) {
  }
  virtual void set_departure_handler(const DepartureHandler& /*handler*/) {}
  /// Nothing will be heard of PROCESS any more.
  [[nodiscard]] virtual bool is_gone(const Identity& /*process*/) const { return false; }
  /// PROCESS, of this job, has died, as TELLER says.
  virtual void declare_dead(const Identity& /*process*/, const Identity& /*teller*/) {}
  /// Of communicators that were revoked, or damaged by a death, and have these CONTEXTS: ends the
  /// receives that are posted there, and refuses what has come or comes. Sends end when their
  /// receivers have taken or refused them.
  virtual void refuse(std::span<const std::uint32_t> /*contexts*/, Refusal /*what*/) {}
  /// The user has acknowledged failures in COMM: receives from any source may wait again.
  virtual void on_acknowledged(const Comm& /*comm*/) {}

  /// True once every frame that this process was asked to send has left it.
  virtual bool is_drained() = 0;
};

inline Result<void> Backend::post(const Identity&, ActiveClass, std::span<const std::byte>) {
  return base::Error(base::ErrorClass::unsupported_operation,
                     "this backend has no active messages");
}

}  // namespace hawser::p2p
