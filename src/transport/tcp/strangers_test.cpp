// A live listener and people who have no business there.
#include <gtest/gtest.h>

#include <cstring>

#include "transport/tcp/test_end.hpp"

namespace hawser::transport::tcp {
namespace {

using TcpEnd = End<>;
using platform::TcpSocket;

class TcpStrangers : public ::testing::Test {
 protected:
  TcpSocket knock() {
    auto socket = TcpSocket::connect(*platform::parse_ip_address("127.0.0.1"),
                                     parse_address(*host.transport->address())->port);
    EXPECT_TRUE(socket.ok());
    settle(host);
    return std::move(*socket);
  }
  void say(TcpSocket& socket, std::span<const std::byte> bytes) {
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    EXPECT_EQ(socket.send({&piece, 1}).bytes, bytes.size());
    settle(host);
  }
  /// What the host has answered, unless it has closed the connection.
  static std::optional<std::vector<std::byte>> hear(TcpSocket& socket) {
    std::vector<std::byte> heard(1000);
    const TcpSocket::Moved moved = socket.receive(heard);
    if (moved.outcome == TcpSocket::Outcome::closed || moved.outcome == TcpSocket::Outcome::failed)
      return std::nullopt;
    heard.resize(moved.bytes);
    return heard;
  }
  Hello good_hello() const {
    Hello hello;
    hello.from = {1, 9, 0};
    hello.to = host.self;
    return hello;
  }
  template <class T>
  static std::span<const std::byte> as_bytes(const T& message) {
    return std::as_bytes(std::span(&message, 1));
  }
  /// The host goes on serving its own people.
  void expect_unharmed() {
    TcpEnd friendly(1);
    Link& link = friendly.connect(host);
    settle(friendly, host);
    EXPECT_TRUE(link.channels().has(ChannelKind::tcp));
    EXPECT_EQ(host.sink.peers, std::vector<Identity>{friendly.self});
    EXPECT_TRUE(host.sink.arrivals.empty());
  }

