// SelfTransport: frames from this process to itself: a queue in private memory, drained by
// progress(), so that a send never calls back into its sender.
//
// Single copies are plain copies. The queue is bounded by memory alone, since sender and receiver
// are one and headers are not bounded (DESIGN §4); it is charged to the ledger.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "memory/ledger/ledger.hpp"
#include "transport/transport.hpp"

namespace hawser::transport::self {

class SelfLink final : public Link {
 public:
  explicit SelfLink(memory::Ledger& ledger) : ledger_(ledger) {
    channels_ = {ChannelKind::self, ChannelKind::single_copy};
  }
  /// A frame of 64 KiB is copied twice; longer messages are copied once, by get().
  static constexpr std::size_t frame_bytes_largest = 65536;

  [[nodiscard]] ChannelSet possible_channels() const override { return channels_; }
  [[nodiscard]] std::size_t frame_bytes_max(ChannelKind) const override {
    return frame_bytes_largest;
  }
  std::byte* reserve(ChannelKind kind, std::size_t bytes) override;
  void commit(ChannelKind kind) override;
  bool ask(ChannelKind) override { return true; }
  bool give_back(ChannelKind) override { return true; }
  bool recall(ChannelKind) override { return true; }
  [[nodiscard]] bool is_away() const override { return false; }
  std::int64_t get(std::span<const MemoryPiece> local,
                   std::span<const MemoryPiece> remote) override;

  /// Delivers what was committed before the call.
  bool deliver(Sink& sink);
  [[nodiscard]] bool is_empty() const { return frames_.empty(); }

 private:
  struct Frame {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes;
  };
  memory::Ledger& ledger_;
  Frame reserved_{};
  std::deque<Frame> frames_;
};

class SelfTransport final : public Transport {
 public:
  SelfTransport(Sink& sink, memory::Ledger& ledger) : sink_(sink), link_(ledger) {}

  [[nodiscard]] std::string_view name() const override { return "self"; }
  Result<std::span<const std::byte>> address() override { return std::span<const std::byte>(); }
  Result<Link*> connect(const Identity&, std::span<const std::byte>) override { return &link_; }
  bool progress() override { return !link_.is_empty() && link_.deliver(sink_); }
  [[nodiscard]] bool is_drained() const override { return link_.is_empty(); }
  void leave() override {}
  void come_back() override {}

 private:
  Sink& sink_;
  SelfLink link_;
};

}  // namespace hawser::transport::self
