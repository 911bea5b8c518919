// Long messages that cross between two processes of one host: their receiver may copy them once.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "channel/endpoint/fake_end.hpp"
#include "core/datatype/datatype.hpp"
#include "p2p/protocol/channel_backend.hpp"
#include "p2p/protocol/comm_of_two.hpp"

namespace hawser::p2p {
namespace {

using channel::End;
using channel::FakeLink;
using transport::ChannelKind;

constexpr std::size_t crossing_bytes = std::size_t{32} * 1024 + 1;  // of the default send rules
constexpr int in_a_row_min = 8;  // long messages that no other one answers
constexpr std::uint64_t between_rounds_ns = 10'000;
constexpr std::uint32_t mpi_byte_handle = 0x247;  // MPI_BYTE

class OneCopy : public ::testing::Test {
 protected:
  struct Side {
    Side(OneCopy& test, int rank, const channel::AssuranceSettings& assurance,
         const ProtocolSettings& settings)
        : end(test.network, test.directory, static_cast<std::uint32_t>(rank), 1, test.now_ns,
              assurance),
          backend(end.table, end.ledger, settings),
          comm(comm_of_two(rank)) {
      channel::FakeTransport& host = *end.transports[0];
      host.channels = {ChannelKind::ud_send, ChannelKind::ring, ChannelKind::single_copy};
      host.may_lose_frames = false;
    }
    [[nodiscard]] std::uint32_t peer_rank() const {
      return 1U - static_cast<std::uint32_t>(comm->rank());
    }
    [[nodiscard]] channel::Endpoint& peer() { return end.table.find_or_make({1, peer_rank(), 0}); }
    [[nodiscard]] FakeLink& link() const { return end.transports[0]->link(peer_rank()); }
    [[nodiscard]] std::uint64_t copied() { return peer().received(ChannelKind::single_copy).bytes; }

    End end;
    ChannelBackend backend;
    Ref<Comm> comm;
  };
  /// A message, its two requests and its two buffers.
  struct Message {
    std::string out, in;
    Ref<Request> sending, receiving;
  };

  /// STREAM_BYTES_MAX: with 0 whoever may copy is asked.
  void open(const channel::AssuranceSettings& assurance = {}, std::int64_t stream_bytes_max = 0) {
    ProtocolSettings settings;
    settings.stream_bytes_max = stream_bytes_max;
    a = std::make_unique<Side>(*this, 0, assurance, settings);
    b = std::make_unique<Side>(*this, 1, assurance, settings);
    exchange(1);  // which connects
  }
  std::unique_ptr<Message> message_of(std::size_t bytes) {
    auto message = std::make_unique<Message>();
    message->out.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      message->out[i] = static_cast<char>(i * 7 + (i >> 9) + static_cast<std::size_t>(sent));
    ++sent;
    message->in.assign(bytes, '-');
    return message;
  }
  static Envelope envelope(Side& side) {
    return {side.comm.get(), static_cast<int>(side.peer_rank()), 0, Traffic::point_to_point};
  }
  core::Datatype& byte_type() { return *types.find(mpi_byte_handle); }
  void receive(Side& side, Message& message) {
    const auto count = static_cast<base::Count>(message.in.size());
    message.receiving =
        *side.backend.irecv({message.in.data(), count, &byte_type()}, envelope(side));
  }
  void send(Side& side, Message& message) {
    const auto count = static_cast<base::Count>(message.out.size());
    message.sending = *side.backend.isend({message.out.data(), count, &byte_type()}, envelope(side),
                                          SendMode::standard);
  }
  std::unique_ptr<Message> send(Side& from, Side& to, std::size_t bytes) {
    auto message = message_of(bytes);
    receive(to, *message);
    send(from, *message);
    return message;
  }
  void finish(Message& message) {
    for (int i = 0;
         i < 10'000 && !(message.receiving->is_complete() && message.sending->is_complete()); ++i) {
      now_ns += between_rounds_ns;
      a->backend.progress();
      b->backend.progress();
    }
    ASSERT_TRUE(message.receiving->is_complete() && message.sending->is_complete());
    EXPECT_EQ(message.receiving->error(), nullptr);
    EXPECT_EQ(message.in, message.out);
  }
  /// One message of BYTES each way at the same time.
  void exchange(std::size_t bytes) {
    const auto there = send(*a, *b, bytes), back = send(*b, *a, bytes);
    finish(*there);
    finish(*back);
  }

