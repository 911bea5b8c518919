// What a receive takes past progress() from a ring, what progress() leaves there, and what becomes
// of a message that came before its receive.
#include <gtest/gtest.h>

#include <vector>

#include "channel/endpoint/fake_end.hpp"
#include "core/datatype/datatype.hpp"
#include "p2p/protocol/channel_backend.hpp"
#include "p2p/protocol/comm_of_two.hpp"
#include "p2p/protocol/wire.hpp"

namespace hawser::p2p {
namespace {

using channel::End;
using transport::ChannelKind;

struct RingEnd {
  RingEnd(channel::FakeNetwork& network, channel::FakeBootstrap::Directory& directory, int rank,
          std::uint64_t& now_ns)
      : end(network, directory, static_cast<std::uint32_t>(rank), 1, now_ns),
        backend(end.table, end.ledger, {}),
        comm(comm_of_two(rank)),
        peer(1 - rank) {
    end.transports[0]->may_lose_frames = false;
  }
  [[nodiscard]] channel::Endpoint& endpoint() {
    return end.table.find_or_make({1, static_cast<std::uint32_t>(peer), 0});
  }
  [[nodiscard]] Envelope envelope() { return {comm.get(), peer, 0, Traffic::point_to_point}; }

  End end;
  ChannelBackend backend;
  Ref<Comm> comm;
  int peer;
};

class ShortReceive : public ::testing::Test {
 protected:
  void SetUp() override {
    send(0);  // it makes the link, and arrives by progress()
    a.endpoint().send_credit_bytes = 1 << 20;
    pass();
    b.end.transports[0]->link(0).set_incoming({ChannelKind::ring});
    ASSERT_EQ(receive(), Taken::message);
    ASSERT_EQ(received, 0);
    ASSERT_EQ(receive(), Taken::nothing);
  }
  void send(int number) {
    ASSERT_TRUE(a.backend.isend({&number, 1, &mpi_int}, a.envelope(), SendMode::standard).ok());
  }
  Taken receive() {
    core::Status status;
    return b.backend.try_recv({&received, 1, &mpi_int}, b.envelope(), &status);
  }
  void pass() {
    for (int round = 0; round < 10; ++round) {
      a.backend.progress();
      b.backend.progress();
    }
  }

  std::uint64_t now_ns = 1'000'000;
  core::TypeTable types;
  core::Datatype& mpi_int = *types.find(0x209);
  core::Datatype& mpi_byte = *types.find(0x247);
  channel::FakeNetwork network;
  channel::FakeBootstrap::Directory directory;
  RingEnd a{network, directory, 0, now_ns};
  RingEnd b{network, directory, 1, now_ns};
  int received = -1;
};

TEST_F(ShortReceive, TakesTheNextMessage) {
  send(1);
  send(2);
  EXPECT_EQ(receive(), Taken::message);
  EXPECT_EQ(received, 1);
  EXPECT_EQ(receive(), Taken::message);
  EXPECT_EQ(received, 2);
  EXPECT_EQ(receive(), Taken::nothing);
}

// It would look in vain till it gives up, while its message stands behind that frame.
TEST_F(ShortReceive, LeavesToProgressWhatNoReceiveTakes) {
  a.endpoint().send(static_cast<std::uint8_t>(wire::FrameClass::credit),
                    sizeof(channel::FramePrefix) + sizeof(wire::Credit),
                    [](std::byte* body) { wire::put(body, wire::Credit{1}); });
  send(1);
  EXPECT_EQ(receive(), Taken::no);
  EXPECT_EQ(received, 0);
  b.backend.progress();
  EXPECT_EQ(receive(), Taken::message);
  EXPECT_EQ(received, 1);
}

TEST_F(ShortReceive, AMessageThatIsDearToKeepEndsTheTurn) {
  std::vector<std::byte> data(ChannelBackend::dear_payload_bytes);
  const auto arrive = [&](std::size_t bytes) {
    const auto count = static_cast<Count>(bytes);
    EXPECT_TRUE(
        a.backend.isend({data.data(), count, &mpi_byte}, a.envelope(), SendMode::standard).ok());
    b.backend.progress();
    return b.end.table.take_end_of_turn();
  };
  EXPECT_FALSE(arrive(data.size() - 1));
  EXPECT_TRUE(arrive(data.size()));
  std::vector<std::byte> into(data.size());
  const auto receive_posted = [&] {
    return *b.backend.irecv({into.data(), static_cast<Count>(into.size()), &mpi_byte},
                            b.envelope());
  };
  const Ref<Request> kept[] = {receive_posted(), receive_posted()};
  const Ref<Request> posted = receive_posted();
  EXPECT_FALSE(arrive(data.size())) << "somebody has asked for it";
  EXPECT_TRUE(kept[0]->is_complete() && kept[1]->is_complete() && posted->is_complete());
}

TEST_F(ShortReceive, AProbedMessageIsChargedUntilItIsReceivedOrItsHandleGone) {
  const auto unexpected_bytes = [&] {
    return b.end.ledger.current_bytes(memory::Account::unexpected);
  };
  ASSERT_EQ(unexpected_bytes(), 0);
  for (const bool is_received : {true, false}) {
    send(1);
    b.backend.progress();
    auto probed = b.backend.improbe(b.envelope());
    ASSERT_TRUE(probed.ok() && *probed);
    EXPECT_GT(unexpected_bytes(), 0);
    if (is_received)
      EXPECT_TRUE((*b.backend.imrecv({&received, 1, &mpi_int}, *std::move(probed)))->is_complete());
    else
      *probed = Ref<Message>();
    EXPECT_EQ(unexpected_bytes(), 0);
  }
}

}  // namespace
}  // namespace hawser::p2p
