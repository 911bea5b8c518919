// A network of several rails for tests: datagrams between processes of one program, which a test
// loses by taking a port down, with or without an event, or by cutting a rail. Several networks
// have names of their own; links may have operations on memory, and copies, since all memory is
// that of this one process. What has arrived can be looked at as in a ring.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "channel/endpoint/fake_joint_copies.hpp"
#include "transport/transport.hpp"

namespace hawser::channel {

class FakeTransport;

/// The rails: who is at them, and whether they carry anything.
struct FakeNetwork {
  struct RailState {
    std::map<std::uint32_t, FakeTransport*> ends;
    bool is_cut = false;
    std::size_t frames = 0;  // that arrived
  };
  std::array<RailState, transport::rails_max> rails;
};

class FakeLink final : public transport::Link {
 public:
  FakeLink(FakeTransport& own, std::uint32_t peer);
  ~FakeLink() override { EXPECT_TRUE(kept_.empty()) << "every frame is released where it is kept"; }

  [[nodiscard]] transport::ChannelSet possible_channels() const override { return channels_; }
  [[nodiscard]] std::size_t frame_bytes_max(transport::ChannelKind) const override { return 1024; }
  std::byte* reserve(transport::ChannelKind, std::size_t bytes) override {
    return kept_.emplace_back(std::vector<std::byte>(bytes)).data();
  }
  void commit(transport::ChannelKind) override {
    send(kept_.back());
    if (!may_lose_frames()) kept_.pop_back();
  }
  [[nodiscard]] transport::Rail rail() const override;
  [[nodiscard]] bool is_up() const override;
  void break_connection() override { ++broken; }
  void abandon() override { ++abandoned; }
  [[nodiscard]] bool may_lose_frames() const override;
  bool send_once(transport::ChannelKind, std::span<const std::byte> frame) override {
    send(frame);
    return true;
  }
  Resent resend(transport::ChannelKind, std::byte* frame, std::size_t bytes,
                bool /*may_be_damaged*/) override {
    EXPECT_TRUE(keeps(frame));
    send({frame, bytes});
    return Resent::sent;
  }
  [[nodiscard]] bool is_under_way(std::byte* /*frame*/) const override { return has_connection; }
  Resent send_copy(std::span<const std::byte> frame) override {
    EXPECT_FALSE(keeps(frame.data()));
    ++copies;
    send(frame);
    return Resent::sent;
  }
  void release(transport::ChannelKind, std::byte* frame) override {
    EXPECT_TRUE(keeps(frame));
    std::erase_if(kept_, [&](const auto& each) { return each.data() == frame; });
  }
  bool ask(transport::ChannelKind kind) override {
    ++asked_times;
    return earnable_.has(kind);
  }
  bool give_back(transport::ChannelKind kind) override {
    ++given_back_times;
    channels_.remove(kind);
    return true;
  }
  bool recall(transport::ChannelKind) override { return false; }
  std::span<const std::byte> front(transport::ChannelKind) override;
  void pop(transport::ChannelKind) override;
  [[nodiscard]] bool is_away() const override { return false; }
  [[nodiscard]] bool notices_end() const override;
  void keep_in_touch(std::uint64_t /*until_ns*/) override { ++kept_in_touch; }
  std::int64_t get(std::span<const transport::MemoryPiece> local,
                   std::span<const transport::MemoryPiece> remote) override {
    ++gets;
    std::int64_t copied = 0;
    for (std::size_t i = 0; i < local.size() && i < remote.size() && copies_left > 0; ++i) {
      --copies_left;
      const std::size_t bytes = std::min(local[i].bytes, remote[i].bytes);
      copy(local[i].address, remote[i].address, bytes);
      if (std::exchange(damages_next, false))
        *reinterpret_cast<std::byte*>(local[i].address) ^= std::byte{1};
      copied += static_cast<std::int64_t>(bytes);
      if (local[i].bytes != remote[i].bytes) break;
    }
    return copied > 0 ? copied : -1;
  }
  [[nodiscard]] bool does_one_copy_pay(std::size_t /*bytes*/) override {
    ++asked_for_copies;
    return one_copy_pays;
  }
  [[nodiscard]] FakeJointCopies* joint_copies() override {
    return has_joint_copies ? &joint : nullptr;
  }
  transport::Result<std::unique_ptr<transport::HeldMemory>> hold(std::uint64_t /*address*/,
                                                                 std::size_t /*bytes*/) override {
    struct Held final : transport::HeldMemory {
      explicit Held(int& counter) : count(++counter) {}
      ~Held() override { --count; }
      [[nodiscard]] std::uint32_t remote_key() const override { return 1; }
      [[nodiscard]] std::uint32_t local_key() const override { return 2; }
      int& count;
    };
    return std::unique_ptr<transport::HeldMemory>(std::make_unique<Held>(held));
  }
  bool start(const transport::Operation& operation) override;

