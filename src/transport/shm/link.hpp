// ShmLink: one peer on this host: its segment as we see it, the shared queue and perhaps a ring to
// it, perhaps a ring from it.
//
// Ownership: owned by the ShmTransport, for its life.
#pragma once

#include <optional>
#include <variant>

#include "hostmem/cold_looks.hpp"
#include "hostmem/cold_places.hpp"
#include "hostmem/measured_copy.hpp"
#include "hostmem/one_copy.hpp"
#include "hostmem/wake.hpp"
#include "platform/local_socket.hpp"
#include "transport/shm/attach.hpp"
#include "transport/shm/joint_copies.hpp"
#include "transport/shm/segment.hpp"
#include "transport/transport.hpp"

namespace hawser::transport::shm {

/// Body of the transport's own frame ring_grant; the others have none.
struct RingGrant {
  std::uint64_t offset;  // in the granter's segment
  std::uint32_t line_count;
  std::uint32_t bulk_bytes;
  std::uint32_t long_bytes;  // of the area that the ring may get later
  std::uint32_t cells;       // that come with it
};

/// Under which its address is published, too.
inline constexpr std::string_view network_name = "shm";

/// What one core copies out of a peer's memory (process_vm_readv) where no cache holds it: 35 to 45
/// Gb/s, measured with pieces of 256 KiB to 4 MiB on a server. Other machines differ by a
/// factor of two, and so do caches; shares of messages need no more than the order of it.
inline constexpr std::uint64_t copy_bits_per_second = 40'000'000'000;

class ShmLink final : public Link {
 public:
  /// OWN_WORD: this process's, which outlives the link. LEADS: of this process and the peer, this
  /// one decides whether long messages between them are copied once (hostmem/one_copy.hpp).
  ShmLink(const Identity& identity, std::uint32_t number, hostmem::Waker waker,
          const hostmem::WakeWord& own_word, bool leads)
      : identity_(identity),
        number_(number),
        waker_(waker),
        own_word_(own_word),
        joint_copies_(leads) {
    if (leads) one_copy_.emplace<hostmem::OneCopyChoice>();
    earnable_.add(ChannelKind::ring);
  }

  [[nodiscard]] ChannelSet possible_channels() const override {
    return {ChannelKind::shared_queue, ChannelKind::ring, ChannelKind::single_copy};
  }
  [[nodiscard]] std::size_t frame_bytes_max(ChannelKind kind) const override;
  [[nodiscard]] Rail rail() const override { return {network_name}; }
  [[nodiscard]] std::uint64_t bits_per_second() const override { return copy_bits_per_second; }
  std::byte* reserve(ChannelKind kind, std::size_t bytes) override;
  FrameRoom reserve_apart(ChannelKind kind, std::size_t head_bytes, std::size_t payload_bytes,
                          std::size_t phase) override;
  void copy_in(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void copy_out(std::byte* to, const std::byte* from, std::size_t bytes,
                std::uint64_t message_bytes) override;
  void commit(ChannelKind kind) override;
  bool ask(ChannelKind kind) override;
  bool give_back(ChannelKind kind) override;
  bool recall(ChannelKind kind) override;
  void abandon() override { lose(); }
  [[nodiscard]] bool is_away() const override { return lost_ || (attached_ && segment_.is_away()); }
  bool wants_reading_first(ChannelKind kind) override;
  std::span<const std::byte> front(ChannelKind kind) override;
  void expect(ChannelKind, std::size_t bytes) override {
    if (bytes > line_frame_bytes && bytes <= RingReceiver::ahead_bytes_max)
      incoming_ring_->ask_ahead();
  }
  void pop(ChannelKind kind) override;
  std::int64_t get(std::span<const MemoryPiece> local,
                   std::span<const MemoryPiece> remote) override;
  [[nodiscard]] bool does_one_copy_pay(std::size_t bytes) override;
  [[nodiscard]] JointCopies* joint_copies() override {
    return channels_.has(ChannelKind::single_copy) ? &joint_copies_ : nullptr;
  }

  [[nodiscard]] const Identity& identity() const { return identity_; }
  /// Our number for this peer: what it writes into our queue as `owner`.
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] bool is_attached() const { return attached_; }

