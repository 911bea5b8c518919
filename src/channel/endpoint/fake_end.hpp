// One process of tests with several: an endpoint table over transports of a fake network, and a
// handler that notes which frames arrived.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "channel/endpoint/endpoint_table.hpp"
#include "channel/endpoint/fake_rails.hpp"

namespace hawser::channel {

class RecordingHandler : public FrameHandler {
 public:
  void on_frame(Endpoint&, ChannelKind, std::span<const std::byte> frame) override {
    std::uint32_t number = 0;
    std::memcpy(&number, frame.data() + sizeof(FramePrefix), sizeof(number));
    numbers.push_back(number);
  }
  void on_frame_apart(Endpoint& from, ChannelKind kind, const FrameView& frame) override {
    on_frame(from, kind, frame.head);
  }
  bool on_turn(void*) override { return true; }
  void on_lost(Endpoint&) override { ++lost; }
  void on_forgotten(Endpoint&) override { ++forgotten; }
  void on_operation_done(Endpoint&, std::uint64_t, bool) override {}
  void on_clearance(Endpoint&, std::uint64_t, const transport::Clearance&) override {}

  std::vector<std::uint32_t> numbers;
  int lost = 0;
  int forgotten = 0;
};

inline Policy policy_of(const PolicySettings& settings) {
  auto policy = Policy::parse(settings, {.ranks = 2, .oversubscribed = false});
  return std::move(*policy);
}

struct End {
  End(FakeNetwork& network, FakeBootstrap::Directory& directory, std::uint32_t index,
      std::uint8_t rails, std::uint64_t& now_ns, const AssuranceSettings& how = {})
      : assurance(how),
        bootstrap(directory, index),
        table({{1, index, 0},
               &addresses,
               &bootstrap,
               &ledger,
               &policy,
               settings,
               0,
               assurance,
               *DeliveryChannels::parse(how),
               [&now_ns] { return now_ns; }}),
        alone(nobody, index, 0, table) {
    table.set_handler(handler);
    table.set_self_transport(alone);
    EXPECT_TRUE(policy.set_ud_max(512).ok());
    for (std::uint8_t rail = 0; rail < rails; ++rail) {
      auto& made =
          transports.emplace_back(std::make_unique<FakeTransport>(network, index, rail, table));
      add(*made);
    }
  }
  ~End() { table.give_frames_back(); }
  /// A further transport, behind the others.
  void add(FakeTransport& transport) {
    EXPECT_TRUE(bootstrap.publish(transport.name(), *transport.address()).ok());
    table.add_transport(transport);
  }

  PolicySettings settings;
  AssuranceSettings assurance;
  memory::Ledger ledger;
  Policy policy = policy_of(settings);
  RecordingHandler handler;
  FakeBootstrap bootstrap;
  bootstrap::AddressBook addresses{bootstrap};
  EndpointTable table;
  FakeNetwork nobody;
  FakeTransport alone;
  std::vector<std::unique_ptr<FakeTransport>> transports;
};

}  // namespace hawser::channel