  /// As if all its channels needed a connection, which is gone, or there again.
  void set_channels(transport::ChannelSet channels) { channels_ = channels; }

  /// As if the peer sent through a ring in our memory.
  void set_incoming(transport::ChannelSet incoming) { incoming_ = incoming; }

  /// Which channels ask() may bring, and which it can't while others have all.
  void set_earnable(transport::ChannelSet earnable, transport::ChannelSet crowded_out) {
    earnable_ = earnable;
    crowded_out_ = crowded_out;
  }

  int held = 0;  // pieces of this process's memory now
  int asked_times = 0;
  int given_back_times = 0;
  int broken = 0;
  int abandoned = 0;
  int kept_in_touch = 0;
  int copies = 0;
  bool has_connection = false;          // that carries all its frames
  std::size_t copies_left = 1'000'000;  // before all others are refused
  bool damages_next = false;            // of them
  bool one_copy_pays = false;
  int gets = 0;
  int asked_for_copies = 0;  // whether they pay
  bool has_joint_copies = false;
  FakeJointCopies joint;

 private:
  static void copy(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  }
  void send(std::span<const std::byte> frame);
  [[nodiscard]] bool keeps(const std::byte* frame) const {
    return std::ranges::any_of(kept_, [&](const auto& each) { return each.data() == frame; });
  }

  FakeTransport& own_;
  const std::uint32_t peer_;
  std::deque<std::vector<std::byte>> kept_;
};

class FakeTransport final : public transport::Transport {
 public:
  FakeTransport(FakeNetwork& network, std::uint32_t index, std::uint8_t rail, transport::Sink& sink,
                const std::string& network_name = "fake")
      : state_(network.rails.at(rail)),
        index_(index),
        rail_(rail),
        network_name_(network_name),
        name_(rail == 0 ? network_name : network_name + "." + std::to_string(rail)),
        sink_(sink) {
    state_.ends[index] = this;
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] transport::Rail rail() const override { return {network_name_, rail_}; }
  transport::Result<std::span<const std::byte>> address() override {
    return std::as_bytes(std::span(&index_, 1));
  }
  transport::Result<transport::Link*> connect(const transport::Identity& peer,
                                              std::span<const std::byte>) override {
    ++connected;
    if (announces) send(peer.index, {});
    return &link(peer.index);
  }
  bool progress() override {
    if (!done.empty() && !holds_reports) {
      const auto [link, token] = done.front();
      done.pop_front();
      sink_.on_operation_done(*link, token, true);
      return true;
    }
    if (inbox_.empty()) return false;
    const auto [from, frame] = std::move(inbox_.front());
    inbox_.pop_front();
    const bool is_new = !links_.contains(from);
    FakeLink& by = link(from);
    if (is_new) {
      sink_.on_link(by, {1, from, 0});
      sink_.on_channels_changed(by);
    }
    if (frame.empty()) return true;
    ++state_.frames;
    sink_.on_frame(by, transport::ChannelKind::ud_send, frame);
    return true;
  }
  [[nodiscard]] bool is_drained() const override { return true; }
  void leave() override {}
  void come_back() override {}

  void set_up(bool is_up) {
    is_up_ = is_up;
    for (const auto& [peer, each] : links_) sink_.on_link_state(*each);
  }
  [[nodiscard]] bool is_up() const { return is_up_; }
  [[nodiscard]] FakeLink& link(std::uint32_t peer) {
    auto& known = links_[peer];
    if (!known) known = std::make_unique<FakeLink>(*this, peer);
    return *known;
  }
  [[nodiscard]] std::uint32_t index() const { return index_; }
  /// The other end of the link to PEER.
  [[nodiscard]] FakeLink& peer_link(std::uint32_t peer) {
    return state_.ends.at(peer)->link(index_);
  }
  [[nodiscard]] bool has_link(std::uint32_t peer) const { return links_.contains(peer); }
  void send(std::uint32_t to, std::span<const std::byte> frame) {
    FakeTransport& end = *state_.ends.at(to);
    if (state_.is_cut || !is_up_ || !end.is_up_) return;
    end.inbox_.emplace_back(index_, std::vector<std::byte>(frame.begin(), frame.end()));
  }

