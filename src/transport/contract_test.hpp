// The contract of a transport as tests: what every transport's own tests instantiate.
//
// A World is two processes' ends of a transport in one process (for `self` the two are one). It is
// made anew for every test.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "transport/recording_sink.hpp"

namespace hawser::transport {

class World {
 public:
  virtual ~World() = default;
  virtual Transport& sender() = 0;
  virtual Transport& receiver() = 0;
  virtual RecordingSink& sender_sink() = 0;
  virtual RecordingSink& receiver_sink() = 0;
  /// The sender's link to the receiver; not necessarily usable yet.
  virtual Link& connect() = 0;

  /// Polls both ends until nothing happens any more.
  virtual void settle() {
    for (int quiet = 0; quiet < 3;) {
      const bool moved = static_cast<int>(sender().progress()) + receiver().progress() > 0;
      quiet = moved ? 0 : quiet + 1;
    }
  }
  /// The same for the sender alone.
  virtual void settle_sender() {}
};

struct ContractCase {
  std::string name;
  std::function<std::unique_ptr<World>()> make_world;
  ChannelSet channels;     // of a link that was just connected, at least
  ChannelSet earned;       // those that have to be asked for
  bool is_bounded = true;  // channels fill up
};

inline void PrintTo(const ContractCase& c, std::ostream* out) { *out << c.name; }

class TransportContract : public ::testing::TestWithParam<ContractCase> {
 protected:
  void SetUp() override {
    world = GetParam().make_world();
    link = &world->connect();
    world->settle();
  }
  void earn_all() {
    for (const ChannelKind kind : kinds_of(GetParam().earned)) {
      ASSERT_TRUE(link->ask(kind));
      world->settle();
      ASSERT_TRUE(link->channels().has(kind));
    }
  }
  static std::vector<ChannelKind> kinds_of(ChannelSet set) {
    std::vector<ChannelKind> kinds;
    for (std::size_t i = 0; i < channel_kind_count; ++i)
      if (set.has(static_cast<ChannelKind>(i))) kinds.push_back(static_cast<ChannelKind>(i));
    return kinds;
  }
  /// The kinds of the link that carry frames.
  std::vector<ChannelKind> frame_kinds() const {
    std::vector<ChannelKind> kinds = kinds_of(link->channels());
    std::erase_if(kinds, [](ChannelKind kind) {
      return !carries_frames(kind) && kind != ChannelKind::rc_rdma;  // that has some of its own
    });
    return kinds;
  }
  bool try_send(ChannelKind kind, std::size_t bytes, std::uint64_t number) {
    std::byte* frame = link->reserve(kind, bytes);
    if (frame == nullptr) return false;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame) % 8, 0U);
    make_frame({frame, bytes}, number);
    link->commit(kind);
    if (keeps_frames(kind)) link->release(kind, frame);
    return true;
  }
  /// The same with a head of HEAD_BYTES, and the rest as payload.
  bool try_send_apart(ChannelKind kind, std::size_t head_bytes, std::size_t bytes,
                      std::uint64_t number) {
    std::vector<std::byte> frame(bytes);
    make_frame(frame, number);
    const FrameRoom room = link->reserve_apart(kind, head_bytes, bytes - head_bytes, 0);
    if (room.head == nullptr) return false;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.head) % 8, 0U);
    std::memcpy(room.head, frame.data(), head_bytes);
    std::memcpy(room.payload, frame.data() + head_bytes, bytes - head_bytes);
    link->commit(kind);
    if (keeps_frames(kind)) link->release(kind, room.head);
    return true;
  }
  /// Every arrival is the next of its channel, and all are of KIND.
  void expect_in_order(ChannelKind kind, const std::vector<std::size_t>& sizes) {
    const auto& arrivals = world->receiver_sink().arrivals;
    ASSERT_EQ(arrivals.size(), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ASSERT_EQ(arrivals[i].number, i) << channel_name(kind);
      ASSERT_EQ(arrivals[i].bytes, sizes[i]) << channel_name(kind);
      ASSERT_EQ(arrivals[i].kind, kind);
    }
    EXPECT_EQ(world->receiver_sink().damaged, 0);
  }

  std::unique_ptr<World> world;
  Link* link = nullptr;
};

