// Long messages between two processes by operations of one network, while their receiver copies a
// share by another one.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "channel/endpoint/fake_end.hpp"
#include "core/datatype/datatype.hpp"
#include "p2p/protocol/channel_backend.hpp"
#include "p2p/protocol/comm_of_two.hpp"

namespace hawser::p2p {
namespace {

using channel::End;
using channel::FakeTransport;
using transport::ChannelKind;

constexpr int message_bytes = 300'001;
constexpr std::uint64_t tick_ns = 10'000;
constexpr std::uint32_t byte_handle = 0x247;  // MPI_BYTE

struct Side {
  Side(channel::FakeNetwork& network, channel::FakeNetwork& beside_network,
       channel::FakeBootstrap::Directory& directory, int rank, std::uint64_t& now_ns,
       const ProtocolSettings& settings, const channel::AssuranceSettings& assurance)
      : end(network, directory, static_cast<std::uint32_t>(rank), 1, now_ns, assurance),
        beside(beside_network, static_cast<std::uint32_t>(rank), 0, end.table, "beside"),
        backend(end.table, end.ledger, settings),
        comm(comm_of_two(rank)) {
    end.transports[0]->channels.add(ChannelKind::rc_rdma);
    beside.channels.add(ChannelKind::single_copy);
    beside.announces = true;
    end.add(beside);
  }
  [[nodiscard]] FakeTransport& first() const { return *end.transports[0]; }
  [[nodiscard]] channel::Endpoint& peer() { return end.table.find_or_make({1, 1U - rank(), 0}); }
  [[nodiscard]] std::uint32_t rank() const { return static_cast<std::uint32_t>(comm->rank()); }
  [[nodiscard]] Envelope envelope() {
    return {comm.get(), static_cast<int>(1 - rank()), 0, Traffic::point_to_point};
  }

