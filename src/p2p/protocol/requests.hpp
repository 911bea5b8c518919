// Requests of the channel backend, and the pools they come from.
//
// Ownership: a request has a reference of the user's handle and, until it is complete, one of the
//            backend. The last release returns it to its pool; pools outlive all requests.
// Threads:   fields are the lane's; releases may come from any thread, so pools lock once the
//            process is threaded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "channel/endpoint/endpoint.hpp"
#include "memory/pool/slab.hpp"
#include "p2p/backend.hpp"
#include "p2p/match/match_engine.hpp"
#include "p2p/protocol/frame_copy.hpp"
#include "p2p/protocol/wire.hpp"

namespace hawser::p2p {

class ChannelBackend;

/// Objects of one type, kept for reuse. All must have come back when the pool ends. T has a member
/// `T* next_free`, which is the pool's.
template <class T>
class RequestPool {
 public:
  explicit RequestPool(memory::Ledger& ledger)
      : slab_(ledger, memory::Account::requests, sizeof(T)) {}
  ~RequestPool() {
    while (free_ != nullptr) T::destroy(take_unlocked());
  }
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  void set_threaded(bool threaded) { threaded_ = threaded; }
  T* take() { return threaded_ ? take_locked() : take_unlocked(); }
  void give_back(T* object) {
    if (threaded_) {
      give_back_locked(object);
    } else {
      keep(object);
    }
  }

 private:
  [[gnu::noinline]] T* take_locked() {
    const std::lock_guard lock(mutex_);
    return take_unlocked();
  }
  [[gnu::noinline]] void give_back_locked(T* object) {
    const std::lock_guard lock(mutex_);
    keep(object);
  }
  void keep(T* object) {
    object->next_free = free_;
    free_ = object;
  }
  T* take_unlocked() {
    if (free_ == nullptr) [[unlikely]]
      return make();
    T* const object = free_;
    free_ = object->next_free;
    return object;
  }
  [[gnu::noinline, gnu::cold]] T* make() { return new (slab_.take()) T(*this); }

  bool threaded_ = false;
  std::mutex mutex_;
  memory::Slab slab_;
  T* free_ = nullptr;
};

/// The parts of a receive's buffer that its sender may write by RDMA now.
struct PutBlocks {
  struct Block {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint64_t by_frames;  // of them, that came by frames since writing failed
    std::unique_ptr<transport::HeldMemory> held;
    transport::Link* link;   // by whose rail it may be written
    std::uint32_t epoch;     // of the link's operations, when it was offered
    bool is_copied = false;  // by this process: the sender has not been asked for it
  };
  std::vector<Block> open;
  std::uint64_t next = 0;       // what has not been offered yet begins here
  std::uint64_t eager_end = 0;  // what the sender need not wait for ends here
  bool is_whole = false;        // in one piece for each rail
  bool has_begun = false;       // some were offered
  bool has_copied = false;      // this process has copied some itself
  bool was_copy_refused = false;
};

/// The pieces of a message that are read by several rails at a time.
struct GetPieces {
  std::uint32_t under_way = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> failed;  // offset and bytes
};

/// A message that its receiver and its sender copy jointly, as its receiver sees it.
struct JointCopy {
  /// What has still to be copied of a half.
  struct Part {
    std::uint64_t at;
    std::uint64_t end;
    [[nodiscard]] std::uint64_t bytes() const { return end - at; }
  };
  JointCopy(transport::JointCopies* with, Part ours, Part theirs)
      : copies(with), own(ours), of_peer(theirs) {}

  transport::JointCopies* copies;  // the link's, which outlives it
  Part own;
  Part of_peer;                                // all or nothing
  std::optional<transport::JointClaim> claim;  // none: no half is offered yet, and none copied
  std::uint32_t rounds = 0;                    // of progress that found neither half to be copied
  bool has_withdrawn = false;                  // too late, but the sender may step back
  bool has_failed = false;
};

class SendRequest final : public Request {
 public:
  explicit SendRequest(RequestPool<SendRequest>& pool)
      : Request(core::RequestKind::send), pool_(pool) {
    keep_place();
  }
  static void destroy(SendRequest* request) { request->~SendRequest(); }

  void begin(const ConstBuffer& from, const Envelope& to, SendMode how, channel::Endpoint& peer);
  /// Nothing more is needed of the user's buffer; the user may see the request complete.
  void finish() { set_complete(); }
  void finish_with(base::Error error) {
    fail(std::move(error));
    set_complete();
  }
  /// Never succeeds: a send completes by itself, which the standard allows (MPI-5.0 §3.8.4 even
  /// deprecates the cancelling of sends).
  Result<void> cancel() override { return {}; }
  [[nodiscard]] core::Object* error_object() const override { return comm_.get(); }

