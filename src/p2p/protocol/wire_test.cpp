#include "p2p/protocol/wire.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hawser::p2p::wire {
namespace {

std::vector<std::byte> eager_body(std::uint32_t claimed_bytes, std::size_t real_bytes) {
  std::vector<std::byte> body(sizeof(MatchHeader) + real_bytes);
  put(body.data(), MatchHeader{4, 1, 9, claimed_bytes});
  return body;
}

/// With three bytes of payload.
std::vector<std::byte> rendezvous_body(const RendezvousHeader& header) {
  std::vector<std::byte> body(sizeof(MatchHeader) +
                              rendezvous_bytes(header.has_keys != 0, header.is_checked != 0) + 3);
  put_rendezvous(put(body.data(), MatchHeader{4, 1, 9, 3}), header);
  return body;
}

/// With PAYLOAD_BYTES of payload.
std::vector<std::byte> active_body(const ActiveHeader& header, std::size_t payload_bytes) {
  std::vector<std::byte> body(sizeof(header) + payload_bytes);
  put(body.data(), header);
  return body;
}

TEST(ParseActive, TakesPartsThatLieInsideOfTheirMessage) {
  const auto body = active_body({1, 7, 100, 60}, 40);
  const auto part = parse_active(body);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->header.number, 7U);
  EXPECT_EQ(part->payload.size(), 40U);
  EXPECT_TRUE(parse_active(active_body({1, 7, 0, 0}, 0)));
}

TEST(ParseActive, RefusesPartsThatDoNot) {
  EXPECT_FALSE(parse_active(active_body({1, 7, 100, 61}, 40)));
  EXPECT_FALSE(parse_active(active_body({1, 7, 100, 101}, 0)));
  EXPECT_FALSE(parse_active(active_body({1, 7, 100, 60}, 0)));
  EXPECT_FALSE(parse_active(active_body({1, 7, active_bytes_max + 1, 0}, 40)));
  const auto whole = active_body({1, 7, 10, 0}, 0);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_FALSE(parse_active(std::span(whole).first(bytes)));
}

TEST(ParseEager, TakesAWholeFrame) {
  const auto body = eager_body(5, 5);
  const auto eager = parse_eager(body);
  ASSERT_TRUE(eager);
  EXPECT_EQ(eager->match.tag, 9);
  EXPECT_EQ(eager->payload.size(), 5U);
}

TEST(ParseEager, RefusesLengthsThatDoNotAgree) {
  EXPECT_FALSE(parse_eager(eager_body(6, 5)));
  EXPECT_FALSE(parse_eager(eager_body(4, 5)));
  const auto body = eager_body(0, 0);
  for (std::size_t bytes = 0; bytes < body.size(); ++bytes)
    EXPECT_FALSE(parse_eager(std::span(body).first(bytes))) << bytes;
}

TEST(ParseEager, RefusesNegativeRanksAndTags) {
  auto body = eager_body(0, 0);
  put(body.data(), MatchHeader{4, -1, 9, 0});
  EXPECT_FALSE(parse_eager(body));
  put(body.data(), MatchHeader{4, 1, -2, 0});
  EXPECT_FALSE(parse_eager(body));
}

TEST(ParseEager, TakesAPayloadThatLiesApart) {
  const auto body = eager_body(5, 0);
  const std::vector<std::byte> payload(5);
  const auto eager = parse_eager({body, payload});
  ASSERT_TRUE(eager);
  EXPECT_EQ(eager->payload.data(), payload.data());
  EXPECT_EQ(eager->payload.size(), 5U);
  EXPECT_FALSE(parse_eager({body, std::span(payload).first(4)}));
  EXPECT_FALSE(parse_eager({std::span(body).first(8), payload}));
  EXPECT_FALSE(parse_eager({eager_body(5, 1), payload})) << "in two pieces";
}