  [[nodiscard]] std::span<const std::byte> front_from(std::uint32_t peer) const {
    if (inbox_.empty() || inbox_.front().first != peer) return {};
    return inbox_.front().second;
  }
  void pop() { inbox_.pop_front(); }

  bool may_lose_frames = true;
  bool notices_end = true;  // its links notice a peer that vanishes
  bool announces = false;   // a link to its peer as soon as it is made, as shared memory does
  int connected = 0;
  transport::ChannelSet channels{transport::ChannelKind::ud_send};  // of its links
  std::deque<std::pair<FakeLink*, std::uint64_t>> done;  // operations: their links and tokens
  bool holds_reports = false;                            // of them

 private:
  FakeNetwork::RailState& state_;
  const std::uint32_t index_;
  const std::uint8_t rail_;
  const std::string network_name_;
  const std::string name_;
  transport::Sink& sink_;
  bool is_up_ = true;
  std::map<std::uint32_t, std::unique_ptr<FakeLink>> links_;
  std::deque<std::pair<std::uint32_t, std::vector<std::byte>>> inbox_;
};

inline FakeLink::FakeLink(FakeTransport& own, std::uint32_t peer)
    : joint(own.index() < peer,
            [&own, peer]() -> FakeJointCopies& { return own.peer_link(peer).joint; }),
      own_(own),
      peer_(peer) {
  channels_ = own.channels;
}
inline bool FakeLink::start(const transport::Operation& operation) {
  const bool is_get = operation.kind == transport::Operation::Kind::get;
  copy(is_get ? operation.local_address : operation.remote_address,
       is_get ? operation.remote_address : operation.local_address, operation.bytes);
  own_.done.emplace_back(this, operation.token);
  return true;
}
inline transport::Rail FakeLink::rail() const { return own_.rail(); }
inline bool FakeLink::notices_end() const { return own_.notices_end; }
inline bool FakeLink::may_lose_frames() const { return own_.may_lose_frames; }
inline std::span<const std::byte> FakeLink::front(transport::ChannelKind) {
  return own_.front_from(peer_);
}
inline void FakeLink::pop(transport::ChannelKind) { own_.pop(); }
inline bool FakeLink::is_up() const { return own_.is_up(); }
inline void FakeLink::send(std::span<const std::byte> frame) { own_.send(peer_, frame); }

/// Addresses that all processes of a test see at once.
class FakeBootstrap final : public bootstrap::Bootstrap {
 public:
  using Directory = std::map<std::pair<std::uint32_t, std::string>, std::vector<std::byte>>;
  FakeBootstrap(Directory& directory, std::uint32_t index) : directory_(directory) {
    placement_.self = {1, index, 0};
    placement_.size = 2;
  }
  [[nodiscard]] const bootstrap::Placement& placement() const override { return placement_; }
  bootstrap::Result<void> publish(std::string_view key, std::span<const std::byte> value) override {
    directory_[{placement_.self.index, std::string(key)}].assign(value.begin(), value.end());
    return {};
  }
  bootstrap::Result<std::optional<std::vector<std::byte>>> look_up(std::uint32_t index,
                                                                   std::string_view key) override {
    const auto found = directory_.find({index, std::string(key)});
    std::optional<std::vector<std::byte>> value;
    if (found != directory_.end()) value = found->second;
    if (after_look_up) std::exchange(after_look_up, nullptr)();
    return value;
  }
  [[nodiscard]] std::optional<HostMemory> host_memory() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint32_t> local_rank_of(std::uint32_t) const override {
    return std::nullopt;
  }
  /// The other process has died, but nobody knows until it is looked for.
  [[nodiscard]] std::uint32_t ended_count() const override { return looks > 0 && has_died ? 1 : 0; }
  [[nodiscard]] Ending ending_of(std::uint32_t index) const override {
    return index != placement_.self.index && ended_count() > 0 ? Ending::died : Ending::none;
  }
  void look_for_ended() override { ++looks; }
  [[nodiscard]] std::uint64_t look_interval_ns() const override { return look_interval; }
  void arrive_at_end() override {}
  [[nodiscard]] bool have_all_arrived_at_end() const override { return true; }
  void report_initialized() override {}
  void report_finalized() override {}
  [[noreturn]] void abort(int, std::string_view) override { std::abort(); }

  std::function<void()> after_look_up;  // called once
  std::uint64_t look_interval = 0;
  int looks = 0;
  bool has_died = false;

 private:
  Directory& directory_;
  bootstrap::Placement placement_;
};

}  // namespace hawser::channel
