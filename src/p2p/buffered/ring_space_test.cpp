#include "p2p/buffered/ring_space.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>

namespace hawser::p2p {
namespace {

/// MPI-5.0 §3.6.1 word by word: a circular queue whose entries are freed in the order of sending.
class Model {
 public:
  explicit Model(Count bytes) : bytes_(bytes) {}
  bool take(int id, Count bytes) {
    const std::optional<Count> offset = find(bytes);
    if (offset) entries_.push_back({id, *offset, bytes});
    return offset.has_value();
  }
  void free(const std::set<int>& sent) {
    while (!entries_.empty() && sent.contains(entries_.front().id)) entries_.pop_front();
  }

 private:
  struct Entry {
    int id;
    Count offset;
    Count bytes;
  };
  [[nodiscard]] std::optional<Count> find(Count bytes) const {
    if (entries_.empty()) return bytes <= bytes_ ? std::optional<Count>(0) : std::nullopt;
    const Count head = entries_.front().offset;
    const Count tail = entries_.back().offset + entries_.back().bytes;
    if (tail <= head) return bytes <= head - tail ? std::optional(tail) : std::nullopt;
    if (bytes <= bytes_ - tail) return tail;
    return bytes <= head ? std::optional<Count>(0) : std::nullopt;
  }
  Count bytes_;
  std::deque<Entry> entries_;
};

TEST(RingSpace, FailsOnlyWhereTheModelDoesAndNeverOverlaps) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const Count size = 50 + static_cast<Count>(random() % 200);
    RingSpace<int> space(size);
    Model model(size);
    std::set<int> sent;
    std::map<Count, Count> taken;  // of live blocks
    std::map<int, Count> offset_of;
    const auto is_sent = [&](int id) {
      if (!sent.contains(id)) return false;
      taken.erase(offset_of[id]);
      return true;
    };
    for (int id = 0; id < 200; ++id) {
      const Count bytes = 1 + static_cast<Count>(random() % 60);
      space.free_oldest(is_sent);
      model.free(sent);
      std::optional<Count> offset = space.find(bytes);
      if (!offset) {
        space.free_all(is_sent);
        offset = space.find(bytes);
      }
      const bool model_has_room = model.take(id, bytes);
      EXPECT_GE(offset.has_value(), model_has_room) << "seed " << seed << " message " << id;
      if (!offset || !model_has_room) break;  // a program that goes on here is not covered
      ASSERT_GE(*offset, 0);
      ASSERT_LE(*offset + bytes, size);
      const auto next = taken.lower_bound(*offset);
      if (next != taken.end()) {
        ASSERT_LE(*offset + bytes, next->first);
      }
      if (next != taken.begin()) {
        ASSERT_LE(std::prev(next)->second, *offset);
      }
      taken[*offset] = *offset + bytes;
      offset_of[id] = *offset;
      space.insert(*offset, bytes, id);
      // Mostly the oldest are sent first, but not always.
      for (int older = std::max(0, id - 6); older <= id; ++older) {
        if (random() % 2 == 0) sent.insert(older);
      }
    }
  }
}

TEST(RingSpace, TheWholeBufferIsUsable) {
  RingSpace<int> space(64);
  EXPECT_EQ(space.find(65), std::nullopt);
  ASSERT_EQ(space.find(64), 0);
  space.insert(0, 64, 1);
  EXPECT_EQ(space.bytes_taken(), 64);
  EXPECT_EQ(space.find(1), std::nullopt);
  space.free_all([](int) { return true; });
  EXPECT_EQ(space.find(64), 0);
}

TEST(RingSpace, FindsAGapInTheMiddle) {
  RingSpace<int> space(48);
  for (int i = 0; i < 3; ++i) space.insert(Count{16} * i, 16, i);
  space.free_oldest([](int block) { return block == 1; });
  EXPECT_EQ(space.find(16), std::nullopt);
  space.free_all([](int block) { return block == 1; });
  EXPECT_EQ(space.find(16), 16);
  EXPECT_EQ(space.find(17), std::nullopt);
}

}  // namespace
}  // namespace hawser::p2p