  TcpEnd host{0};
};

TEST_F(TcpStrangers, GarbageIsTurnedAway) {
  TcpSocket socket = knock();
  EXPECT_EQ(host.transport->visitors(), 1U);
  say(socket, std::vector<std::byte>(sizeof(Hello), std::byte{'G'}));
  EXPECT_FALSE(hear(socket).has_value());
  EXPECT_EQ(host.transport->visitors(), 0U);
  EXPECT_EQ(host.transport->turned_away(), 1U);
  expect_unharmed();
}

TEST_F(TcpStrangers, WhoWantsAnotherJobIsTurnedAwayUnanswered) {
  TcpSocket socket = knock();
  Hello hello = good_hello();
  hello.from.job = 2;
  say(socket, as_bytes(hello));
  EXPECT_FALSE(hear(socket).has_value());
  expect_unharmed();
}

TEST_F(TcpStrangers, WhoLacksTheKeyGetsAChallengeAndNoFurther) {
  TcpSocket socket = knock();
  say(socket, as_bytes(good_hello()));
  const auto challenge = hear(socket);
  ASSERT_TRUE(challenge.has_value());
  EXPECT_EQ(challenge->size(), sizeof(Challenge));
  say(socket, as_bytes(Proof{}));
  EXPECT_FALSE(hear(socket).has_value());
  EXPECT_TRUE(host.sink.links.empty());
  expect_unharmed();
}

TEST_F(TcpStrangers, AReplayedHandshakeGetsNoFurther) {
  const HandshakeSide side{{1, 9, 0}, test_key(), false};
  Connector connector(side, host.self, Nonce{});
  const std::vector<std::byte> hello(connector.hello().begin(), connector.hello().end());
  TcpSocket first = knock();
  say(first, hello);
  const std::vector<std::byte> proof = connector.feed(*hear(first)).to_send;
  ASSERT_EQ(proof.size(), sizeof(Proof));
  TcpSocket again = knock();
  say(again, hello);
  EXPECT_EQ(hear(again)->size(), sizeof(Challenge));
  say(again, proof);
  EXPECT_FALSE(hear(again).has_value());
  EXPECT_TRUE(host.sink.links.empty());
}

/// A process of the job whose program is not ours: it says what it likes.
class TcpWrongPeers : public TcpStrangers {
 protected:
  /// Its handshake is as it should be; then it sends TYPE with BODY.
  void send_record(RecordType type, std::span<const std::byte> body) {
    Connector connector({{1, 9, 0}, test_key(), false}, host.self, Nonce{});
    peer = knock();
    say(peer, connector.hello());
    say(peer, connector.feed(*hear(peer)).to_send);
    ASSERT_EQ(hear(peer)->size(), sizeof(RecordHeader)) << "the connection counts";
    const RecordHeader header{static_cast<std::uint32_t>(body.size()), type, {}};
    std::vector<std::byte> record(record_bytes(body.size(), false));
    std::memcpy(record.data(), &header, sizeof(header));
    std::ranges::copy(body, record.begin() + sizeof(header));
    say(peer, record);
  }
  TcpSocket peer;
};

TEST_F(TcpWrongPeers, DataThatNobodyReadsEndsTheConnection) {
  send_record(RecordType::data, std::vector<std::byte>(100));
  EXPECT_FALSE(hear(peer).has_value());
  EXPECT_TRUE(host.sink.operations.empty());
}

TEST_F(TcpWrongPeers, ARefusalOfNothingEndsTheConnection) {
  send_record(RecordType::refused, {});
  EXPECT_FALSE(hear(peer).has_value());
  EXPECT_TRUE(host.sink.operations.empty());
}

TEST_F(TcpWrongPeers, MemoryThatIsNobodysIsNotRead) {
  const ReadRequest request{0x1000, 4096, 1, 0};
  send_record(RecordType::read, as_bytes(request));
  const auto answer = hear(peer);
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->size(), sizeof(RecordHeader));
  EXPECT_EQ(parse_record_header(*answer)->type, RecordType::refused);
}

TEST_F(TcpStrangers, TheSlowCostLittleAndTheOldestGoesWhenThereAreTooMany) {
  std::vector<TcpSocket> slow;
  const std::int64_t before = host.ledger.current_bytes(memory::Account::network_buffers);
  for (std::size_t i = 0; i < TcpTransport::visitors_max + 8; ++i) {
    auto socket = TcpSocket::connect(*platform::parse_ip_address("127.0.0.1"),
                                     parse_address(*host.transport->address())->port);
    ASSERT_TRUE(socket.ok());
    slow.push_back(std::move(*socket));
    host.transport->arm();
    host.transport->progress();
  }
  settle(host);
  EXPECT_EQ(host.transport->visitors(), TcpTransport::visitors_max);
  EXPECT_EQ(host.transport->turned_away(), 8U);
  EXPECT_EQ(host.ledger.current_bytes(memory::Account::network_buffers), before);
  EXPECT_FALSE(hear(slow.front()).has_value());
  EXPECT_TRUE(hear(slow.back()).has_value());
  say(slow.back(), std::vector<std::byte>(1));
  expect_unharmed();
}

/// Who holds the key may still send nonsense afterwards: its connection ends, and nothing else.
TEST_F(TcpStrangers, AnOversizedRecordEndsItsConnection) {
  const HandshakeSide side{{1, 9, 0}, test_key(), false};
  Connector connector(side, host.self, Nonce{});
  TcpSocket socket = knock();
  say(socket, connector.hello());
  say(socket, connector.feed(*hear(socket)).to_send);
  EXPECT_EQ(hear(socket)->size(), record_bytes(0, false)) << "it counts";
  ASSERT_EQ(host.sink.links.size(), 1U);
  say(socket, as_bytes(RecordHeader{0xffffffff, RecordType::frame, {}}));
  EXPECT_FALSE(hear(socket).has_value());
  EXPECT_EQ(host.sink.undelivered.size(), 1U);
  EXPECT_TRUE(host.sink.arrivals.empty());
}

}  // namespace
}  // namespace hawser::transport::tcp
