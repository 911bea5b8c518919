#include "collective/team/teams.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "base/copy.hpp"
#include "collective/byte_type.hpp"
#include "tests/support/thread_backend.hpp"

namespace hawser::collective {
namespace {

using test::Rank;
using test::run_ranks;

/// One member with its settings.
struct Member {
  Member(Rank& rank, const TeamSettings& settings, bool reads = true)
      : teams(rank.engine, ledger,
              TeamHost{&rank.host, rank.words, hostmem::FencePayer::waker, reads}, settings),
        board_account(rank.rank == 0 ? memory::Account::collective : memory::Account::attachments) {
  }
  /// What is charged for its boards.
  [[nodiscard]] std::int64_t board_bytes() const { return ledger.current_bytes(board_account); }
  /// The next blocking call on COMM.
  Team* call(core::Comm& comm) { return teams.of(comm, comm.next_collective_tag()); }

  memory::Ledger ledger;
  Teams teams;
  memory::Account board_account;
};

TEST(Teams, AreEarnedByCalls) {
  run_ranks(3, false, [](Rank& rank) {
    Member member(rank, {.shared_after = 3});
    const auto world = rank.world();
    EXPECT_EQ(member.call(*world), nullptr);
    EXPECT_EQ(member.call(*world), nullptr);
    Team* const team = member.call(*world);
    ASSERT_NE(team, nullptr);
    EXPECT_EQ(member.call(*world), team);
    EXPECT_EQ(team->rank(), rank.rank);
    EXPECT_EQ(team->size(), 3);
    EXPECT_FALSE(team->has_last());
    EXPECT_GT(member.board_bytes(), static_cast<std::int64_t>(team->room()));
  });
}

TEST(Teams, ReadAndWriteMemoryIfAllMembersAreWilling) {
  for (const int unwilling : {-1, 2}) {
    run_ranks(3, false, [&](Rank& rank) {
      Member member(rank, {.shared_after = 1}, rank.rank != unwilling);
      const auto world = rank.world();
      Team& team = *member.call(*world);
      EXPECT_EQ(team.can_read(), unwilling < 0);
      if (!team.can_read()) return;
      std::vector<int> mine(100'000, rank.rank);
      const auto address = reinterpret_cast<std::uint64_t>(mine.data());
      std::memcpy(team.begin(sizeof(address)), &address, sizeof(address));
      team.arrive();
      team.await_all();
      const int other = (rank.rank + 1) % 3;
      std::uint64_t there = 0;
      std::memcpy(&there, team.shown_by(other, sizeof(there)), sizeof(there));
      std::vector<int> theirs(mine.size());
      EXPECT_TRUE(team.read(other, there, reinterpret_cast<std::byte*>(theirs.data()),
                            theirs.size() * sizeof(int)));
      EXPECT_EQ(theirs, std::vector<int>(mine.size(), other));
      EXPECT_FALSE(team.read(other, 8, reinterpret_cast<std::byte*>(theirs.data()), 8));
      EXPECT_FALSE(team.do_all_say(rank.rank != 1));
      const std::vector<int> ours(mine.size() / 2, 100 + rank.rank);
      const auto* const from = reinterpret_cast<const std::byte*>(ours.data());
      EXPECT_TRUE(team.write(other, there, from, ours.size() * sizeof(int)));
      EXPECT_FALSE(team.write(other, 8, from, 8));
      EXPECT_TRUE(team.do_all_say(true));
      EXPECT_EQ(mine.front(), 100 + (rank.rank + 2) % 3);
      EXPECT_EQ(mine[ours.size()], rank.rank);
      EXPECT_TRUE(team.do_all_say(true));
    });
  }
}

TEST(Teams, ShareABoard) {
  run_ranks(4, true, [](Rank& rank) {
    Member member(rank, {.shared_after = 1});
    const auto world = rank.world();
    Team& team = *member.call(*world);
    EXPECT_TRUE(team.has_last());
    for (int round = 0; round < 100; ++round) {
      const int mine = 1000 * round + rank.rank;
      std::memcpy(team.begin(sizeof(mine)), &mine, sizeof(mine));
      team.arrive();
      team.await_all();
      for (int other = 0; other < team.size(); ++other) {
        int theirs = -1;
        std::memcpy(&theirs, team.shown_by(other, sizeof(theirs)), sizeof(theirs));
        EXPECT_EQ(theirs, 1000 * round + other);
      }
    }
  });
}

TEST(Teams, GetMorePlacesByCallsOneWay) {
  run_ranks(2, false, [](Rank& rank) {
    Member member(rank, {.shared_after = 2, .shared_bytes = 1 << 20});
    const auto world = rank.world();
    member.call(*world);
    Team& team = *member.call(*world);
    constexpr std::size_t block = 16 << 10;
    const std::int64_t before = member.board_bytes();
    // Neither what has as many places elsewhere, nor what is too long, nor all to all.
    for (int i = 0; i < 5; ++i) {
      team.room_for(hostmem::middle_bytes, Flow::one_way);
      team.room_for(block + 1, Flow::one_way);
      team.room_for(block, Flow::all_ways);
    }
    EXPECT_EQ(member.board_bytes(), before);
    // Rank 0 shows as much as there are places for, before the other one looks.
    const auto show = [&](int value) {
      team.room_for(block, Flow::one_way);
      std::memset(team.begin(block), value, block);
      team.show();
    };
    const auto hear = [&](int value) {
      team.room_for(block, Flow::one_way);
      team.listen_to(0, block);
      const std::vector<std::byte> expected(block, static_cast<std::byte>(value));
      return std::memcmp(team.shown_by(0, block), expected.data(), block) == 0;
    };
    for (int value = 0; value < 2; ++value) {
      if (rank.rank == 0) {
        show(value);
      } else {
        EXPECT_TRUE(hear(value));
      }
    }
    constexpr auto area_bytes =
        std::int64_t{2} * hostmem::block_steps * static_cast<std::int64_t>(block);
    EXPECT_GE(member.board_bytes() - before, area_bytes);
    EXPECT_LE(member.board_bytes() - before, area_bytes + 65536) << "a page or two more";
    constexpr int ahead = hostmem::block_steps - 4;
    for (int value = 10; value < 10 + ahead && rank.rank == 0; ++value) show(value);
    std::byte token{};
    const p2p::Envelope to_other{world.get(), 1 - rank.rank, 7, core::Traffic::collective};
    if (rank.rank == 0) {
      EXPECT_TRUE(
          rank.engine.send({&token, 1, &byte_type()}, to_other, p2p::SendMode::standard).ok());
    } else {
      EXPECT_TRUE(rank.engine.recv({&token, 1, &byte_type()}, to_other, nullptr).ok());
      for (int value = 10; value < 10 + ahead; ++value) EXPECT_TRUE(hear(value)) << value;
    }
    EXPECT_TRUE(team.do_all_say(true));
  });
}

TEST(Teams, GetMoreRoomByLongCalls) {
  run_ranks(2, false, [](Rank& rank) {
    Member member(rank, {.shared_after = 2, .shared_bytes = 1 << 20});
    const auto world = rank.world();
    member.call(*world);
    Team& team = *member.call(*world);
    constexpr std::size_t first_room = 64 << 10, whole_room = 512 << 10, bytes = 300'000;
    const std::int64_t before = member.board_bytes();
    EXPECT_EQ(team.room_for(100, Flow::all_ways), first_room);
    EXPECT_EQ(team.room_for(first_room, Flow::all_ways), first_room);
    EXPECT_EQ(team.room_for(bytes, Flow::all_ways), first_room);
    EXPECT_EQ(team.room_for(bytes, Flow::all_ways), whole_room);
    EXPECT_EQ(team.room_for(100, Flow::all_ways), whole_room);
    EXPECT_LT(team.room_for(bytes, Flow::one_way), whole_room);
    EXPECT_EQ(member.board_bytes() - before,
              std::int64_t{3} * hostmem::long_steps * static_cast<std::int64_t>(whole_room));
    for (int step = 0; step < 5; ++step) {
      const std::vector<std::byte> mine(bytes, static_cast<std::byte>(10 * step + rank.rank));
      team.copy_in(team.begin(bytes), mine.data(), bytes);
      team.arrive();
      team.await_all();
      std::vector<std::byte> theirs(bytes);
      const int other = 1 - rank.rank;
      base::copy_bytes(theirs.data(), team.shown_by(other, bytes), bytes);
      EXPECT_EQ(theirs, std::vector<std::byte>(bytes, static_cast<std::byte>(10 * step + other)));
    }
  });
}

TEST(Teams, CopyForOneMemberAsSuitsThatOne) {
  run_ranks(3, false, [](Rank& rank) {
    Member member(rank, {.shared_after = 1});
    const auto world = rank.world();
    Team& team = *member.call(*world);
    const int to = (rank.rank + 1) % 3, from = (rank.rank + 2) % 3;
    const std::int64_t before = member.ledger.current_bytes(memory::Account::collective);
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{3000}, std::size_t{40'000}}) {
      const auto values = [&](int of) {
        std::vector<std::byte> all(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
          all[i] = static_cast<std::byte>(i * 7 + i / 256 + static_cast<std::size_t>(of));
        return all;
      };
      for (int step = 0; step < 40; ++step) {
        team.copy_to(to, team.begin(bytes), values(rank.rank).data(), bytes);
        team.arrive();
        team.await_all();
        std::vector<std::byte> theirs(bytes);
        base::copy_bytes(theirs.data(), team.shown_by(from, bytes), bytes);
        EXPECT_EQ(theirs, values(from));
      }
      const std::int64_t more = member.ledger.current_bytes(memory::Account::collective) - before;
      if (bytes < base::long_copy_bytes) {
        EXPECT_EQ(more, 0) << "nothing is kept of short runs";
      } else {
        EXPECT_GT(more, 0);
        EXPECT_LT(more, 512) << "of the member that reads";
      }
    }
    team.begin(0);
    team.arrive();
    team.await_all();
  });
}

TEST(Teams, MembersDecideAContestAlike) {
  run_ranks(3, false, [](Rank& rank) {
    Member member(rank, {.shared_after = 1});
    {
      const auto comm = rank.world();
      Team* const team = member.call(*comm);
      ASSERT_NE(team, nullptr);
      const auto before = member.ledger.current_bytes(memory::Account::collective);
      Contest& contest = team->contest(Contested::reduce, 100'000);
      EXPECT_GT(member.ledger.current_bytes(memory::Account::collective), before);
      EXPECT_EQ(&contest, &team->contest(Contested::reduce, 70'000));
      EXPECT_NE(&contest, &team->contest(Contested::reduce, 40'000));
      EXPECT_NE(&contest, &team->contest(Contested::bcast, 100'000));
      // To read costs one member more, and the others less.
      const std::uint32_t reading = rank.rank == 1 ? 120 : 60;
      while (!contest.is_over()) {
        const Contest::Turn turn = contest.next();
        if (turn.is_timed) contest.took(turn.reads, turn.reads ? reading : 100);
      }
      team->settle(contest);
      EXPECT_TRUE(contest.next().reads);
    }
    EXPECT_EQ(member.ledger.current_bytes(memory::Account::collective), 0);
  });
}

TEST(Teams, AreNotMadeIfOneMemberHasNoRoom) {
  run_ranks(3, false, [](Rank& rank) {
    for (const int unwilling : {0, 2}) {
      Member member(rank, {.shared_after = 1, .shared_max = rank.rank == unwilling ? 0 : 1});
      const auto comm = rank.world(std::uint64_t{10} + static_cast<std::uint64_t>(unwilling));
      EXPECT_EQ(member.call(*comm), nullptr);
      EXPECT_EQ(member.ledger.current_bytes(memory::Account::collective), 0);
      EXPECT_EQ(member.ledger.current_bytes(memory::Account::attachments), 0);
    }
  });
}

TEST(Teams, EndWithTheirCommunicatorAndMakeRoomForOthers) {
  run_ranks(2, false, [](Rank& rank) {
    Member member(rank, {.shared_after = 1, .shared_max = 1});
    for (std::uint64_t id = 1; id <= 3; ++id) {
      const auto comm = rank.world(id);
      EXPECT_NE(member.call(*comm), nullptr) << id;
      const auto other = rank.world(100 + id);
      EXPECT_EQ(member.call(*other), nullptr) << id;
    }
    EXPECT_EQ(member.ledger.current_bytes(memory::Account::collective), 0);
  });
}

TEST(Teams, WhoWasRefusedIsAskedAgainMuchLater) {
  run_ranks(2, false, [](Rank& rank) {
    Member member(rank, {.shared_after = 1, .shared_max = 1});
    const auto waiting = rank.world(2);
    {
      const auto first = rank.world(1);
      EXPECT_NE(member.call(*first), nullptr);
      EXPECT_EQ(member.call(*waiting), nullptr);
    }
    int calls = 1;
    while (member.call(*waiting) == nullptr && calls < 5000) ++calls;
    EXPECT_EQ(calls, 1024);
  });
}

TEST(Teams, NeverIfTheUserSaysSo) {
  run_ranks(2, false, [](Rank& rank) {
    Member member(rank, {.shared_after = 0});
    const auto world = rank.world();
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(member.call(*world), nullptr);
  });
}

TEST(Teams, AreForCommunicatorsOfOneHost) {
  run_ranks(2, false, [](Rank& rank) {
    // Whoever has no wake word here is not on this host.
    Rank alone{rank.rank, rank.size, rank.engine, rank.host, rank.words.first(1)};
    Member member(alone, {.shared_after = 1});
    EXPECT_EQ(member.call(*rank.world()), nullptr);
    EXPECT_EQ(member.call(*rank.comm(7, rank.rank, 1, 1)), nullptr);
  });
}

}  // namespace
}  // namespace hawser::collective
