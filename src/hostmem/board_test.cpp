#include "hostmem/board.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>

namespace hawser::hostmem {
namespace {

/// Memory of a board, and the wake words of its members.
class Room {
 public:
  explicit Room(const BoardShape& shape)
      : shape_(shape),
        memory_(static_cast<std::byte*>(std::aligned_alloc(4096, shape.bytes()))),
        words_(shape.members) {
    std::memset(memory_.get(), 0, shape.bytes());
    Board::initialize(memory_.get(), shape);
  }
  [[nodiscard]] Board board(std::uint32_t member) {
    std::vector<WakeWord*> words;
    for (WakeWord& word : words_) words.push_back(&word);
    return {memory_.get(), shape_, member, std::move(words), Waker(FencePayer::waker)};
  }
  WakeWord& word(std::uint32_t member) { return words_[member]; }
  std::byte* memory() { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  BoardShape shape_;
  std::unique_ptr<std::byte, Free> memory_;
  std::vector<WakeWord> words_;
};

/// One member: waits by sleeping, so that a wake-up that is missing hangs it.
class Member {
 public:
  Member(Room& room, std::uint32_t number)
      : board(room.board(number)), sleeper_(room.word(number), FencePayer::waker) {}
  template <class Done>
  void await(Done done) {
    while (!done()) {
      board.make_known();
      const std::uint32_t ticket = sleeper_.announce();
      if (done()) {
        sleeper_.cancel();
      } else {
        sleeper_.sleep(ticket);
      }
    }
  }
  std::byte* begin(std::size_t bytes) {
    await_place(bytes);
    return board.begin(bytes);
  }
  std::byte* begin_exchange(std::size_t bytes) {
    await_place(0);
    return board.begin_exchange(bytes);
  }
  Board board;

 private:
  void await_place(std::size_t bytes) {
    if (board.may_begin(bytes)) return;
    const Board::PlaceWait wait(board);
    await([&] { return board.may_begin(bytes); });
  }

  Sleeper sleeper_;
};

std::byte pattern(std::uint64_t step, std::uint32_t member, std::size_t i) {
  return static_cast<std::byte>(step * 31 + std::uint64_t{member} * 7 + i);
}
void fill(std::byte* place, std::uint64_t step, std::uint32_t member, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) place[i] = pattern(step, member, i);
}
bool is_filled(const std::byte* place, std::uint64_t step, std::uint32_t member,
               std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (place[i] != pattern(step, member, i)) return false;
  return true;
}

/// A row of steps that all members take alike, by a seed.
struct StepPlan {
  enum class Kind : std::uint8_t {
    all_look,
    exchange,
    one_shows,
    one_looks,
    each_looks_back,
    last_works
  };
  Kind kind;
  std::size_t bytes;  // that a member shows; some show fewer if it is ragged
  std::uint32_t one;
  bool is_ragged;
  bool uses_block_area;

