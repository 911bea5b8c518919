// A responder with tags, whose messages' payload lies elsewhere and may be gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "softrdma/qp/responder.hpp"

namespace softrdma::qp {
namespace {

constexpr std::uint32_t tagged_domain = 3;
constexpr std::uint32_t tagged_segment_bytes = 256;

/// The bytes of a packet in another process, which may take them back.
class Elsewhere final : public wire::PayloadSource {
 public:
  explicit Elsewhere(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  bool read(std::span<const std::span<std::byte>> parts) override {
    if (reads++ >= reads_max) return false;
    std::size_t offset = 0;
    for (const std::span<std::byte> part : parts) {
      if (part.size() > bytes_.size() - offset) return false;
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), part.size(), part.begin());
      offset += part.size();
    }
    return true;
  }
  int reads = 0;
  int reads_max = 1 << 20;

 private:
  std::vector<std::byte>& bytes_;
};

class TaggedReceive : public testing::Test, ResponderListener, ReceiveSource {
 protected:
  TaggedReceive() {
    context.domain = tagged_domain;
    context.segment_bytes = tagged_segment_bytes;
    context.reads_max = 1;
    key = *regions.insert({.address = 0,
                           .bytes = ram.size(),
                           .memory = ram.data(),
                           .domain = tagged_domain,
                           .access = IBV_ACCESS_LOCAL_WRITE});
    responder.start(0);
    message[0] = std::byte{IBV_TMH_EAGER};
    message[15] = std::byte{5};
    std::fill(message.begin() + wire::tag_header_bytes, message.end(), std::byte{9});
  }
  void add_tag(std::uint64_t id) {
    const ibv_sge entry{.addr = 0, .length = 1024, .lkey = key};
    tags.add(id, 5, ~std::uint64_t{0}, {&entry, 1});
  }
  void arrive(wire::Operation operation, std::uint32_t sequence, wire::PayloadSource& source,
              std::size_t bytes) {
    wire::Packet packet;
    packet.headers.opcode = {wire::Service::reliable_connection, operation};
    packet.headers.sequence = sequence;
    packet.shape = *wire::shape_of(packet.headers.opcode);
    packet.payload = {source, bytes};
    responder.on_request(packet);
  }
  void arrive(wire::Operation operation, std::uint32_t sequence, wire::PayloadSource& source) {
    arrive(operation, sequence, source, message.size());
  }

  void on_received(const Received& message_received) override {
    received.push_back(message_received);
  }
  void on_established() override {}
  void on_receive_failure(std::optional<ibv_event_type>) override { ++failures; }
  bool invalidate(std::uint32_t) override { return false; }
  void on_rendezvous(const Transfer&) override {}
  bool take_receive(std::uint32_t, std::uint64_t* id, std::vector<ibv_sge>* entries) override {
    *id = 77;
    entries->assign({{.addr = 0, .length = 1024, .lkey = key}});
    ++taken;
    return true;
  }

  Context context;
  memory::RegionTable regions{1};
  std::vector<std::byte> ram = std::vector<std::byte>(1024);
  std::uint32_t key = 0;
  queue::TagMatcher tags{4};
  std::vector<std::byte> message = std::vector<std::byte>(tagged_segment_bytes);
  std::vector<Received> received;
  int failures = 0;
  int taken = 0;
  Responder responder{context, regions, *this, *this, &tags};
};

TEST_F(TaggedReceive, AMessageWhosePayloadWasGoneKeepsItsBuffer) {
  add_tag(1);
  Elsewhere gone(message);
  gone.reads_max = 1;  // its header, not its data
  arrive(wire::Operation::send_first, 0, gone);
  EXPECT_EQ(gone.reads, 2);
  EXPECT_TRUE(received.empty());
  // What its sender has meanwhile put there changes nothing.
  message[15] = std::byte{6};
  Elsewhere there(message);
  arrive(wire::Operation::send_first, 0, there);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].tag.tag, 5U);
  arrive(wire::Operation::send_last, 1, there);
  ASSERT_EQ(received.size(), 2U);
  EXPECT_EQ(received[1].id, 1U);
  EXPECT_EQ(received[1].bytes, std::size_t{2} * tagged_segment_bytes - wire::tag_header_bytes);
  EXPECT_EQ(ram[0], std::byte{9});
  EXPECT_EQ(taken, 0);
}

TEST_F(TaggedReceive, AHeaderThatWasGoneMatchesNothing) {
  add_tag(1);
  Elsewhere gone(message);
  gone.reads_max = 0;
  arrive(wire::Operation::send_only, 0, gone);
  EXPECT_TRUE(received.empty());
  std::uint64_t id = 0;
  std::vector<ibv_sge> entries;
  EXPECT_TRUE(tags.take(5, &id, &entries)) << "it is still there";
  EXPECT_EQ(taken, 0);
}

TEST_F(TaggedReceive, AnUnexpectedMessageThatComesAgainIsCountedOnce) {
  Elsewhere gone(message);
  gone.reads_max = 1;
  arrive(wire::Operation::send_only, 0, gone);
  Elsewhere there(message);
  arrive(wire::Operation::send_only, 0, there);
  EXPECT_EQ(taken, 1);
  tags.synchronize(1);
  EXPECT_TRUE(tags.is_synchronized());
}

TEST_F(TaggedReceive, AMessageThatComesAgainTooShortIsRefused) {
  add_tag(1);
  Elsewhere gone(message);
  gone.reads_max = 1;
  arrive(wire::Operation::send_only, 0, gone);
  Elsewhere there(message);
  arrive(wire::Operation::send_only, 0, there, wire::tag_header_bytes - 1);
  EXPECT_EQ(failures, 1);
}

TEST_F(TaggedReceive, WhatIsStoppedGivesItsBufferBack) {
  add_tag(1);
  Elsewhere there(message);
  arrive(wire::Operation::send_first, 0, there);
  responder.stop();
  ASSERT_EQ(received.size(), 2U);
  EXPECT_EQ(received[1].id, 1U);
  EXPECT_EQ(received[1].status, IBV_WC_WR_FLUSH_ERR);
}

}  // namespace
}  // namespace softrdma::qp
