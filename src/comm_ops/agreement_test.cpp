// Agreements of groups whose messages come late and in any order, and whose members die at every
// step, the middle of a broadcast included. A failing seed is printed.
#include "comm_ops/agreement.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace hawser::comm_ops {
namespace {

/// The members of one agreement, all that is on its way between them, and their deaths.
class World {
 public:
  World(std::uint32_t seed, int size) : random_(seed), size_(size) {
    for (int rank = 0; rank < size; ++rank) {
      members_.emplace_back(size, rank);
      lives_.push_back(true);
      events_.push_back([this, rank] { start(rank); });
    }
  }

  /// DEATHS of the members die, each at some step.
  void run(int deaths) {
    while (!events_.empty()) {
      if (deaths > 0 && doomed_ < 0 && below(6) == 0) {
        --deaths;
        die();
      }
      // Now and then the latest overtakes all others, so that some come very late.
      const int waiting = static_cast<int>(events_.size());
      const auto next = static_cast<std::ptrdiff_t>(below(3) == 0 ? waiting - 1 : below(waiting));
      const std::function<void()> event = std::move(events_[static_cast<std::size_t>(next)]);
      events_.erase(events_.begin() + next);
      event();
    }
  }

  /// All that live have decided, and nobody anything else.
  void check() const {
    const Agreement::Decision* first = nullptr;
    for (int rank = 0; rank < size_; ++rank) {
      const auto& decision = member(rank).decision();
      if (!decision) {
        EXPECT_FALSE(lives(rank)) << "rank " << rank << " lives and has not decided";
        continue;
      }
      if (first == nullptr) first = &*decision;
      EXPECT_EQ(*first, *decision) << "rank " << rank << " has decided something else";
    }
    if (first != nullptr) check_survivors(*first);
  }

 private:
  /// The blobs of those that live are in it, and none of them is said to be dead.
  void check_survivors(const Agreement::Decision& decision) const {
    for (int rank = 0; rank < size_; ++rank) {
      if (!lives(rank)) continue;
      EXPECT_FALSE(decision.failed.has(rank)) << rank;
      EXPECT_EQ(decision.blobs[static_cast<std::size_t>(rank)], blob_of(rank)) << rank;
      EXPECT_EQ(decision.value & (1U << rank), 0U) << rank;
    }
  }