  /// The peer's handshake arrived: PACKET (checked) with its segment and its pid as the kernel
  /// knows it. Tries the single copy by reading the peer's cookie.
  Result<void> attach(const AttachPacket& packet, const platform::FileDescriptor& segment,
                      pid_t pid, hostmem::WakeWord* wake_word, bool try_single_copy);
  /// The peer granted a ring: true if it is sound; the ring is used from now on.
  bool accept_ring(const RingGrant& grant);
  /// It has given our ring a long area, after we asked; false if there is no such ring any more.
  [[nodiscard]] bool accept_extension() {
    if (outgoing_) outgoing_->extend();
    return outgoing_.has_value();
  }
  /// Reads frames from the peer's ring from now on.
  void open_incoming_ring(const Segment::Ring& ring) {
    incoming_ring_.emplace(ring.memory, ring.shape, cells_);
    joint_copies_.open_incoming(&incoming_ring_->joint_words());
    incoming_place_ = ring;
    incoming_.add(ChannelKind::ring);
  }
  /// The peer has sent a frame.
  void note_arrival() {
    if (outgoing_) outgoing_->note_answer();
  }
  [[nodiscard]] RingReceiver* incoming_ring() {
    return incoming_ring_ ? &*incoming_ring_ : nullptr;
  }
  /// Where it lies in our segment.
  [[nodiscard]] const Segment::Ring& incoming_place() const { return incoming_place_; }
  void close_incoming_ring() {
    cells_.close(Cells::Home::ours);
    joint_copies_.open_incoming(nullptr);
    incoming_ring_.reset();
    incoming_.remove(ChannelKind::ring);
  }
  /// Whether the peer may have to read in cells of our segment still.
  [[nodiscard]] bool has_own_cells_under_way() {
    return !lost_ && outgoing_ && outgoing_->has_own_cells_under_way();
  }
  /// The ring from the peer has freed what was read: if the peer waits for that, it is woken.
  void tell_of_room();
  /// Sends a frame of the transport itself; false if the queue is full now.
  bool send_control(FrameType type, std::span<const std::byte> body);
  /// Wakes the peer if it sleeps: it may wait for room that there is now.
  void wake_peer() const {
    if (wake_word_ != nullptr) waker_.wake(*wake_word_);
  }
  /// False once the process behind this link has ended.
  [[nodiscard]] bool is_alive() const;
  void lose() {
    channels_ = {};
    lost_ = true;
  }
  /// Times that the peer slept and was woken by a frame.
  [[nodiscard]] std::uint64_t wakes() const { return wakes_; }

  platform::LocalSocket connection;  // while connecting
  bool is_announced = false;         // the layer above knows this link
  /// The answer to the peer's question about its ring, while it waits for room in the peer's queue.
  struct RingAnswer {
    FrameType type;  // ring_grant, ring_refuse or ring_extended
    RingGrant grant;
  };
  std::optional<RingAnswer> answer_to_send;

 private:
  /// Carried in frames that are longer than a line, after which a ring is worth a long area
  /// and cells, or worth another question.
  static constexpr std::uint64_t longer_bytes_per_question = std::uint64_t{256} * 1024;

  /// As often in a row long frames are put off where a cell may come.
  static constexpr std::uint32_t put_offs_max = 2;

  QueueSlot* claim_slot();
  [[gnu::noinline]] FrameRoom reserve_in_ring(std::size_t head_bytes, std::size_t payload_bytes,
                                              std::size_t phase);
  [[gnu::noinline]] FrameRoom reserve_in_queue(std::size_t head_bytes, std::size_t payload_bytes);
  [[nodiscard]] bool is_prefetched(std::size_t bytes) const;
  [[nodiscard]] bool is_for_memory(const std::byte* to, std::size_t bytes,
                                   std::uint64_t message_bytes);
  void count_longer_frame(std::size_t bytes);
  /// Of messages both ways; null where the peer measures.
  [[nodiscard]] hostmem::OneCopyChoice* one_copy_choice() {
    return std::get_if<hostmem::OneCopyChoice>(&one_copy_);
  }
  /// Runs COPY of BYTES, whose time those who choose may want to know.
  template <class Copy>
  void copy_timed(hostmem::TimedCopy kind, std::size_t bytes, const Copy& copy);
  /// Whether one of the choices wants to know how long a run of BYTES takes.
  bool wants_time(hostmem::TimedCopy kind, std::size_t bytes);
  /// They are told.
  void note_time(hostmem::TimedCopy kind, std::size_t bytes, std::uint64_t ns);

  Identity identity_;
  std::uint32_t number_;
  hostmem::Waker waker_;
  const hostmem::WakeWord& own_word_;
  bool lost_ = false;
  bool attached_ = false;
  std::uint64_t wakes_ = 0;
  pid_t pid_ = 0;
  std::uint64_t start_time_ = 0;
  hostmem::WakeWord* wake_word_ = nullptr;
  PeerSegment segment_;
  QueueSender queue_;
  QueueSlot* claimed_ = nullptr;
  std::size_t claimed_bytes_ = 0;
  std::optional<RingSender> outgoing_;
  hostmem::MeasuredCopy copy_in_{hostmem::CopyEnds::to_peer};
  hostmem::MeasuredCopy copy_out_{hostmem::CopyEnds::from_peer};
  hostmem::MeasuredCopy copy_out_of_cell_{hostmem::CopyEnds::from_peer_to_us};
  hostmem::ColdPlaces cold_places_;
  /// Of messages both ways: we follow the peer, or measure for both.
  std::variant<hostmem::OneCopyFollower, hostmem::OneCopyChoice> one_copy_;
  ShmJointCopies joint_copies_;
  RingShape outgoing_shape_{};
  std::uint32_t put_off_ = 0;       // in a row
  std::uint64_t longer_bytes_ = 0;  // since the last question, in a ring without a long area
  std::optional<RingReceiver> incoming_ring_;
  Segment::Ring incoming_place_{};
  Cells cells_;
};

}  // namespace hawser::transport::shm