TEST_P(TransportContract, AConnectedLinkHasItsChannels) {
  for (const ChannelKind kind : kinds_of(GetParam().channels))
    EXPECT_TRUE(link->channels().has(kind)) << channel_name(kind);
  for (const ChannelKind kind : kinds_of(GetParam().earned))
    EXPECT_FALSE(link->channels().has(kind)) << channel_name(kind);
  for (const ChannelSet set : {link->channels(), GetParam().earned})
    for (const ChannelKind kind : kinds_of(set))
      EXPECT_TRUE(link->possible_channels().has(kind)) << channel_name(kind);
  EXPECT_FALSE(world->sender().name().empty());
}

TEST_P(TransportContract, FramesOfEverySizeArriveWholeAndInOrder) {
  earn_all();
  for (const ChannelKind kind : frame_kinds()) {
    const std::size_t bytes_max = link->frame_bytes_max(kind);
    std::vector<std::size_t> sizes;
    for (std::size_t bytes = 8; bytes <= bytes_max; bytes += bytes < 1200 ? 1 : bytes / 7)
      sizes.push_back(bytes);
    sizes.push_back(bytes_max);
    world->receiver_sink().arrivals.clear();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      while (!try_send(kind, sizes[i], i)) ASSERT_TRUE(world->receiver().progress());
    }
    world->settle();
    expect_in_order(kind, sizes);
  }
}