  ConstBuffer buffer;
  Envelope envelope;
  SendMode mode = SendMode::standard;
  channel::Endpoint* endpoint = nullptr;
  std::uint64_t token = 0;       // while in rendezvous
  std::uint64_t peer_token = 0;  // while in the copy pipeline
  std::uint64_t total = 0;
  std::uint64_t offset = 0;  // what frames have still to carry begins here
  std::uint64_t end = 0;     // and ends here
  std::uint64_t sent = 0;    // by frames, or written by RDMA
  std::vector<std::pair<std::uint64_t, std::uint64_t>> more;  // such ranges, after this one
  bool is_stream = false;                                     // frames follow one another unasked
  bool may_be_copied = false;             // or frames asked for: the receiver has the choice
  bool is_joined = false;                 // then, and we copy a part of it
  std::optional<std::uint32_t> checksum;  // of the packed data, where it may be had and is checked
  std::unique_ptr<std::byte[]> copy;      // of the data, if the user was let go before the match
  /// The data, while adapters may read it, for each rail. Given back in the lane: a network's
  /// registrations are the lane's, and the last reference may be any thread's.
  std::vector<std::unique_ptr<transport::HeldMemory>> held;
  std::uint8_t held_rail = 0;       // of the last of them, without copies
  std::uint32_t parts_leaving = 0;  // by operations, that the adapter has still to report
  bool is_over = false;             // but for these
  SendRequest* next_free = nullptr;

 private:
  ~SendRequest() override = default;
  void dispose() const override;

  RequestPool<SendRequest>& pool_;
  Ref<Comm> comm_;
  Ref<Datatype> type_;
};

class ReceiveRequest final : public Request, public PostedReceive {
 public:
  explicit ReceiveRequest(RequestPool<ReceiveRequest>& pool)
      : Request(core::RequestKind::receive), pool_(pool) {
    keep_place();
  }
  static void destroy(ReceiveRequest* request) { request->~ReceiveRequest(); }

  [[gnu::always_inline]] void begin(ChannelBackend& backend, const Buffer& to, Comm& comm) {
    activate();
    backend_ = &backend;
    // One by one, as the caller has just stored them: see MatchNode::set_key().
    buffer.data = to.data;
    buffer.count = to.count;
    buffer.type = to.type;
    capacity = static_cast<std::uint64_t>(bytes_of(to));
    received = 0;
    is_posted = false;
    comm_ = Ref<Comm>::share(&comm);
    type_ = hold(*to.type);
  }
  /// The message is known: its size and where it comes from.
  void match(const MatchKey& key, std::uint64_t message_bytes) {
    mutable_status().source = key.source;
    mutable_status().tag = key.tag;
    mutable_status().bytes = static_cast<Count>(std::min(message_bytes, capacity));
    total = message_bytes;
  }
  /// Unpacks DATA at OFFSET of the message; what is beyond the buffer is dropped.
  [[gnu::always_inline]] void store(std::uint64_t offset, std::span<const std::byte> data) {
    received += data.size();
    const std::uint64_t room = capacity - std::min(offset, capacity);
    const std::uint64_t bytes = std::min<std::uint64_t>(data.size(), room);
    if (bytes > 0) unpack_frame(*endpoint, buffer, offset, data.data(), bytes, total);
  }
  [[gnu::always_inline]] void finish() {
    if (is_truncated()) [[unlikely]]
      fail_truncated();
    set_complete();
  }
  void finish_with(base::Error error) {
    fail(std::move(error));
    set_complete();
  }
  Result<void> cancel() override;
  [[nodiscard]] core::Object* error_object() const override { return comm_.get(); }
  [[nodiscard]] bool is_truncated() const { return total > capacity; }
  /// Of what the buffer holds of the message, what is not there.
  [[nodiscard]] std::uint64_t missing_bytes() const {
    return std::min(total, capacity) - std::min(received, capacity);
  }

  Buffer buffer;
  std::uint64_t capacity = 0;  // bytes of the buffer
  std::uint64_t received = 0;
  bool is_posted = false;
  // From here on: means nothing before the match.
  channel::Endpoint* endpoint = nullptr;  // of the sender
  std::uint64_t total = 0;                // bytes of the message
  // From here on: what an eager message does not touch.
  std::uint64_t token = 0;           // while data frames are on their way
  std::uint64_t peer_token = 0;      // the sender's request
  wire::RendezvousHeader offered{};  // what the sender offers
  std::uint32_t checksum = 0;        // of what was copied so far, where that is checked
  std::unique_ptr<GetPieces> pieces;
  std::unique_ptr<PutBlocks> put;  // while the sender writes into the buffer by RDMA
  std::optional<JointCopy> joint;
  ReceiveRequest* next_free = nullptr;

 private:
  friend class ChannelBackend;
  ~ReceiveRequest() override = default;
  void dispose() const override;
  void fail_truncated();
  [[gnu::noinline, gnu::cold]] void drop_rdma();

  RequestPool<ReceiveRequest>& pool_;
  ChannelBackend* backend_ = nullptr;
  Ref<Comm> comm_;
  Ref<Datatype> type_;
};

/// Where the packed data of BUFFER lies in our memory; 0 if it does not.
template <class AnyBuffer>
std::uint64_t address_of(const AnyBuffer& buffer) {
  return buffer.type->is_dense()
             ? reinterpret_cast<std::uint64_t>(first_byte(buffer.data, *buffer.type))
             : 0;
}
inline std::uint64_t address_of(const SendRequest& request) {
  return request.copy ? reinterpret_cast<std::uint64_t>(request.copy.get())
                      : address_of(request.buffer);
}
inline std::uint64_t address_of(const ReceiveRequest& request) {
  return address_of(request.buffer);
}

}  // namespace hawser::p2p