  std::uint64_t now_ns = between_rounds_ns;
  core::TypeTable types;
  channel::FakeNetwork network;
  channel::FakeBootstrap::Directory directory;
  std::unique_ptr<Side> a, b;
  int sent = 0;
};

TEST_F(OneCopy, OfMessagesThatCrossWhereItPays) {
  open();
  b->link().one_copy_pays = true;
  exchange(crossing_bytes);
  EXPECT_EQ(b->copied(), crossing_bytes);
  EXPECT_EQ(a->copied(), 0U) << "who finds that it does not pay gets frames";
  EXPECT_EQ(a->peer().sent(ChannelKind::single_copy).bytes, crossing_bytes);
  EXPECT_EQ(b->peer().sent(ChannelKind::single_copy).bytes, 0U);
}

TEST_F(OneCopy, NotOfTheFirstMessagesOfOneDirection) {
  open();
  b->link().one_copy_pays = true;
  for (int i = 0; i < in_a_row_min; ++i) finish(*send(*a, *b, crossing_bytes));
  EXPECT_EQ(b->copied(), 0U);
  EXPECT_EQ(b->link().asked_for_copies + b->link().asked_for_copies_one_way, 0);
  EXPECT_EQ(a->peer().sends_under_way, 0U);
}

TEST_F(OneCopy, OfMessagesThatFollowEachOtherWhereItPays) {
  open();
  b->link().one_copy_pays = true;
  for (int i = 0; i < in_a_row_min + 5; ++i) finish(*send(*a, *b, crossing_bytes));
  EXPECT_EQ(b->copied(), 5 * crossing_bytes);
  EXPECT_EQ(b->link().asked_for_copies_one_way, 5);
  b->link().one_copy_pays = false;
  finish(*send(*a, *b, crossing_bytes));
  EXPECT_EQ(b->copied(), 5 * crossing_bytes);
}

TEST_F(OneCopy, NotOfMessagesThatAlternate) {
  open();
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  for (int i = 0; i < 20; ++i) {
    finish(*send(*a, *b, crossing_bytes));
    finish(*send(*b, *a, crossing_bytes));
  }
  EXPECT_EQ(a->copied() + b->copied(), 0U);
}

TEST_F(OneCopy, WhatIsThereBeforeTheNextSendIsDecidedWithThat) {
  open();
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  exchange(crossing_bytes);
  const std::uint64_t copied_before = b->copied();
  const auto there = message_of(crossing_bytes);
  send(*a, *there);
  for (int i = 0; i < 10; ++i) {
    a->backend.progress();
    b->backend.progress();
  }
  receive(*b, *there);
  EXPECT_TRUE(b->backend.has_work());
  EXPECT_EQ(b->copied(), copied_before);
  const auto back = send(*b, *a, crossing_bytes);
  EXPECT_FALSE(b->backend.has_work());
  EXPECT_EQ(b->copied(), copied_before + crossing_bytes);
  finish(*there);
  finish(*back);
}

TEST_F(OneCopy, MessagesThatNoLongerCrossGoByFrames) {
  open();
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  exchange(crossing_bytes);
  const std::uint64_t copied = b->copied();
  constexpr int crossings_remembered = 16;
  for (int i = 0; i < crossings_remembered + in_a_row_min; ++i)
    finish(*send(*a, *b, crossing_bytes));
  EXPECT_EQ(b->copied(), copied) << "until they are known to be of one direction";
  EXPECT_EQ(b->peer().crossings_remembered, 0);
}

TEST_F(OneCopy, IsAskedForAsLongAsItIsMade) {
  constexpr std::size_t longer_bytes = 2 * crossing_bytes;
  open({}, longer_bytes - 1);
  for (Side* const side : {a.get(), b.get()})
    side->peer().send_credit_bytes = std::int64_t{100} * longer_bytes;
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  exchange(crossing_bytes);
  EXPECT_EQ(a->copied() + b->copied(), 0U) << "they came unasked";
  exchange(longer_bytes);
  exchange(crossing_bytes);
  EXPECT_EQ(b->copied(), longer_bytes + crossing_bytes);
  EXPECT_EQ(a->copied(), longer_bytes + crossing_bytes);
  a->link().one_copy_pays = b->link().one_copy_pays = false;
  constexpr int copies_expected = 16;
  const int asked_before = b->link().asked_for_copies;
  for (int i = 0; i < copies_expected + 5; ++i) exchange(crossing_bytes);
  EXPECT_EQ(b->link().asked_for_copies - asked_before, copies_expected);
  EXPECT_EQ(a->peer().copies_expected, 0);
}

TEST_F(OneCopy, NotOfShorterMessages) {
  open();
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  exchange(crossing_bytes - 1);
  EXPECT_EQ(a->copied() + b->copied(), 0U);
  EXPECT_EQ(a->link().asked_for_copies + b->link().asked_for_copies, 0);
}

TEST_F(OneCopy, WhatIsRefusedGoesByFrames) {
  open();
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  b->link().copies_left = 0;
  exchange(crossing_bytes);
  EXPECT_EQ(a->copied(), crossing_bytes);
}

TEST_F(OneCopy, WhatWouldHaveToBeCheckedGoesByFrames) {
  open({.crc = "single_copy"});
  a->link().one_copy_pays = b->link().one_copy_pays = true;
  exchange(crossing_bytes);
  EXPECT_EQ(a->copied() + b->copied(), 0U) << "nobody has a checksum of what may go by frames";
}

TEST_F(OneCopy, ManyMessagesEachWayGoAsTheirReceiverLikes) {
  open();
  std::vector<std::unique_ptr<Message>> messages;
  for (int i = 0; i < 12; ++i) {
    messages.push_back(send(*a, *b, crossing_bytes + static_cast<std::size_t>(i)));
    messages.push_back(send(*b, *a, crossing_bytes));
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