  [[nodiscard]] std::size_t bytes_of(std::uint32_t member) const {
    return is_ragged && member % 2 == 1 ? bytes / 16 : bytes;
  }
};
std::vector<StepPlan> make_plan(const BoardShape& shape, unsigned seed, int steps) {
  std::mt19937 random(seed);
  std::vector<StepPlan> plan;
  for (int i = 0; i < steps; ++i) {
    const std::array<std::size_t, 5> longest = {
        cell_payload_bytes, middle_bytes, std::max<std::size_t>(middle_bytes, shape.block_bytes),
        shape.bulk_bytes, std::max(shape.bulk_bytes, shape.long_bytes)};
    const std::size_t most = longest[random() % longest.size()];
    const auto kind = static_cast<StepPlan::Kind>(random() % (shape.counted ? 6 : 5));
    const bool may_be_ragged =
        kind == StepPlan::Kind::all_look || kind == StepPlan::Kind::one_looks;
    const bool is_one_way = kind == StepPlan::Kind::one_shows ||
                            kind == StepPlan::Kind::one_looks ||
                            kind == StepPlan::Kind::each_looks_back;
    plan.push_back({kind, random() % (most + 1),
                    static_cast<std::uint32_t>(random() % shape.members),
                    may_be_ragged && random() % 2 == 0, is_one_way && random() % 4 != 0});
  }
  return plan;
}

/// True if everything that MEMBER looked at was right.
bool take_step(Member& member, std::uint32_t me, const StepPlan& plan, std::uint32_t members) {
  using Kind = StepPlan::Kind;
  Board& board = member.board;
  board.use_block_area(plan.uses_block_area);
  const auto right = [&](std::uint32_t other) {
    const std::size_t bytes = plan.bytes_of(other);
    return board.bytes_of(other) == bytes &&
           is_filled(board.place(other, bytes), board.step(), other, bytes);
  };
  if (plan.kind == Kind::one_shows && me != plan.one) {
    board.listen();
    member.await([&] { return board.has_arrived(plan.one); });
    if (board.note_heard(board.bytes_of(plan.one))) board.wake_others();
    return right(plan.one);
  }
  const bool is_exchange = plan.kind == Kind::exchange && board.is_exchange(plan.bytes);
  const std::size_t bytes = plan.bytes_of(me);
  std::byte* place = is_exchange ? member.begin_exchange(bytes) : member.begin(bytes);
  const std::uint64_t step = board.step();
  fill(place, step, me, bytes);
  if (plan.kind == Kind::one_shows) {
    board.show();
    board.wake_others();
    return true;
  }
  if (plan.kind == Kind::one_looks) {
    if (me != plan.one) {
      board.tell(plan.one);
      if (plan.is_ragged) board.make_known();
      return true;
    }
    if (board.collect(plan.bytes)) board.wake_others();
    bool all_right = true;
    for (std::uint32_t other = 0; other < members; ++other) {
      if (other == me) continue;
      const Board::Awaiting awaiting(board, other);
      member.await([&] { return board.has_arrived(other); });
      all_right &= right(other);
    }
    board.note_collected();
    return all_right;
  }
  if (plan.kind == Kind::each_looks_back) {
    board.show_forward();
    bool all_right = true;
    for (std::uint32_t other = 0; other < me; ++other) {
      member.await([&] { return board.has_arrived(other); });
      all_right &= right(other);
    }
    return all_right;
  }
  const bool last = board.arrive();
  if (plan.kind == Kind::last_works) {
    if (last) {
      fill(board.result(plan.bytes), step, members, plan.bytes);
      board.show_result();
      board.wake_others();
    } else {
      member.await([&] { return board.has_result(); });
    }
    return is_filled(board.result(plan.bytes), step, members, plan.bytes);
  }
  if (last || !board.shape().counted) {
    board.wake_others();
  } else {
    board.make_known();
  }
  member.await([&] { return board.have_all_arrived(); });
  bool all_right = true;
  // What it showed in an exchange is the other's, who may have gone on.
  for (std::uint32_t other = 0; other < members; ++other)
    if (other != me || !is_exchange) all_right &= right(other);
  return all_right;
}

class BoardTest : public testing::TestWithParam<BoardShape> {};

TEST_P(BoardTest, ShowsEveryMemberWhatTheOthersShow) {
  const BoardShape shape = GetParam();
  for (unsigned seed = 1; seed <= 5; ++seed) {
    Room room(shape);
    const auto plan = make_plan(shape, seed, 2000);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (std::uint32_t me = 0; me < shape.members; ++me) {
      threads.emplace_back([&, me] {
        Member member(room, me);
        for (const StepPlan& step : plan)
          if (!take_step(member, me, step, shape.members)) ++wrong;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << "seed " << seed;
  }
}

TEST_P(BoardTest, LetsAMemberRunAheadAsFarAsPlacesAreKept) {
  Room room(GetParam());
  Board board = room.board(0);
  for (std::uint32_t step = 0; step < steps_kept; ++step) {
    ASSERT_TRUE(board.may_begin(cell_payload_bytes)) << step;
    EXPECT_EQ(board.may_begin(cell_payload_bytes + 1), step < middle_steps) << step;
    EXPECT_EQ(board.may_begin(middle_bytes + 1), step < bulk_steps) << step;
    const std::uint32_t block_bytes = GetParam().block_bytes;
    if (block_bytes > 0) {
      board.use_block_area(true);
      EXPECT_EQ(board.may_begin(block_bytes), step < block_steps) << step;
      EXPECT_EQ(board.may_begin(block_bytes + 1), step < bulk_steps) << step;
      board.use_block_area(false);
      EXPECT_EQ(board.may_begin(block_bytes), step < bulk_steps) << step;
    }
    EXPECT_EQ(board.may_begin(GetParam().bulk_bytes + 1), step < long_steps) << step;
    board.begin(0);
    board.arrive();
  }
  EXPECT_FALSE(board.may_begin(0));
  // All others arrive at the first two steps: the first one's place is free.
  for (std::uint32_t member = 1; member < GetParam().members; ++member) {
    Board other = room.board(member);
    for (int step = 0; step < 2; ++step) {
      other.begin(0);
      other.arrive();
    }
  }
  EXPECT_TRUE(board.may_begin(0));
  board.begin(0);
  board.arrive();
  EXPECT_FALSE(board.may_begin(0));
}

TEST_P(BoardTest, WakesWhoCollectsForTheOneItWaitsForAlone) {
  Room room(GetParam());
  Board one = room.board(0);
  const std::uint32_t last = GetParam().members - 1;
  one.begin(0);
  EXPECT_FALSE(one.collect(8));
  {
    const Board::Awaiting awaiting(one, last);
    Sleeper sleeper(room.word(0), FencePayer::waker);
    const std::uint32_t ticket = sleeper.announce();
    for (std::uint32_t member = 1; member <= last; ++member) {
      EXPECT_EQ(sleeper.is_current(ticket), GetParam().counted || member == 1) << member;
      Board other = room.board(member);
      other.begin(8);
      other.tell(0);
      EXPECT_TRUE(one.has_arrived(member));
    }
    EXPECT_FALSE(sleeper.is_current(ticket));
  }
  one.note_collected();
  // Nothing of it is counted: a step of all of them counts those alone who are in it.
  one.begin(0);
  EXPECT_FALSE(one.arrive());
  EXPECT_FALSE(one.have_all_arrived());
}

TEST_P(BoardTest, WakesThoseBehindAMemberThatShowsForward) {
  Room room(GetParam());
  const std::uint32_t members = GetParam().members;
  Sleeper first(room.word(0), FencePayer::waker), last(room.word(members - 1), FencePayer::waker);
  const std::uint32_t first_ticket = first.announce(), last_ticket = last.announce();
  Board middle = room.board(members / 2);
  middle.begin(8);
  middle.show_forward();
  EXPECT_TRUE(first.is_current(first_ticket)) << "it does not wait for later ones";
  EXPECT_EQ(last.is_current(last_ticket), members / 2 == members - 1);
}

TEST_P(BoardTest, LetsTheOneThatShowsRunAheadOfThoseWhoListen) {
  Room room(GetParam());
  Board one = room.board(0);
  std::vector<Board> listeners;
  for (std::uint32_t member = 1; member < GetParam().members; ++member)
    listeners.push_back(room.board(member));
  const auto show = [&](std::size_t bytes) {
    EXPECT_TRUE(one.may_begin(bytes));
    one.begin(bytes);
    one.show();
  };
  const auto hear = [&](std::size_t bytes) {
    int woken = 0;
    for (Board& listener : listeners) {
      listener.listen();
      EXPECT_TRUE(listener.has_arrived(0));
      EXPECT_EQ(listener.bytes_of(0), bytes);
      woken += listener.note_heard(bytes) ? 1 : 0;
    }
    return woken;
  };
  const int each = static_cast<int>(listeners.size());
  for (std::uint32_t step = 0; step < steps_kept; ++step) show(8);
  EXPECT_FALSE(one.may_begin(8));
  int woken = 0;
  for (std::uint32_t step = 0; step < steps_kept / 2; ++step) woken += hear(8);
  EXPECT_EQ(woken, 0) << "nobody waits for a place";
  {
    const Board::PlaceWait wait(one);
    for (std::uint32_t step = steps_kept / 2; step < steps_kept; ++step) woken += hear(8);
  }
  EXPECT_EQ(woken, 2 * each) << "seldom, but in time";
  const std::size_t few = middle_bytes + 1;
  show(few);
  show(few);
  EXPECT_EQ(hear(few), 0);
  {
    const Board::PlaceWait wait(one);
    EXPECT_EQ(hear(few), each) << "at once where places are few";
  }
  // Nothing of it is counted: a step of all of them counts those alone who are in it.
  one.begin(0);
  EXPECT_FALSE(one.arrive());
  for (Board& listener : listeners) {
    EXPECT_FALSE(one.have_all_arrived());
    listener.begin(0);
    EXPECT_EQ(listener.arrive(), GetParam().counted && &listener == &listeners.back());
  }
  EXPECT_TRUE(one.have_all_arrived());
}

INSTANTIATE_TEST_SUITE_P(Shapes, BoardTest,
                         testing::Values(BoardShape{2, 4096, false}, BoardShape{2, 4096, true},
                                         BoardShape{2, 4096, false, 16384, 8192},
                                         BoardShape{2, 4096, true, 16384},
                                         BoardShape{5, 8192, false}, BoardShape{5, 4096, true},
                                         BoardShape{5, 4096, false, 12288},
                                         BoardShape{2, 16384, false, 32768, 8192, 4096},
                                         BoardShape{5, 16384, true, 0, 0, 8192}),
                         [](const auto& instance) {
                           return std::to_string(instance.param.members) +
                                  (instance.param.counted ? "Counted" : "Flagged") +
                                  (instance.param.long_bytes > 0 ? "WithLongArea" : "") +
                                  (instance.param.exchange_bytes > 0 ? "AndExchange" : "") +
                                  (instance.param.block_bytes > 0 ? "AndBlockArea" : "");
                         });

TEST(Board, EachOfTwoWritesWhereItReadInTheLastExchange) {
  const BoardShape shape{2, 4096, false, 0, 8192};
  Room room(shape);
  std::array<Board, 2> boards = {room.board(0), room.board(1)};
  std::array<const std::byte*, 2> last{};
  for (int i = 0; i < 5; ++i) {
    // Other steps come between.
    for (Board& board : boards) {
      board.begin(4000);
      board.arrive();
    }
    for (std::uint32_t me = 0; me < 2; ++me) {
      const std::byte* const place = boards[me].begin_exchange(6000);
      if (i > 0) {
        EXPECT_EQ(place, last[1 - me]);
      }
      EXPECT_GE(place, room.memory() + shape.exchange_offset());
      EXPECT_LE(place + 8192, room.memory() + shape.long_offset());
      boards[me].arrive();
    }
    for (std::uint32_t me = 0; me < 2; ++me) last[me] = boards[0].place(me, 6000);
    EXPECT_EQ(boards[1].place(0, 6000), last[0]);
    EXPECT_NE(last[0], last[1]);
  }
  EXPECT_FALSE(boards[0].is_exchange(cell_payload_bytes)) << "stands beside its step's number";
  EXPECT_FALSE(boards[0].is_exchange(8193));
}

TEST(Board, HasAPlaceOfItsOwnForEachStepThatIsKept) {
  const BoardShape shape{3, 16384, false, 32768, 0, 8192};
  Room room(shape);
  Board board = room.board(2);
  const std::byte* end = nullptr;
  board.use_block_area(true);
  for (std::uint32_t step = 0; step < block_steps; ++step) {
    board.begin(8192);
    for (std::uint32_t member = 0; member < shape.members; ++member) {
      const std::byte* const place = board.place(member, 8192);
      EXPECT_GE(place, room.memory() + shape.earned_offset());
      EXPECT_LE(place + 8192, room.memory() + shape.long_offset());
      EXPECT_EQ((place - room.memory()) % 4096, 2048);
    }
    const std::byte* const place = board.place(2, 8192);
    if (step > 0 && board.step() % block_steps != 0) {
      EXPECT_EQ(place, end);
    }
    end = place + 8192;
    board.arrive();
  }
}

TEST(Board, WhatWasShownInTheStepBeforeStaysUntilAMemberArrives) {
  for (const std::size_t bytes : {8UL, 500UL, 4000UL, 8000UL}) {
    Room room({2, 4096, false, 8192});
    Board quick = room.board(0), slow = room.board(1);
    const auto byte_of = [](std::uint64_t step) { return static_cast<std::byte>(step % 251); };
    const auto run_ahead = [&] {
      while (quick.may_begin(bytes)) {
        std::byte* const place = quick.begin(bytes);
        std::fill_n(place, bytes, byte_of(quick.step()));
        quick.arrive();
      }
    };
    run_ahead();
    for (std::uint64_t step = 1; step <= 2 * steps_kept + 1; ++step) {
      ASSERT_TRUE(slow.may_begin(bytes));
      slow.begin(bytes);
      run_ahead();
      const std::byte* const earlier = slow.earlier_place(0, bytes);
      const auto shown = std::count(earlier, earlier + bytes, byte_of(step - 1));
      EXPECT_TRUE(step == 1 || shown == static_cast<std::ptrdiff_t>(bytes)) << step;
      slow.arrive();
      run_ahead();
    }
  }
}

TEST(Board, KnowsThatItHasJustLookedForAPlace) {
  Room room({2, 4096, false});
  Board first = room.board(0), second = room.board(1);
  const auto step = [](Board& board) {
    ASSERT_TRUE(board.may_begin(8));
    board.begin(8);
    board.arrive();
  };
  for (std::uint32_t i = 0; i < steps_kept; ++i) step(first);
  EXPECT_FALSE(first.knows_place(8));
  EXPECT_FALSE(first.has_just_looked(8));
  for (std::uint32_t i = 0; i < 40; ++i) step(second);
  EXPECT_FALSE(first.knows_place(8)) << "it has not looked";
  EXPECT_TRUE(first.may_begin(8));
  EXPECT_TRUE(first.knows_place(8));
  EXPECT_TRUE(first.has_just_looked(8));
  for (std::uint32_t i = 0; i < steps_kept / 4; ++i) step(first);
  EXPECT_TRUE(first.knows_place(8)) << "of 39 steps, all at one look";
  EXPECT_FALSE(first.has_just_looked(8));
}

TEST(Board, IsRecognisedByItsShape) {
  const BoardShape shape{3, 4096, true};
  Room room(shape);
  EXPECT_TRUE(Board::is_valid(room.memory(), shape));
  EXPECT_FALSE(Board::is_valid(room.memory(), {4, 4096, true}));
  EXPECT_FALSE(Board::is_valid(room.memory(), {3, 8192, true}));
  EXPECT_FALSE(Board::is_valid(room.memory(), {3, 4096, false}));
  EXPECT_FALSE(Board::is_valid(room.memory(), {3, 4096, true, 8192}));
  EXPECT_FALSE(Board::is_valid(room.memory(), {3, 4096, true, 0, 8192}));
  EXPECT_FALSE(Board::is_valid(room.memory(), {3, 4096, true, 0, 0, 4096}));
  std::memset(room.memory(), 0, 8);
  EXPECT_FALSE(Board::is_valid(room.memory(), shape));
}

}  // namespace
}  // namespace hawser::hostmem
