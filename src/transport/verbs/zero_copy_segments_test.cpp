#include "transport/verbs/zero_copy_segments.hpp"

#include <gtest/gtest.h>

namespace hawser::transport::verbs {
namespace {

using Step = IncomingSegments::Step;

constexpr ZeroCopySettings four_at_a_time{
    .receive_depth = 4, .first_timeout_ns = 1000, .next_timeout_ns = 10};
constexpr std::size_t full_bytes = 100;
constexpr std::uint32_t the_transfer = 7;

std::uint32_t immediate(std::uint32_t segment) {
  return SegmentNumber{the_transfer, segment}.bits();
}

IncomingSegments started(std::size_t message_bytes) {
  IncomingSegments segments;
  segments.start(the_transfer, {message_bytes, full_bytes}, four_at_a_time);
  return segments;
}

TEST(SegmentNumber, HasItsPlacesInTheImmediateData) {
  constexpr SegmentNumber number{0xabc, 0x12345};
  EXPECT_EQ(number.bits(), 0xabc12345U);
  EXPECT_EQ(SegmentNumber::from_bits(0xabc12345U), number);
}

TEST(Segmentation, TheLastSegmentHasTheRest) {
  EXPECT_EQ((Segmentation{1, 100}.count()), 1U);
  EXPECT_EQ((Segmentation{100, 100}.count()), 1U);
  constexpr Segmentation cut{201, 100};
  EXPECT_EQ(cut.count(), 3U);
  EXPECT_EQ(cut.bytes_of(1), 100U);
  EXPECT_EQ(cut.bytes_of(2), 1U);
  EXPECT_EQ(cut.offset_of(2), 200U);
}

TEST(ClearToSend, MustBeAboutTheMessageAndThePort) {
  constexpr ClearToSend right{.queue_pair = 5,
                              .queue_key = 1,
                              .transfer = 4095,
                              .segment_bytes = 100,
                              .first_segment = 2,
                              .segments = 3};
  EXPECT_TRUE(right.fits(500, 256));
  EXPECT_TRUE(right.fits(401, 100));
  EXPECT_FALSE(right.fits(400, 256)) << "a segment too many";
  EXPECT_FALSE(right.fits(500, 99)) << "longer than a datagram";
  const auto changed = [&right](auto member, auto value) {
    ClearToSend clear = right;
    clear.*member = value;
    return clear.fits(500, 256);
  };
  EXPECT_FALSE(changed(&ClearToSend::segments, 0U));
  EXPECT_FALSE(changed(&ClearToSend::segments, 0xffff'ffffU));
  EXPECT_FALSE(changed(&ClearToSend::first_segment, 0xffff'fffeU));
  EXPECT_FALSE(changed(&ClearToSend::segment_bytes, std::uint16_t{0}));
  EXPECT_FALSE(changed(&ClearToSend::transfer, std::uint16_t{4096}));
  EXPECT_FALSE(changed(&ClearToSend::queue_pair, 1U << 24));
}

TEST(IncomingSegments, BatchesAreAlikeAndTheLastOneFinishes) {
  IncomingSegments segments = started(900);
  std::uint32_t arrived = 0;
  for (const Step at_the_end : {Step::next_batch, Step::next_batch, Step::finished}) {
    const IncomingSegments::Batch batch = segments.open_batch(0);
    EXPECT_EQ(batch.first, arrived);
    ASSERT_EQ(batch.count, 3U) << "rather than 4, 4 and 1";
    EXPECT_EQ(segments.on_segment(immediate(arrived++), 100, 0), Step::wait);
    EXPECT_EQ(segments.on_segment(immediate(arrived++), 100, 0), Step::wait);
    EXPECT_EQ(segments.on_segment(immediate(arrived++), 100, 0), at_the_end);
    EXPECT_EQ(segments.deadline_ns(), never_ns);
  }
}

TEST(IncomingSegments, AnotherNumberThanTheNextIsAFailure) {
  for (const std::uint32_t wrong :
       {immediate(1) + 1, immediate(0), SegmentNumber{the_transfer + 1, 1}.bits()}) {
    IncomingSegments segments = started(400);
    segments.open_batch(0);
    ASSERT_EQ(segments.on_segment(immediate(0), 100, 0), Step::wait);
    EXPECT_EQ(segments.on_segment(wrong, 100, 0), Step::failed);
  }
}

TEST(IncomingSegments, AnotherLengthIsAFailure) {
  for (const std::size_t wrong : {0U, 49U, 51U, 100U}) {
    IncomingSegments segments = started(150);
    segments.open_batch(0);
    ASSERT_EQ(segments.on_segment(immediate(0), 100, 0), Step::wait);
    EXPECT_EQ(segments.on_segment(immediate(1), wrong, 0), Step::failed);
  }
}

TEST(IncomingSegments, OneAheadOfItsBatchIsAFailure) {
  IncomingSegments segments = started(500);
  const IncomingSegments::Batch batch = segments.open_batch(0);
  for (std::uint32_t i = 0; i < batch.count; ++i) segments.on_segment(immediate(i), 100, 0);
  EXPECT_EQ(segments.on_segment(immediate(batch.count), 100, 0), Step::failed);
}

TEST(IncomingSegments, SilenceIsAFailureSoonerOnceTheSenderHasBegun) {
  IncomingSegments segments = started(800);
  EXPECT_EQ(segments.deadline_ns(), never_ns);
  segments.open_batch(5);
  EXPECT_EQ(segments.deadline_ns(), 1005U);
  EXPECT_EQ(segments.on_time(1004), Step::wait);
  segments.on_segment(immediate(0), 100, 900);
  EXPECT_EQ(segments.deadline_ns(), 910U);
  EXPECT_EQ(segments.on_time(909), Step::wait);
  for (std::uint32_t i = 1; i < 4; ++i) segments.on_segment(immediate(i), 100, 905);
  segments.open_batch(906);
  EXPECT_EQ(segments.on_time(1905), Step::wait) << "a batch begins anew";
  EXPECT_EQ(segments.on_time(1906), Step::failed);
  EXPECT_EQ(segments.deadline_ns(), never_ns);
}

}  // namespace
}  // namespace hawser::transport::verbs