TEST(ParseArrival, TakesAStream) {
  std::vector<std::byte> head(sizeof(MatchHeader) + sizeof(StreamHeader));
  put(put(head.data(), MatchHeader{4, 1, 9, 3}), StreamHeader{7, 100});
  const std::vector<std::byte> payload(3);
  const auto stream = parse_arrival(FrameClass::stream, {head, payload});
  ASSERT_TRUE(stream);
  EXPECT_EQ(stream->rendezvous.token, 7U);
  EXPECT_EQ(stream->rendezvous.total, 100U);
  EXPECT_EQ(stream->payload.size(), 3U);
  EXPECT_FALSE(parse_arrival(FrameClass::rendezvous, {head, payload}));
  for (std::size_t bytes = 0; bytes < head.size(); ++bytes)
    EXPECT_FALSE(parse_arrival(FrameClass::stream, {std::span(head).first(bytes), payload}));
  put(put(head.data(), MatchHeader{4, 1, 9, 3}), StreamHeader{7, 2});
  EXPECT_FALSE(parse_arrival(FrameClass::stream, {head, payload})) << "a total below its payload";
}

TEST(ParseArrival, RefusesAFrameWithoutAnOffer) {
  EXPECT_FALSE(parse_arrival(FrameClass::rendezvous, eager_body(0, 0)));
}

TEST(ParseArrival, RefusesEveryShorterFrame) {
  const auto body = rendezvous_body({1, 100, 0, Offer::frames, 0, 0, 0, {}, 0, 0});
  EXPECT_TRUE(parse_arrival(FrameClass::rendezvous, body));
  for (std::size_t bytes = 0; bytes < body.size(); ++bytes)
    EXPECT_FALSE(parse_arrival(FrameClass::rendezvous, std::span(body).first(bytes))) << bytes;
}

TEST(ParseArrival, RefusesATotalBelowItsPayload) {
  const auto body = rendezvous_body({1, 2, 0, Offer::frames, 0, 0, 0, {}, 0, 0});
  EXPECT_FALSE(parse_arrival(FrameClass::rendezvous, body));
}

TEST(ParseArrival, KeysAndAChecksumStandOnlyWhereTheHeaderSaysSo) {
  constexpr std::uint16_t no = 0, yes = 1;
  for (const std::uint16_t has_keys : {no, yes}) {
    for (const std::uint16_t is_checked : {no, yes}) {
      const auto body =
          rendezvous_body({1, 100, 8, Offer::get, 1, is_checked, has_keys, {9, 3, 2, 1}, 77, 0});
      EXPECT_EQ(body.size(), sizeof(MatchHeader) + 32 + 16U * has_keys + 8U * is_checked + 3);
      const auto arrival = parse_arrival(FrameClass::rendezvous, body);
      ASSERT_TRUE(arrival);
      EXPECT_EQ(arrival->rendezvous.checksum, is_checked != 0 ? 77U : 0U);
      EXPECT_EQ(arrival->rendezvous.keys[0], has_keys != 0 ? 9U : 0U);
      EXPECT_EQ(arrival->rendezvous.keys[3], has_keys != 0 ? 1U : 0U);
      EXPECT_EQ(arrival->rendezvous.offer, Offer::get);
      EXPECT_EQ(arrival->payload.size(), 3U);
      for (std::size_t bytes = 0; bytes < body.size(); ++bytes)
        EXPECT_FALSE(parse_arrival(FrameClass::rendezvous, std::span(body).first(bytes))) << bytes;
    }
  }
}

TEST(ParseArrival, AnOfferOfMemoryOfThisHostIsOneLineOfARing) {
  constexpr std::size_t line_frame_bytes = 56;
  EXPECT_EQ(eager_overhead + rendezvous_bytes(false, false), line_frame_bytes);
}

TEST(ParseArrival, RefusesNegativeRanksAndTags) {
  auto body = rendezvous_body({1, 100, 0, Offer::frames, 0, 0, 0, {}, 0, 0});
  const auto payload_bytes =
      static_cast<std::uint32_t>(body.size() - sizeof(MatchHeader) - rendezvous_bytes_min);
  put(body.data(), MatchHeader{4, 1, 9, payload_bytes});
  EXPECT_TRUE(parse_arrival(FrameClass::rendezvous, body));
  put(body.data(), MatchHeader{4, -1, 9, payload_bytes});
  EXPECT_FALSE(parse_arrival(FrameClass::rendezvous, body));
  put(body.data(), MatchHeader{4, 1, -2, payload_bytes});
  EXPECT_FALSE(parse_arrival(FrameClass::rendezvous, body));
}

}  // namespace
}  // namespace hawser::p2p::wire
