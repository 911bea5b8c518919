// ShmTransport: processes of one host over shared memory (DESIGN §4).
//
// One receive queue for all peers; a ring for each peer that earned one; single copies. Peers
// attach each other at first use (attach.hpp). An incoming frame is in this process's own segment,
// or in a cell of the peer's, which is mapped as long as this process likes: a peer may end as soon
// as its sends are committed.
// Wake-up:  every commit wakes the receiver's wake word if it sleeps; a connection attempt raises
//           `knock` in it, so that polling needs no system call.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/shm/link.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/settings.hpp"
#include "transport/transport.hpp"

namespace hawser::transport::shm {

class ShmTransport final : public Transport {
 public:
  struct Environment {
    Identity self;
    std::span<const std::byte, 32> key;       // the job's
    std::uint32_t local_rank;                 // of this process
    std::span<hostmem::WakeWord> wake_words;  // of all local processes
    hostmem::FencePayer fence_payer;
    memory::Ledger* ledger;
    Sink* sink;
  };
  static Result<std::unique_ptr<ShmTransport>> open(const Environment& environment,
                                                    const Settings& settings);
  ~ShmTransport() override;

  [[nodiscard]] std::string_view name() const override { return network_name; }
  [[nodiscard]] Rail rail() const override { return {network_name}; }
  [[nodiscard]] bool is_for_one_host() const override { return true; }
  Result<std::span<const std::byte>> address() override;
  Result<Link*> connect(const Identity& peer, std::span<const std::byte> address) override;
  bool progress() override;
  /// Times that a frame woke its receiver.
  [[nodiscard]] std::uint64_t wakes() const;
  [[nodiscard]] bool is_drained() const override;
  void leave() override;
  void come_back() override { segment_.set_away(false); }

 private:
  ShmTransport(const Environment& environment, const Settings& settings, Segment segment);

  ShmLink& link_for(const Identity& peer);
  AttachPacket make_packet(const ShmLink& link, std::uint16_t kind) const;
  void knock_at(std::uint32_t local_rank);
  void answer_knocks();
  void accept_connections();
  bool serve_incoming(platform::LocalSocket& connection);
  void poll_connection(ShmLink& link);
  bool attach(ShmLink& link, const AttachPacket& packet, const platform::FileDescriptor& segment,
              platform::LocalSocket& connection);

  bool poll_queue();
  bool poll_rings();
  bool poll_ring(ShmLink& link);
  void wait_for_claimer(std::uint32_t owner);
  void lose(ShmLink& link);
  void handle(ShmLink& link, FrameType type, std::span<const std::byte> frame);
  void drop_incoming_ring(ShmLink& link);
  void free_retired_rings();
  void answer_ring_ask(ShmLink& link);
  void extend_ring(ShmLink& link);
  bool flush_answers();

  /// A ring that the peer has given back.
  struct RetiredRing {
    ShmLink* link;
    Segment::Ring place;
    bool is_extended;
  };

  const Environment environment_;
  const Settings settings_;
  Segment segment_;
  QueueReceiver queue_;
  hostmem::WakeWord& own_word_;
  std::uint64_t cookie_;
  std::vector<std::byte> address_;  // see make_address in the .cpp
  platform::LocalSocket listener_;
  std::vector<platform::LocalSocket> incoming_;  // accepted, hello not yet read
  std::vector<std::unique_ptr<ShmLink>> links_;  // by number - 1
  std::unordered_map<Identity, ShmLink*> by_identity_;
  std::vector<ShmLink*> ring_links_;  // those whose incoming ring we poll
  std::vector<RetiredRing> retired_;  // not freed yet
  std::size_t connecting_ = 0;        // links with an open connection
  std::size_t attached_bytes_ = 0;    // charged for the segments of peers
  std::size_t busy_links_ = 0;        // links with an answer to send
  std::int64_t long_rings_ = 0;       // rings with a long area in our segment
  std::uint32_t claimed_polls_ = 0;   // of a head that is claimed and not ready
  std::uint32_t ring_rounds_ = 0;
};

}  // namespace hawser::transport::shm
