// VerbsLink: one peer over the verbs transport.
//
// Ownership: owned by VerbsTransport; borrows its queues, owns the address handle.
// Threads:   the lane lock.
#pragma once

#include "transport/transport.hpp"
#include "transport/verbs/datagrams.hpp"

namespace hawser::transport::verbs {

class VerbsLink final : public Link {
 public:
  /// TEMPLATE: the header of all datagrams to this peer. EXPECTED_TOKEN: that of what it sends.
  VerbsLink(Datagrams& datagrams, const DatagramHeader& header, std::uint64_t expected_token)
      : datagrams_(datagrams), header_(header), expected_token_(expected_token) {}

  /// The peer can be reached: by TO at its QUEUE_PAIR, through ports of at most MTU (as the verbs
  /// number it).
  void open(AddressHandle to, std::uint32_t queue_pair, std::uint8_t mtu);
  [[nodiscard]] bool is_open() const { return to_ != nullptr; }
  [[nodiscard]] std::uint64_t expected_token() const { return expected_token_; }

  [[nodiscard]] std::size_t frame_bytes_max(ChannelKind kind) const override;
  std::byte* reserve(ChannelKind kind, std::size_t bytes) override;
  void commit(ChannelKind kind) override;
  [[nodiscard]] bool may_lose_frames() const override { return true; }
  bool send_once(ChannelKind kind, std::span<const std::byte> frame) override;
  Resent resend(ChannelKind kind, std::byte* frame, std::size_t bytes) override;
  void release(ChannelKind kind, std::byte* frame) override;
  bool ask(ChannelKind) override { return true; }
  bool give_back(ChannelKind) override { return true; }
  bool recall(ChannelKind) override { return true; }
  [[nodiscard]] bool is_away() const override { return false; }
  std::int64_t get(std::span<const MemoryPiece> local,
                   std::span<const MemoryPiece> remote) override;

 private:
  bool post(std::byte* datagram, std::size_t frame_bytes);

  Datagrams& datagrams_;
  const DatagramHeader header_;
  const std::uint64_t expected_token_;
  AddressHandle to_;
  std::uint32_t queue_pair_ = 0;
  std::size_t frame_bytes_max_ = 0;
  std::uint32_t kept_ = 0;  // frames that were not released yet
  std::byte* reserved_ = nullptr;
  std::size_t reserved_bytes_ = 0;
};

}  // namespace hawser::transport::verbs