TEST_P(TransportContract, FramesWithHeadsOfEverySizeArriveWholeAndInOrder) {
  earn_all();
  for (const ChannelKind kind : frame_kinds()) {
    std::vector<std::size_t> sizes;
    world->receiver_sink().arrivals.clear();
    for (const std::size_t payload_bytes : {0UL, 8UL, 40UL, 64UL, 100UL, 300UL, 600UL, 20'000UL}) {
      for (std::size_t head_bytes = 8; head_bytes <= 64; head_bytes += 4) {
        const std::size_t bytes = std::min(head_bytes + payload_bytes, link->frame_bytes_max(kind));
        while (!try_send_apart(kind, head_bytes, bytes, sizes.size()))
          ASSERT_TRUE(world->receiver().progress());
        sizes.push_back(bytes);
      }
    }
    world->settle();
    expect_in_order(kind, sizes);
  }
}

TEST_P(TransportContract, AFullChannelSaysSoAndRecovers) {
  if (!GetParam().is_bounded) GTEST_SKIP() << "its channels are bounded by memory alone";
  earn_all();
  for (const ChannelKind kind : frame_kinds()) {
    for (const std::size_t bytes : {std::size_t{8}, link->frame_bytes_max(kind)}) {
      world->receiver_sink().arrivals.clear();
      std::vector<std::size_t> sizes;
      for (int round = 0; round < 3; ++round) {
        constexpr std::size_t frames_max = 1'000'000;
        while (try_send(kind, bytes, sizes.size())) {
          sizes.push_back(bytes);
          ASSERT_LT(sizes.size(), frames_max);
        }
        EXPECT_EQ(link->reserve(kind, bytes), nullptr);
        world->settle();
        expect_in_order(kind, sizes);
      }
      EXPECT_GE(sizes.size(), 6U) << channel_name(kind) << " holds no two frames";
    }
  }
}

TEST_P(TransportContract, FramesAreDeliveredInsideOfProgressOnly) {
  const ChannelKind kind = frame_kinds().front();
  ASSERT_TRUE(try_send(kind, 8, 0));
  EXPECT_TRUE(world->receiver_sink().arrivals.empty());
  world->settle();
  EXPECT_EQ(world->receiver_sink().arrivals.size(), 1U);
}

TEST_P(TransportContract, AFrameIsTakenPastProgressFromADedicatedChannelAlone) {
  earn_all();
  Link* const incoming =
      world->receiver_sink().links.empty() ? link : world->receiver_sink().links.at(0);
  EXPECT_EQ(incoming->incoming(), GetParam().earned);
  for (const ChannelKind kind : kinds_of(incoming->incoming())) {
    EXPECT_TRUE(incoming->front(kind).empty());
    const std::vector<std::size_t> sizes = {8, 100, link->frame_bytes_max(kind), 8};
    // More laps than the channel has room for, so that pop() must free it.
    for (std::uint64_t number = 0; number < 4000; ++number) {
      const std::size_t bytes = sizes[number % sizes.size()];
      ASSERT_TRUE(try_send(kind, bytes, number));
      for (int look = 0; look < 2; ++look) {
        incoming->expect(kind, bytes);
        const std::span<const std::byte> head = incoming->front(kind);
        const FrameView frame(head, incoming->front_payload());
        ASSERT_EQ(frame.size(), bytes);
        ASSERT_EQ(check_frame(whole(frame)), number);
      }
      incoming->pop(kind);
      ASSERT_TRUE(incoming->front(kind).empty());
    }
    world->settle();
    EXPECT_TRUE(world->receiver_sink().arrivals.empty());
    // What was only looked at, progress() delivers.
    ASSERT_TRUE(try_send(kind, 100, 0));
    EXPECT_FALSE(incoming->front(kind).empty());
    world->settle();
    expect_in_order(kind, {100});
    world->receiver_sink().arrivals.clear();
    ASSERT_TRUE(link->give_back(kind));
    world->settle();
    EXPECT_FALSE(incoming->incoming().has(kind));
  }
}

TEST_P(TransportContract, AQuietTransportSaysSoAndIsDrained) {
  EXPECT_FALSE(world->sender().progress());
  EXPECT_FALSE(world->receiver().progress());
  EXPECT_TRUE(world->sender().is_drained());
  EXPECT_TRUE(world->receiver().is_drained());
}

TEST_P(TransportContract, ARefusedChannelLeavesTheOthers) {
  world->receiver_sink().grants = false;
  int asked = 0;
  for (const ChannelKind kind : kinds_of(GetParam().earned)) {
    ASSERT_TRUE(link->ask(kind));
    world->settle();
    ++asked;
    EXPECT_FALSE(link->channels().has(kind));
    EXPECT_EQ(world->sender_sink().refused, asked);
  }
  EXPECT_EQ(world->receiver_sink().asked, asked);
  EXPECT_TRUE(try_send(frame_kinds().front(), 8, 0));
  world->settle();
  EXPECT_EQ(world->receiver_sink().arrivals.size(), 1U);
}

TEST_P(TransportContract, AChannelGivenBackDeliversWhatItHeldAndCanBeEarnedAgain) {
  constexpr std::uint64_t frames = 3;  // of the largest size; a channel holds that many
  for (const ChannelKind kind : kinds_of(GetParam().earned)) {
    for (int life = 0; life < 3; ++life) {
      ASSERT_TRUE(link->ask(kind));
      world->settle();
      ASSERT_TRUE(link->channels().has(kind));
      world->receiver_sink().arrivals.clear();
      for (std::uint64_t number = 0; number < frames; ++number)
        ASSERT_TRUE(try_send(kind, link->frame_bytes_max(kind), number));
      const int given_back = world->receiver_sink().given_back;
      ASSERT_TRUE(link->give_back(kind));
      EXPECT_FALSE(link->channels().has(kind));
      world->settle();
      EXPECT_EQ(world->receiver_sink().given_back, given_back + 1);
      EXPECT_EQ(world->receiver_sink().damaged, 0);
      EXPECT_EQ(world->receiver_sink().arrivals.size(), frames);
    }
    EXPECT_TRUE(try_send(frame_kinds().front(), 8, 0));
    world->settle();
    EXPECT_EQ(world->receiver_sink().arrivals.size(), frames + 1);
  }
}

TEST_P(TransportContract, ARecallIsHeardByTheSenderAlone) {
  earn_all();
  int recalled = 0;
  for (const ChannelKind kind : kinds_of(GetParam().earned)) {
    ASSERT_TRUE(world->receiver_sink().links.at(0)->recall(kind));
    world->settle();
    EXPECT_EQ(world->sender_sink().recalled, ++recalled);
    EXPECT_TRUE(link->channels().has(kind));
  }
  // The sender has granted nothing that it could recall.
  const ChannelSet before = link->channels();
  for (std::size_t kind = 0; kind < channel_kind_count; ++kind)
    EXPECT_TRUE(link->recall(static_cast<ChannelKind>(kind)));
  world->settle();
  EXPECT_EQ(world->receiver_sink().recalled, 0);
  EXPECT_EQ(world->sender_sink().recalled, recalled);
  EXPECT_EQ(link->channels(), before);
}

TEST_P(TransportContract, APeerThatLeavesIsAwayUntilItComesBack) {
  const bool is_other = &world->sender() != &world->receiver();  // nobody is away from itself
  EXPECT_FALSE(link->is_away());
  world->receiver().leave();
  world->settle_sender();
  EXPECT_EQ(link->is_away(), is_other);
  ASSERT_TRUE(try_send(frame_kinds().front(), 8, 0));
  world->receiver().come_back();
  world->settle_sender();
  EXPECT_FALSE(link->is_away());
  world->settle();
  EXPECT_EQ(world->receiver_sink().arrivals.size(), 1U);
}

TEST_P(TransportContract, AskingForWhatIsThereChangesNothing) {
  earn_all();
  const int asked = world->receiver_sink().asked;
  const int changed = world->sender_sink().channels_changed;
  for (const ChannelKind kind : kinds_of(link->channels())) EXPECT_TRUE(link->ask(kind));
  world->settle();
  EXPECT_EQ(world->receiver_sink().asked, asked);
  EXPECT_EQ(world->sender_sink().channels_changed, changed);
}

TEST_P(TransportContract, ConnectingAgainGivesTheSameLink) { EXPECT_EQ(&world->connect(), link); }

TEST_P(TransportContract, SingleCopiesGatherAndScatter) {
  if (!link->channels().has(ChannelKind::single_copy)) GTEST_SKIP() << "not possible here";
  std::vector<std::byte> from(10'000);
  make_frame(from, 1);
  std::vector<std::byte> to(from.size());
  const auto piece = [](std::vector<std::byte>& memory, std::size_t offset, std::size_t bytes) {
    return MemoryPiece{reinterpret_cast<std::uint64_t>(memory.data() + offset), bytes};
  };
  const std::vector<MemoryPiece> remote = {piece(from, 5000, 5000), piece(from, 0, 4999),
                                           piece(from, 4999, 1)};
  const std::vector<MemoryPiece> local = {piece(to, 0, 17), piece(to, 17, 0), piece(to, 17, 9983)};
  EXPECT_EQ(link->get(local, remote), 10'000);
  std::vector<std::byte> expected(from.begin() + 5000, from.end());
  expected.insert(expected.end(), from.begin(), from.begin() + 5000);
  EXPECT_EQ(to, expected);
}

TEST_P(TransportContract, SingleCopiesStopAtTheShorterSide) {
  if (!link->channels().has(ChannelKind::single_copy)) GTEST_SKIP() << "not possible here";
  std::vector<std::byte> from(100, std::byte{1});
  std::vector<std::byte> to(100, std::byte{2});
  const MemoryPiece remote{reinterpret_cast<std::uint64_t>(from.data()), 60};
  const MemoryPiece local{reinterpret_cast<std::uint64_t>(to.data()), 100};
  EXPECT_EQ(link->get({&local, 1}, {&remote, 1}), 60);
  EXPECT_EQ(to[59], std::byte{1});
  EXPECT_EQ(to[60], std::byte{2});
}

}  // namespace hawser::transport
