// Long messages that cross no other one: their receiver and their sender may copy them jointly.
#include "p2p/protocol/two_processes.hpp"

namespace hawser::p2p {
namespace {

constexpr std::size_t joint_bytes = 2 * copied_once_bytes;
constexpr std::size_t joint_half_bytes = joint_bytes / 2;
constexpr int more_than_patience = 200;  // more than a receiver has

class JointCopies : public TwoProcesses {
 protected:
  void open_joint(const channel::AssuranceSettings& assurance = {}, std::int64_t chunk = 1 << 20) {
    open(assurance, 0, chunk);
    for (Side* const side : {a.get(), b.get()}) {
      side->link().has_joint_copies = true;
      side->link().joint.pay = true;
    }
  }
  static channel::FakeJointCopies& joint(Side& side) { return side.link().joint; }
  static void progress(Side& side, int rounds) {
    for (int i = 0; i < rounds; ++i) side.backend.progress();
  }
  /// Has B offer A's half of the message, and copy its own.
  std::unique_ptr<Message> begin_one() {
    auto message = send(*a, *b, joint_bytes);
    progress(*b, 3);
    EXPECT_EQ(joint(*b).given.size(), 1U);
    EXPECT_EQ(joint(*b).got_bytes, joint_half_bytes);
    EXPECT_FALSE(message->receiving->is_complete());
    return message;
  }
  /// Each hears that the other is no more, as they do when a job ends early.
  void end_with_each_other() {
    a->end.table.lose({1, 1, 0}, "test");
    b->end.table.lose({1, 0, 0}, "test");
  }
  void expect_nothing_left() {
    EXPECT_TRUE(joint(*a).given.empty() && joint(*b).given.empty());
    EXPECT_FALSE(a->backend.has_work() || b->backend.has_work());
    EXPECT_EQ(a->peer().sends_under_way + b->peer().sends_under_way, 0U);
  }
};

TEST_F(JointCopies, EachSideCopiesOneHalf) {
  open_joint();
  finish(*send(*a, *b, joint_bytes));
  EXPECT_EQ(joint(*b).got_bytes, joint_half_bytes);
  EXPECT_EQ(joint(*a).put_bytes, joint_half_bytes);
  EXPECT_EQ(joint(*a).got_bytes + joint(*b).put_bytes, 0U);
  EXPECT_EQ(b->backend.fetches_by(FetchProtocol::joint_copy), 1U);
  EXPECT_EQ(b->copied(), joint_bytes);
  EXPECT_EQ(a->peer().sent(ChannelKind::single_copy).bytes, joint_bytes);
  EXPECT_EQ(a->peer().copies_expected, 0) << "the receiver says itself what it would be asked for";
  expect_nothing_left();
}

TEST_F(JointCopies, TheSameProcessTakesTheFrontOfBothDirections) {
  open_joint();
  const auto there = send(*a, *b, joint_bytes);
  finish(*there);
  EXPECT_EQ(joint(*b).first_got,
            reinterpret_cast<std::uint64_t>(there->in.data()) + joint_half_bytes);
  const auto back = send(*b, *a, joint_bytes);
  finish(*back);
  EXPECT_EQ(joint(*a).first_got, reinterpret_cast<std::uint64_t>(back->in.data()));
}

TEST_F(JointCopies, ASenderThatDoesNotComeLosesItsHalf) {
  open_joint();
  const auto message = begin_one();
  progress(*b, more_than_patience);
  EXPECT_TRUE(message->receiving->is_complete());
  EXPECT_EQ(message->in, message->out);
  EXPECT_EQ(joint(*b).got_bytes, joint_bytes);
  finish(*message);
  EXPECT_EQ(joint(*a).put_bytes, 0U) << "it comes too late";
  expect_nothing_left();
}

TEST_F(JointCopies, ASenderThatIsAtAnotherOneIsWaitedFor) {
  open_joint();
  joint(*b).peer_at_work = true;
  const auto message = begin_one();
  progress(*b, 10 * more_than_patience);
  EXPECT_FALSE(message->receiving->is_complete());
  EXPECT_TRUE(joint(*b).withdrawn.empty());
  finish(*message);
  EXPECT_EQ(joint(*a).put_bytes, joint_half_bytes);
}

TEST_F(JointCopies, ASenderThatHasTakenItsHalfIsWaitedFor) {
  open_joint();
  const auto message = begin_one();
  joint(*a).taken.insert(*joint(*b).given.begin());  // before the receiver withdraws it
  progress(*b, more_than_patience);
  EXPECT_FALSE(message->receiving->is_complete());
  joint(*b).withdrawn.clear();  // as if the sender had looked before
  finish(*message);
  EXPECT_EQ(joint(*a).put_bytes, joint_half_bytes);
  EXPECT_EQ(joint(*b).got_bytes, joint_half_bytes);
}

TEST_F(JointCopies, IfEachSeesTheOtherTheSenderStepsBack) {
  open_joint();
  const auto message = begin_one();
  joint(*a).taken.insert(*joint(*b).given.begin());
  progress(*b, more_than_patience);
  finish(*message);
  EXPECT_EQ(joint(*a).put_bytes, 0U);
  EXPECT_EQ(joint(*b).got_bytes, joint_bytes);
  EXPECT_EQ(joint(*b).given_up, 0) << "that is no reason";
  expect_nothing_left();
}

TEST_F(JointCopies, WhatTheSenderCanNotWriteIsRead) {
  open_joint();
  joint(*a).puts_left = 0;
  finish(*send(*a, *b, joint_bytes));
  EXPECT_EQ(joint(*b).got_bytes, joint_bytes);
  EXPECT_EQ(joint(*b).given_up, 1);
  expect_nothing_left();
}

TEST_F(JointCopies, WhatCanBeWrittenInPartComesByFrames) {
  open_joint({}, joint_half_bytes / 4);
  joint(*a).puts_left = 2;
  finish(*send(*a, *b, joint_bytes));
  EXPECT_EQ(joint(*a).put_bytes, joint_half_bytes / 2);
  EXPECT_EQ(joint(*b).given_up, 1);
  expect_nothing_left();
}

TEST_F(JointCopies, WhatTheReceiverCanNotReadComesByFrames) {
  open_joint({}, joint_half_bytes / 4);
  for (const std::size_t gets : {std::size_t{0}, std::size_t{2}}) {
    joint(*b).gets_left = gets;
    finish(*send(*a, *b, joint_bytes));
  }
  EXPECT_EQ(joint(*b).given_up, 2);
  expect_nothing_left();
}

TEST_F(JointCopies, LongHalvesAreCopiedInChunks) {
  constexpr std::int64_t chunk = 4096;
  open_joint({}, chunk);
  const auto message = send(*a, *b, joint_bytes);
  b->backend.progress();
  EXPECT_EQ(joint(*b).got_bytes, std::size_t{chunk});
  EXPECT_TRUE(b->backend.has_work());
  a->backend.progress();
  EXPECT_EQ(joint(*a).put_bytes, std::size_t{chunk});
  EXPECT_TRUE(a->backend.has_work());
  finish(*message);
  expect_nothing_left();
}

TEST_F(JointCopies, HalvesOfSeveralAreCopiedByOneCall) {
  open_joint();
  joint(*b).claims_max = 0;
  std::vector<std::unique_ptr<Message>> messages;
  for (int i = 0; i < 3; ++i) messages.push_back(send(*a, *b, joint_bytes));
  progress(*b, 10);
  EXPECT_EQ(joint(*b).calls, 0);
  joint(*b).claims_max = 3;
  b->backend.progress();
  EXPECT_EQ(joint(*b).calls, 1);
  EXPECT_EQ(joint(*b).got_bytes, 3 * joint_half_bytes);
  for (const auto& message : messages) finish(*message);
  expect_nothing_left();
}

TEST_F(JointCopies, MoreThanThereAreClaimsForWait) {
  open_joint();
  std::vector<std::unique_ptr<Message>> messages;
  for (std::size_t i = 0; i < 3 * joint(*b).claims_max; ++i)
    messages.push_back(send(*a, *b, joint_bytes + 100 * i));
  progress(*b, 20);
  EXPECT_EQ(joint(*b).given.size(), joint(*b).claims_max);
  for (const auto& message : messages) finish(*message);
  EXPECT_EQ(b->backend.fetches_by(FetchProtocol::joint_copy), messages.size());
  expect_nothing_left();
}

TEST_F(JointCopies, HowLongTheSenderTookIsKnownWhereItIsWanted) {
  open_joint();
  finish(*send(*a, *b, joint_bytes));
  EXPECT_EQ(joint(*b).timed_bytes, 0U);
  joint(*b).is_timing = true;
  finish(*send(*a, *b, joint_bytes));
  EXPECT_EQ(joint(*b).timed_bytes, joint_half_bytes);
  EXPECT_EQ(joint(*b).timed_ns, channel::FakeJointCopies::put_ns);
}

TEST_F(JointCopies, NotWhereTheyDoNotPay) {
  open_joint();
  joint(*b).pay = false;
  finish(*send(*a, *b, joint_bytes));
  EXPECT_EQ(joint(*b).asked, 1);
  EXPECT_EQ(b->copied(), 0U);
}

TEST_F(JointCopies, NotOfMessagesThatCross) {
  open_joint();
  exchange(joint_bytes);
  EXPECT_EQ(joint(*a).put_off + joint(*b).put_off, 2);
  EXPECT_EQ(joint(*a).asked + joint(*b).asked, 0);
}

TEST_F(JointCopies, NotOfShorterMessagesThanTheRulesSay) {
  open_joint();
  finish(*send(*a, *b, copied_once_bytes - 1));
  EXPECT_EQ(joint(*b).asked, 0);
}

TEST_F(JointCopies, NotOfWhatIsTooLongForItsReceive) {
  open_joint();
  const auto message = message_of(joint_bytes);
  message->in.resize(joint_bytes - 1);
  receive(*b, *message);
  send(*a, *message);
  for (int i = 0; i < 100; ++i) {
    a->backend.progress();
    b->backend.progress();
  }
  EXPECT_TRUE(message->receiving->is_complete() && message->sending->is_complete());
  EXPECT_EQ(joint(*b).asked, 0);
}

TEST_F(JointCopies, NotOfWhatWouldHaveToBeChecked) {
  open_joint({.crc = "single_copy"});
  finish(*send(*a, *b, joint_bytes));
  EXPECT_EQ(joint(*b).asked, 0);
}

TEST_F(JointCopies, WhoWouldBeAskedIsAsked) {
  open_joint();
  for (Side* const side : {a.get(), b.get()})
    side->peer().send_credit_bytes = std::int64_t{100} * joint_bytes;
  joint(*b).asks = false;
  const std::uint64_t before = a->backend.sends_by(SendProtocol::rendezvous);
  joint(*a).asks = true;  // so the peer's link says
  finish(*send(*a, *b, joint_bytes));
  EXPECT_EQ(a->backend.sends_by(SendProtocol::rendezvous), before + 1);
}

TEST_F(JointCopies, EndWithTheirPeer) {
  open_joint();
  const auto message = begin_one();
  end_with_each_other();
  EXPECT_TRUE(message->receiving->is_complete());
  EXPECT_NE(message->receiving->error(), nullptr);
  EXPECT_EQ(joint(*b).withdrawn.size(), 1U) << "should it live, it writes no more";
  EXPECT_TRUE(joint(*b).given.empty());
  EXPECT_FALSE(b->backend.has_work());
}

TEST_F(JointCopies, EndWithTheirPeerOnTheSendersSide) {
  open_joint({}, 4096);
  const auto message = send(*a, *b, joint_bytes);
  progress(*b, 2);
  progress(*a, 2);
  EXPECT_TRUE(a->backend.has_work());
  end_with_each_other();
  EXPECT_TRUE(message->sending->is_complete());
  EXPECT_NE(message->sending->error(), nullptr);
  EXPECT_FALSE(a->backend.has_work());
}

}  // namespace
}  // namespace hawser::p2p
