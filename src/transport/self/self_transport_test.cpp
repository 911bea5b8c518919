#include "transport/self/self_transport.hpp"

#include <gtest/gtest.h>

#include "transport/contract_test.hpp"

namespace hawser::transport {
namespace {

using self::SelfTransport;

class SelfWorld final : public World {
 public:
  Transport& sender() override { return transport_; }
  Transport& receiver() override { return transport_; }
  RecordingSink& sender_sink() override { return sink_; }
  RecordingSink& receiver_sink() override { return sink_; }
  Link& connect() override { return **transport_.connect({}, {}); }

 private:
  memory::Ledger ledger_;
  RecordingSink sink_;
  SelfTransport transport_{sink_, ledger_};
};

INSTANTIATE_TEST_SUITE_P(Self, TransportContract,
                         ::testing::Values(ContractCase{
                             .name = "self",
                             .make_world = [] { return std::make_unique<SelfWorld>(); },
                             .channels = {ChannelKind::self, ChannelKind::single_copy},
                             .earned = {},
                             .is_bounded = false}));

/// Answers every frame with another one, a given number of times.
class EchoSink final : public RecordingSink {
 public:
  void on_frame(Link& link, ChannelKind kind, std::span<const std::byte> frame) override {
    RecordingSink::on_frame(link, kind, frame);
    if (echoes-- <= 0) return;
    make_frame({link.reserve(kind, 16), 16}, arrivals.size());
    link.commit(kind);
  }
  int echoes = 3;
};

TEST(SelfTransport, WhatADeliveryCausesComesWithTheNextPoll) {
  memory::Ledger ledger;
  EchoSink sink;
  SelfTransport transport(sink, ledger);
  Link& link = **transport.connect({}, {});
  make_frame({link.reserve(ChannelKind::self, 16), 16}, 0);
  link.commit(ChannelKind::self);
  for (std::size_t polls = 1; polls <= 4; ++polls) {
    EXPECT_FALSE(transport.is_drained());
    EXPECT_TRUE(transport.progress());
    EXPECT_EQ(sink.arrivals.size(), polls);
  }
  EXPECT_FALSE(transport.progress());
  EXPECT_TRUE(transport.is_drained());
  EXPECT_EQ(sink.damaged, 0);
}

TEST(SelfTransport, WaitingFramesAreInTheLedger) {
  memory::Ledger ledger;
  RecordingSink sink;
  SelfTransport transport(sink, ledger);
  Link& link = **transport.connect({}, {});
  for (int i = 0; i < 3; ++i) {
    make_frame({link.reserve(ChannelKind::self, 100), 100}, 0);
    link.commit(ChannelKind::self);
  }
  EXPECT_EQ(ledger.current_bytes(memory::Account::sender_fifo), 300);
  transport.progress();
  EXPECT_EQ(ledger.current_bytes(memory::Account::sender_fifo), 0);
}

TEST(SelfTransport, TakesAnyNumberOfFrames) {
  memory::Ledger ledger;
  RecordingSink sink;
  SelfTransport transport(sink, ledger);
  Link& link = **transport.connect({}, {});
  constexpr std::uint64_t frames = 100'000;
  for (std::uint64_t i = 0; i < frames; ++i) {
    make_frame({link.reserve(ChannelKind::self, 8), 8}, i);
    link.commit(ChannelKind::self);
  }
  while (transport.progress()) {
  }
  ASSERT_EQ(sink.arrivals.size(), frames);
  EXPECT_EQ(sink.arrivals.back().number, frames - 1);
}

}  // namespace
}  // namespace hawser::transport