  End end;
  FakeTransport beside;
  ChannelBackend backend;
  Ref<Comm> comm;
};

class SideCopies : public ::testing::TestWithParam<std::string> {
 protected:
  void open(const channel::AssuranceSettings& assurance = {}, bool by_networks = true) {
    ProtocolSettings settings;
    settings.rdma = GetParam();
    settings.stripe_networks = by_networks;
    settings.stripe_bytes_min = 100'000;
    settings.single_copy_chunk_bytes = 8192;
    settings.pipeline_block_bytes = 16'384;
    settings.pipeline_depth = 2;
    settings.pipeline_eager_bytes = 4096;
    a = std::make_unique<Side>(network, beside, directory, 0, now_ns, settings, assurance);
    b = std::make_unique<Side>(network, beside, directory, 1, now_ns, settings, assurance);
    send(100'000);  // the next one finds both sides connected by both networks
    ASSERT_NO_FATAL_FAILURE(expect_received());
    before = received();
  }
  void TearDown() override {
    pass(2000);
    EXPECT_TRUE(a->backend.is_drained() && b->backend.is_drained());
    EXPECT_FALSE(a->backend.has_work() || b->backend.has_work());
    // However long the user keeps the requests, and whichever thread lets go of them.
    EXPECT_EQ(a->first().link(1).held + b->first().link(0).held, 0);
  }

  /// From A to B.
  void send(std::size_t bytes) {
    out.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      out[i] = static_cast<char>(i * 7 + (i >> 9) + static_cast<std::size_t>(sent));
    ++sent;
    in.assign(bytes, '-');
    core::Datatype& byte = *types.find(byte_handle);
    const auto count = static_cast<base::Count>(bytes);
    receiving = *b->backend.irecv({in.data(), count, &byte}, b->envelope());
    sending = *a->backend.isend({out.data(), count, &byte}, a->envelope(), SendMode::standard);
  }
  void pass(int ticks) {
    for (int i = 0; i < ticks; ++i) {
      now_ns += tick_ns;
      a->backend.progress();
      b->backend.progress();
    }
  }
  void expect_received() {
    for (int i = 0; i < 10'000 && !receiving->is_complete(); ++i) pass(1);
    ASSERT_TRUE(receiving->is_complete());
    EXPECT_EQ(receiving->error(), nullptr);
    EXPECT_EQ(in, out);
    pass(2000);
    EXPECT_EQ(sending->is_complete(), !a->first().holds_reports || GetParam() == "get");
  }
  void expect_copied_wrong_comes_again() {
    b->beside.link(0).damages_next = true;
    send(message_bytes);
    expect_received();
    EXPECT_EQ(b->peer().failed_checksum(), 1U);
    EXPECT_GE(received_since().by_frames, message_bytes) << "all of it";
    send(message_bytes);
    expect_received();
    EXPECT_EQ(b->peer().failed_checksum(), 1U);
  }
  /// Payload that has come by each channel.
  struct Received {
    std::uint64_t by_operations, copied, by_frames;
  };
  Received received() {
    const channel::Endpoint& peer = b->peer();
    return {peer.received(ChannelKind::rc_rdma).bytes,
            peer.received(ChannelKind::single_copy).bytes,
            peer.received(ChannelKind::ud_send).bytes};
  }
  Received received_since() {
    const Received now = received();
    return {now.by_operations - before.by_operations, now.copied - before.copied,
            now.by_frames - before.by_frames};
  }

  std::uint64_t now_ns = tick_ns;
  core::TypeTable types;
  channel::FakeNetwork network, beside;
  channel::FakeBootstrap::Directory directory;
  std::unique_ptr<Side> a, b;
  std::string out, in;
  Ref<Request> sending, receiving;
  Received before{};
  int sent = 0;
};

TEST_P(SideCopies, BothNetworksCarryAShareAndEachIsCounted) {
  open();
  send(message_bytes);
  expect_received();
  const Received shares = received_since();
  EXPECT_GE(shares.by_operations, message_bytes / 4);
  EXPECT_GE(shares.copied, message_bytes / 4);
  EXPECT_LE(shares.by_frames, 4096U) << "what comes while memory is registered";
  EXPECT_EQ(shares.by_operations + shares.copied + shares.by_frames, message_bytes);
}

TEST_P(SideCopies, ShorterMessagesGoByOne) {
  open();
  send(99'999);
  expect_received();
  EXPECT_EQ(received_since().copied, 0U);
}

TEST_P(SideCopies, NothingIsCopiedUnlessTheUserWantsIt) {
  open({}, false);
  send(message_bytes);
  expect_received();
  EXPECT_EQ(received().copied, 0U);
  EXPECT_EQ(a->beside.connected + b->beside.connected, 0);
}

TEST_P(SideCopies, WhatIsRefusedGoesByFrames) {
  for (const std::size_t copies : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    if (!a) open();
    before = received();
    b->beside.link(0).copies_left = copies;
    send(message_bytes);
    expect_received();
    EXPECT_LE(received_since().copied, copies * 8192);
    EXPECT_GT(received_since().by_frames, 0U);
  }
}

TEST_P(SideCopies, AnotherNetworkThatIsLostMeanwhileStopsNothing) {
  open();
  send(message_bytes);
  for (int i = 0; i < 1000 && !b->backend.has_work(); ++i) pass(1);
  b->end.table.on_lost(b->beside.link(0), "its connection was closed");
  expect_received();
  send(message_bytes);
  expect_received();
}

TEST_P(SideCopies, TheSenderKeepsItsMemoryUntilItsOwnOperationsAreReported) {
  open();
  a->first().holds_reports = true;
  send(message_bytes);
  expect_received();  // with put, finished has come before them
  a->first().holds_reports = false;
  pass(100);
  EXPECT_TRUE(sending->is_complete());
}

TEST_P(SideCopies, WhatWasCopiedWrongComesAgain) {
  ASSERT_NO_FATAL_FAILURE(open({.crc = "single_copy"}));
  expect_copied_wrong_comes_again();
}

TEST_P(SideCopies, WhatWasCopiedWrongComesAgainWhereAllIsChecked) {
  ASSERT_NO_FATAL_FAILURE(open({.crc = "on"}));
  expect_copied_wrong_comes_again();
}

TEST_P(SideCopies, AReceiveWhoseSenderIsLostFails) {
  open();
  send(message_bytes);
  for (int i = 0; i < 1000 && !b->backend.has_work(); ++i) pass(1);
  ASSERT_TRUE(b->backend.has_work());
  b->end.table.on_lost(b->first().link(0), "its process has ended");
  EXPECT_FALSE(b->backend.has_work());
  pass(100);  // operations end
  ASSERT_TRUE(receiving->is_complete());
  EXPECT_NE(receiving->error(), nullptr);
  a->end.table.on_lost(a->first().link(1), "its process has ended");
  pass(100);
  EXPECT_TRUE(sending->is_complete());
}

INSTANTIATE_TEST_SUITE_P(Ways, SideCopies, ::testing::Values("get", "put", "pipeline"),
                         [](const auto& way) { return way.param; });

}  // namespace
}  // namespace hawser::p2p
