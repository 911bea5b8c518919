#include "softrdma/cm/message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "softrdma/cm/ip_service.hpp"

namespace softrdma::cm {
namespace {

std::uint8_t byte_at(const Datagram& datagram, std::size_t at) {
  return std::to_integer<std::uint8_t>(datagram[at]);
}

template <std::size_t count>
std::array<std::byte, count> pattern(std::uint8_t first) {
  std::array<std::byte, count> out;
  for (std::byte& byte : out) byte = static_cast<std::byte>(first++);
  return out;
}

ConnectRequest some_request() {
  return {.local_id = 0x01020304,
          .service = 0x0000000001061234,
          .adapter_guid = 0x0200000000000001,
          .queue_key = 5,
          .queue_pair = 0x123456,
          .responder_resources = 7,
          .initiator_depth = 8,
          .remote_response_timeout = 17,
          .transport = Service::unreliable,
          .flow_control = true,
          .starting_sequence = 0xabcdef,
          .local_response_timeout = 18,
          .retry_count = 6,
          .partition_key = 0xfffe,
          .path_mtu = 4,
          .not_ready_retry_count = 5,
          .retries_max = 15,
          .has_shared_receives = true,
          .path = {.local_lid = 1,
                   .remote_lid = 2,
                   .local_gid = pattern<16>(0x10),
                   .remote_gid = pattern<16>(0x30),
                   .flow_label = 0xabcde,
                   .rate = 16,
                   .traffic_class = 3,
                   .hop_limit = 64,
                   .service_level = 4,
                   .is_subnet_local = true,
                   .ack_timeout = 14},
          .private_data = pattern<92>(1)};
}

TEST(CmMessage, HeaderSaysWhatItIs) {
  const Datagram datagram = build(some_request(), 0x1122334455667788);
  EXPECT_EQ(byte_at(datagram, 0), 1);
  EXPECT_EQ(byte_at(datagram, 1), 7);
  EXPECT_EQ(byte_at(datagram, 2), 2);
  EXPECT_EQ(byte_at(datagram, 3), 3);
  EXPECT_EQ(byte_at(datagram, 8), 0x11);
  EXPECT_EQ(byte_at(datagram, 15), 0x88);
  EXPECT_EQ(byte_at(datagram, 16), 0);
  EXPECT_EQ(byte_at(datagram, 17), 0x10);
}

TEST(CmMessage, RequestHasItsFieldsWhereTheSpecificationWantsThem) {
  const Datagram datagram = build(some_request(), 1);
  constexpr std::size_t data = 24;
  EXPECT_EQ(byte_at(datagram, data), 0x01);
  EXPECT_EQ(byte_at(datagram, data + 13), 0x06);
  EXPECT_EQ(byte_at(datagram, data + 32), 0x12);
  EXPECT_EQ(byte_at(datagram, data + 35), 7);
  EXPECT_EQ(byte_at(datagram, data + 39), 8);
  EXPECT_EQ(byte_at(datagram, data + 43), 17 << 3 | 1 << 1 | 1);
  EXPECT_EQ(byte_at(datagram, data + 47), 18 << 3 | 6);
  EXPECT_EQ(byte_at(datagram, data + 50), 4 << 4 | 5);
  EXPECT_EQ(byte_at(datagram, data + 51), 15 << 4 | 1 << 3);
  EXPECT_EQ(byte_at(datagram, data + 56), 0x10);
  EXPECT_EQ(byte_at(datagram, data + 94), 4 << 4 | 1 << 3);
  EXPECT_EQ(byte_at(datagram, data + 140), 1);
}

TEST(CmMessage, EveryMessageIsTheSameAfterItsBytes) {
  const Message messages[] = {
      some_request(),
      Delay{.local_id = 1, .remote_id = 2, .of = Kind::reply, .service_timeout = 24},
      Rejection{.local_id = 3,
                .remote_id = 4,
                .of = Kind::other,
                .information_bytes = 8,
                .reason = 28,
                .information = pattern<72>(2),
                .private_data = pattern<148>(3)},
      ConnectReply{.local_id = 5,
                   .remote_id = 6,
                   .queue_key = 7,
                   .queue_pair = 8,
                   .starting_sequence = 0xfedcba,
                   .responder_resources = 9,
                   .initiator_depth = 10,
                   .target_ack_delay = 11,
                   .flow_control = true,
                   .not_ready_retry_count = 7,
                   .has_shared_receives = true,
                   .adapter_guid = 12,
                   .private_data = pattern<196>(4)},
      ReadyToUse{.local_id = 13, .remote_id = 14, .private_data = pattern<224>(5)},
      DisconnectRequest{.local_id = 15, .remote_id = 16, .remote_queue_pair = 0x654321},
      DisconnectReply{.local_id = 17, .remote_id = 18, .private_data = pattern<224>(6)},
      ServiceRequest{.request_id = 19, .service = 20, .private_data = pattern<216>(7)},
      ServiceReply{.request_id = 21,
                   .status = 2,
                   .queue_pair = 22,
                   .service = 23,
                   .queue_key = 24,
                   .private_data = pattern<136>(8)}};
  static_assert(std::size(messages) == std::variant_size_v<Message>);
  for (const Message& message : messages) {
    const Datagram bytes = build(message, 99);
    const std::optional<Message> parsed = parse(bytes);
    ASSERT_TRUE(parsed) << message.index();
    EXPECT_EQ(parsed->index(), message.index());
    EXPECT_EQ(build(*parsed, 99), bytes) << message.index();
  }
  const auto parsed = parse(build(messages[0], 1));
  const auto& request = std::get<ConnectRequest>(*parsed);
  EXPECT_EQ(request.service, 0x0000000001061234U);
  EXPECT_EQ(request.starting_sequence, 0xabcdefU);
  EXPECT_EQ(request.path.flow_label, 0xabcdeU);
  EXPECT_EQ(request.path.ack_timeout, 14);
  EXPECT_EQ(request.path.remote_gid, pattern<16>(0x30));
  EXPECT_EQ(request.private_data, pattern<92>(1));
}

TEST(CmMessage, WhatIsCutOrOfAnotherClassIsNone) {
  Datagram bytes = build(ReadyToUse{}, 1);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(parse(std::span(bytes).first(length))) << length;
  for (const std::size_t field : {0U, 1U, 2U, 3U, 17U}) {
    Datagram wrong = bytes;
    wrong[field] = std::byte{0x7f};
    EXPECT_FALSE(parse(wrong)) << field;
  }
  bytes[17] = std::byte{0x0f};
  EXPECT_FALSE(parse(bytes));
}

TEST(CmMessage, RandomBytesAreParsedOrRefused) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Datagram bytes = build(ReadyToUse{}, 1);
    bytes[17] = static_cast<std::byte>(0x10 + random() % 16);
    for (std::size_t i = 24; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random());
    const std::optional<Message> message = parse(bytes);
    EXPECT_EQ(message.has_value(), std::to_integer<int>(bytes[17]) <= 0x18);
    if (!message) continue;
    // Reserved bits go; what is left stays.
    EXPECT_EQ(build(*parse(build(*message, 2)), 2), build(*message, 2));
  }
}

