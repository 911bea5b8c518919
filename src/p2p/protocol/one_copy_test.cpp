// Long messages that cross between two processes of one host: their receiver may copy them once.
#include "p2p/protocol/two_processes.hpp"

namespace hawser::p2p {
namespace {

class OneCopy : public TwoProcesses {};

TEST_F(OneCopy, OfMessagesThatCrossWhereItPays) {
  open();
  b->link().one_copy_pays = true;
  exchange(copied_once_bytes);
  EXPECT_EQ(b->copied(), copied_once_bytes);
  EXPECT_EQ(a->copied(), 0U) << "who finds that it does not pay gets frames";
  EXPECT_EQ(a->peer().sent(ChannelKind::single_copy).bytes, copied_once_bytes);
  EXPECT_EQ(b->peer().sent(ChannelKind::single_copy).bytes, 0U);
}

TEST_F(OneCopy, NotOfMessagesOfOneDirection) {
  open();
  b->link().one_copy_pays = true;
  for (int i = 0; i < 20; ++i) finish(*send(*a, *b, copied_once_bytes));
  EXPECT_EQ(b->copied(), 0U);
  EXPECT_EQ(b->link().asked_for_copies, 0);
  EXPECT_EQ(a->peer().sends_under_way, 0U);
}

TEST_F(OneCopy, NotOfMessagesThatAlternate) {
  open();
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  for (int i = 0; i < 20; ++i) {
    finish(*send(*a, *b, copied_once_bytes));
    finish(*send(*b, *a, copied_once_bytes));
  }
  EXPECT_EQ(a->copied() + b->copied(), 0U);
}

TEST_F(OneCopy, WhatIsThereBeforeTheNextSendIsDecidedWithThat) {
  open();
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  exchange(copied_once_bytes);
  const std::uint64_t copied_before = b->copied();
  const auto there = message_of(copied_once_bytes);
  send(*a, *there);
  for (int i = 0; i < 10; ++i) {
    a->backend.progress();
    b->backend.progress();
  }
  receive(*b, *there);
  EXPECT_TRUE(b->backend.has_work());
  EXPECT_EQ(b->copied(), copied_before);
  const auto back = send(*b, *a, copied_once_bytes);
  EXPECT_EQ(b->copied(), copied_before + copied_once_bytes) << "it is chosen";
  b->backend.progress();
  EXPECT_FALSE(b->backend.has_work());
  finish(*there);
  finish(*back);
}

TEST_F(OneCopy, MessagesThatNoLongerCrossGoByFrames) {
  open();
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  exchange(copied_once_bytes);
  const std::uint64_t copied = b->copied();
  constexpr int crossings_remembered = 16;
  for (int i = 0; i < crossings_remembered; ++i) finish(*send(*a, *b, copied_once_bytes));
  EXPECT_EQ(b->copied(), copied);
  EXPECT_EQ(b->peer().crossings_remembered, 0);
}

TEST_F(OneCopy, IsAskedForAsLongAsItIsMade) {
  constexpr std::size_t longer_bytes = 2 * copied_once_bytes;
  open({}, longer_bytes - 1);
  for (Side* const side : {a.get(), b.get()})
    side->peer().send_credit_bytes = std::int64_t{100} * longer_bytes;
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  exchange(copied_once_bytes);
  EXPECT_EQ(a->copied() + b->copied(), 0U) << "they came unasked";
  exchange(longer_bytes);
  exchange(copied_once_bytes);
  EXPECT_EQ(b->copied(), longer_bytes + copied_once_bytes);
  EXPECT_EQ(a->copied(), longer_bytes + copied_once_bytes);
  a->link().one_copy_pays = b->link().one_copy_pays = false;
  constexpr int copies_expected = 16;
  const int asked_before = b->link().asked_for_copies;
  for (int i = 0; i < copies_expected + 5; ++i) exchange(copied_once_bytes);
  EXPECT_EQ(b->link().asked_for_copies - asked_before, copies_expected);
  EXPECT_EQ(a->peer().copies_expected, 0);
}

TEST_F(OneCopy, NotOfShorterMessages) {
  open();
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  exchange(copied_once_bytes - 1);
  EXPECT_EQ(a->copied() + b->copied(), 0U);
  EXPECT_EQ(a->link().asked_for_copies + b->link().asked_for_copies, 0);
}

TEST_F(OneCopy, WhatIsRefusedGoesByFrames) {
  open();
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  b->link().copies_left = 0;
  exchange(copied_once_bytes);
  EXPECT_EQ(a->copied(), copied_once_bytes);
}

TEST_F(OneCopy, WhatWouldHaveToBeCheckedGoesByFrames) {
  open({.crc = "single_copy"});
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  exchange(copied_once_bytes);
  EXPECT_EQ(a->copied() + b->copied(), 0U) << "nobody has a checksum of what may go by frames";
}

TEST_F(OneCopy, SeveralAreCopiedByOneCall) {
  open();
  b->link().one_copy_pays = true;
  const auto back = send(*b, *a, copied_once_bytes);  // which they cross
  std::vector<std::unique_ptr<Message>> messages;
  for (std::size_t i = 0; i < 3; ++i) {
    messages.push_back(message_of(copied_once_bytes + i));
    send(*a, *messages.back());
  }
  for (int i = 0; i < 10; ++i) b->end.table.progress();
  for (const auto& message : messages) receive(*b, *message);
  const int gets = b->link().gets;
  b->backend.progress();
  EXPECT_EQ(b->link().gets, gets + 1);
  for (const auto& message : messages) finish(*message);
  finish(*back);
}

TEST_F(OneCopy, ManyMessagesEachWayGoAsTheirReceiverLikes) {
  open();
  std::vector<std::unique_ptr<Message>> messages;
  for (int i = 0; i < 12; ++i) {
    messages.push_back(send(*a, *b, copied_once_bytes + static_cast<std::size_t>(i)));
    messages.push_back(send(*b, *a, copied_once_bytes));
    b->link().one_copy_pays = i % 3 == 0;
    a->backend.progress();
    b->backend.progress();
  }
  for (const auto& message : messages) finish(*message);
  EXPECT_EQ(a->peer().sends_under_way + b->peer().sends_under_way, 0U);
  EXPECT_GT(a->peer().sent(ChannelKind::single_copy).bytes, 0U);
}

}  // namespace
}  // namespace hawser::p2p