  static Agreement::Blob blob_of(int rank) {
    return {static_cast<std::uint64_t>(rank) + 1, ~std::uint64_t{0}};
  }
  int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  Agreement& member(int rank) { return members_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Agreement& member(int rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bool lives(int rank) const { return lives_[static_cast<std::size_t>(rank)]; }

  void start(int rank) {
    if (!lives(rank)) return;
    Agreement::Contribution contribution{~(1U << rank), blob_of(rank), RankSet(size_),
                                         RankSet(size_)};
    for (int other = 0; other < size_; ++other)
      if (!lives(other) && below(2) == 0) contribution.failed.add(other);
    member(rank).start(std::move(contribution));
    post(rank);
  }
  /// What RANK has to send is on its way; if it is doomed, it dies in the middle of a broadcast.
  void post(int rank) {
    std::vector<Agreement::Message> messages = member(rank).take_messages();
    const bool dies = rank == doomed_ && messages.size() > 1;
    if (dies) messages.resize(static_cast<std::size_t>(below(static_cast<int>(messages.size()))));
    for (Agreement::Message& message : messages)
      events_.push_back([this, from = rank, message = std::move(message)] {
        if (!lives(message.to)) return;
        member(message.to).on_message(from, message.bytes);
        post(message.to);
      });
    if (dies) kill(rank);
  }
  /// Half of those who die are coordinators, and most in the middle of something.
  void die() {
    int rank = below(size_);
    for (int lowest = 0; lowest < size_ && below(2) == 0; ++lowest)
      if (lives(lowest)) rank = lowest;
    if (!lives(rank)) return;
    if (below(4) == 0) {
      kill(rank);
    } else {
      doomed_ = rank;
    }
  }
  void kill(int rank) {
    doomed_ = -1;
    lives_[static_cast<std::size_t>(rank)] = false;
    for (int other = 0; other < size_; ++other) {
      if (other == rank) continue;
      events_.push_back([this, rank, other] {
        if (!lives(other)) return;
        member(other).on_failed(rank);
        post(other);
      });
    }
  }

  std::mt19937 random_;
  const int size_;
  std::vector<Agreement> members_;
  std::vector<bool> lives_;
  std::vector<std::function<void()>> events_;
  int doomed_ = -1;  // dies at its next broadcast
};

TEST(Agreement, DecidesTheConjunctionOfAllWhenNobodyDies) {
  World world(1, 5);
  world.run(0);
  world.check();
}

TEST(Agreement, DecidesOneValueWhoeverDies) {
  constexpr std::uint32_t seeds = 8000;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const int size = 1 + static_cast<int>(seed % 8);
    World world(seed, size);
    world.run(static_cast<int>(seed / 8) % size);
    world.check();
    if (::testing::Test::HasFailure()) return;
  }
}

/// The messages that a member of two has to send.
std::vector<std::vector<std::byte>> messages_of(Agreement& member) {
  std::vector<std::vector<std::byte>> all;
  for (Agreement::Message& message : member.take_messages())
    all.push_back(std::move(message.bytes));
  return all;
}

Agreement::Contribution contribution() { return {5, {1, 2}, RankSet(2), RankSet(2)}; }

TEST(Agreement, PassesOverMessagesThatAreNotWhatTheyShouldBe) {
  Agreement member(2, 1);
  member.start(contribution());
  const auto sent = messages_of(member);
  ASSERT_EQ(sent.size(), 1U);
  Agreement coordinator(2, 0);
  coordinator.start(contribution());
  for (std::size_t bytes = 0; bytes < sent[0].size(); ++bytes)
    coordinator.on_message(1, std::span(sent[0]).first(bytes));
  std::mt19937 random(7);
  for (int i = 0; i < 10'000; ++i) {
    std::vector<std::byte> damaged(random() % 200);
    for (std::byte& byte : damaged) byte = static_cast<std::byte>(random() % 6);
    coordinator.on_message(1, damaged);
  }
  EXPECT_FALSE(coordinator.decision());
}

TEST(Agreement, AcceptsNothingOfACoordinatorThatItHasLeft) {
  const auto contribution_of_three = [] {
    return Agreement::Contribution{5, {}, RankSet(3), RankSet(3)};
  };
  std::vector<Agreement> members;
  for (int rank = 0; rank < 3; ++rank) {
    members.emplace_back(3, rank);
    members.back().start(contribution_of_three());
  }
  for (int rank = 1; rank < 3; ++rank)
    for (auto& bytes : messages_of(members[static_cast<std::size_t>(rank)]))
      members[0].on_message(rank, bytes);
  const auto proposals = members[0].take_messages();
  ASSERT_EQ(proposals.size(), 2U);
  members[2].on_failed(0);
  EXPECT_EQ(messages_of(members[2]).size(), 1U);  // to member 1
  members[2].on_message(0, proposals[1].bytes);
  EXPECT_TRUE(members[2].take_messages().empty());
}

TEST(Agreement, AnswersALateCoordinatorWithTheDecision) {
  Agreement member(3, 2);
  member.start({5, {}, RankSet(3), RankSet(3)});
  member.take_messages();
  Agreement late(3, 1);
  late.start({5, {}, RankSet(3), RankSet(3)});
  late.take_messages();
  // The coordinator got as far as telling member 2.
  Agreement first(3, 0);
  first.start({4, {}, RankSet(3), RankSet(3)});
  Agreement other(3, 1);
  other.start({5, {}, RankSet(3), RankSet(3)});
  Agreement third(3, 2);
  third.start({5, {}, RankSet(3), RankSet(3)});
  for (auto& bytes : messages_of(other)) first.on_message(1, bytes);
  for (auto& bytes : messages_of(third)) first.on_message(2, bytes);
  for (const Agreement::Message& message : first.take_messages()) {
    (message.to == 1 ? late : member).on_message(0, message.bytes);
  }
  for (auto& bytes : messages_of(late)) first.on_message(1, bytes);
  for (auto& bytes : messages_of(member)) first.on_message(2, bytes);
  for (const Agreement::Message& message : first.take_messages())
    if (message.to == 2) member.on_message(0, message.bytes);
  ASSERT_TRUE(member.decision());
  EXPECT_EQ(member.decision()->value, 4U);
  // Member 1 heard nothing of it, and takes over.
  late.on_failed(0);
  for (const Agreement::Message& message : late.take_messages())
    if (message.to == 2) member.on_message(1, message.bytes);
  for (auto& bytes : messages_of(member)) late.on_message(2, bytes);
  ASSERT_TRUE(late.decision());
  EXPECT_EQ(*late.decision(), *member.decision());
}

}  // namespace
}  // namespace hawser::comm_ops