TEST(CmIpService, HeaderIsTheSameAfterItsBytes) {
  wire::Address ipv4{};
  ipv4[10] = ipv4[11] = std::byte{0xff};
  ipv4[12] = std::byte{10};
  ipv4[15] = std::byte{7};
  const wire::Address ipv6 = pattern<16>(0x20);
  for (const wire::Address& address : {ipv4, ipv6}) {
    std::array<std::byte, 92> data{};
    build_ip_header({.source_port = 4711, .source = address, .destination = address},
                    std::span(data).first<ip_header_bytes>());
    const std::optional<IpHeader> parsed = parse_ip_header(data);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->source_port, 4711);
    EXPECT_EQ(parsed->source, address);
    EXPECT_EQ(parsed->destination, address);
  }
}

TEST(CmIpService, OtherPrivateDataIsNoHeader) {
  std::array<std::byte, 92> data{};
  EXPECT_FALSE(parse_ip_header(data));
  data[1] = std::byte{0x40};
  EXPECT_TRUE(parse_ip_header(data));
  EXPECT_FALSE(parse_ip_header(std::span(data).first(ip_header_bytes - 1)));
  data[0] = std::byte{0x10};
  EXPECT_FALSE(parse_ip_header(data));
}

}  // namespace
}  // namespace softrdma::cm
