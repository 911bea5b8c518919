#include "transport/tcp/handshake.hpp"

#include <gtest/gtest.h>

#include "transport/tcp/seal.hpp"

namespace hawser::transport::tcp {
namespace {

using State = HandshakeStep::State;

constexpr std::uint64_t expires_ns = 1000;

JobKey key_of(int secret) {
  JobKey key{};
  key[5] = static_cast<std::byte>(secret);
  return key;
}
Nonce nonce_of_byte(int byte) {
  Nonce nonce;
  nonce.fill(static_cast<std::byte>(byte));
  return nonce;
}
HandshakeSide side_of(std::uint32_t index, int secret = 1, bool encrypts = false) {
  return {{7, index, 0}, key_of(secret), encrypts};
}

/// Both sides, with the messages between them in the test's hands.
struct Sides {
  explicit Sides(const HandshakeSide& a = side_of(0), const HandshakeSide& b = side_of(1))
      : connector(a, {7, 1, 0}, nonce_of_byte(3)), acceptor(b, nonce_of_byte(4), expires_ns) {}
  HandshakeStep say_hello() { return acceptor.feed(connector.hello(), 0); }

  Connector connector;
  Acceptor acceptor;
};

TEST(TcpHandshake, TwoWhoHoldTheKeyMeetAndAgreeUponKeys) {
  Sides sides;
  const HandshakeStep challenge = sides.say_hello();
  ASSERT_EQ(challenge.state, State::waiting);
  const HandshakeStep proof = sides.connector.feed(challenge.to_send);
  ASSERT_EQ(proof.state, State::done);
  EXPECT_EQ(sides.acceptor.feed(proof.to_send, 0).state, State::done);
  EXPECT_EQ(sides.acceptor.peer(), (Identity{7, 0, 0}));
  EXPECT_EQ(sides.connector.keys().of_acceptor, sides.acceptor.keys().of_acceptor);
  EXPECT_EQ(sides.connector.keys().of_connector, sides.acceptor.keys().of_connector);
  EXPECT_NE(sides.connector.keys().of_connector, sides.acceptor.keys().of_acceptor);
}

TEST(TcpHandshake, MessagesMayComeByteByByte) {
  Sides sides;
  HandshakeStep challenge;
  for (const std::byte& byte : sides.connector.hello()) {
    ASSERT_TRUE(challenge.to_send.empty());
    challenge = sides.acceptor.feed({&byte, 1}, 0);
  }
  HandshakeStep proof;
  for (const std::byte& byte : challenge.to_send) proof = sides.connector.feed({&byte, 1});
  ASSERT_EQ(proof.state, State::done);
  for (std::size_t i = 0; i + 1 < proof.to_send.size(); ++i)
    EXPECT_EQ(sides.acceptor.feed({&proof.to_send[i], 1}, 0).state, State::waiting);
  EXPECT_EQ(sides.acceptor.feed({&proof.to_send.back(), 1}, 0).state, State::done);
}

TEST(TcpHandshake, WhoLacksTheKeyIsRefusedOnBothSides) {
  Sides sides(side_of(0, 1), side_of(1, 2));
  const HandshakeStep challenge = sides.say_hello();
  EXPECT_EQ(sides.connector.feed(challenge.to_send).state, State::refused);
  EXPECT_EQ(sides.acceptor.feed(std::vector<std::byte>(sizeof(Proof)), 0).state, State::refused);
}

TEST(TcpHandshake, AReplayedHandshakeGetsNowhere) {
  Sides first;
  const HandshakeStep challenge = first.say_hello();
  const HandshakeStep proof = first.connector.feed(challenge.to_send);
  Acceptor again(side_of(1), nonce_of_byte(9), expires_ns);
  EXPECT_EQ(again.feed(first.connector.hello(), 0).state, State::waiting);
  EXPECT_EQ(again.feed(proof.to_send, 0).state, State::refused);
  // Nor does what an acceptor said before to somebody else.
  Connector other(side_of(0), {7, 1, 0}, nonce_of_byte(10));
  EXPECT_EQ(other.feed(challenge.to_send).state, State::refused);
}

TEST(TcpHandshake, AnyBitThatIsChangedIsFoundOut) {
  const Sides untouched;
  for (std::size_t bit = 0; bit < 8 * sizeof(Hello); ++bit) {
    Sides sides;
    std::vector<std::byte> hello(sides.connector.hello().begin(), sides.connector.hello().end());
    hello[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    const HandshakeStep challenge = sides.acceptor.feed(hello, 0);
    if (challenge.state == State::refused && challenge.to_send.empty()) continue;
    EXPECT_EQ(sides.connector.feed(challenge.to_send).state, State::refused) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * sizeof(Challenge); ++bit) {
    Sides sides;
    HandshakeStep challenge = sides.say_hello();
    challenge.to_send[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    EXPECT_EQ(sides.connector.feed(challenge.to_send).state, State::refused) << bit;
  }
}

TEST(TcpHandshake, WhoIsOfAnotherJobOrWantsAnotherProcessIsRefused) {
  const auto answer = [](const Identity& self, const Identity& peer) {
    const Connector connector({self, key_of(1), false}, peer, nonce_of_byte(1));
    return Acceptor(side_of(1), nonce_of_byte(2), expires_ns).feed(connector.hello(), 0);
  };
  EXPECT_EQ(answer({7, 0, 0}, {7, 1, 0}).state, State::waiting);
  EXPECT_EQ(answer({8, 0, 0}, {7, 1, 0}).state, State::refused);
  EXPECT_EQ(answer({7, 0, 0}, {7, 2, 0}).state, State::refused);
  EXPECT_EQ(answer({7, 0, 0}, {7, 1, 1}).state, State::refused);
  EXPECT_EQ(answer({7, 1, 0}, {7, 1, 0}).state, State::refused) << "itself";
}

TEST(TcpHandshake, WhoAcceptsLearnsWhatTheConnectionIsFor) {
  for (const Purpose purpose : {Purpose::begin, Purpose::go_on, Purpose::one_more}) {
    Connector connector(side_of(0), {7, 1, 0}, nonce_of_byte(1), purpose);
    Acceptor acceptor(side_of(1), nonce_of_byte(2), expires_ns);
    const HandshakeStep challenge = acceptor.feed(connector.hello(), 0);
    const HandshakeStep proof = connector.feed(challenge.to_send);
    ASSERT_EQ(proof.state, State::done);
    EXPECT_EQ(acceptor.feed(proof.to_send, 0).state, State::done);
    EXPECT_EQ(acceptor.purpose(), purpose);
  }
}

TEST(TcpHandshake, WhatIsTooMuchOrTooLateEndsIt) {
  Sides sides;
  std::vector<std::byte> hello(sides.connector.hello().begin(), sides.connector.hello().end());
  hello.push_back(std::byte{0});
  EXPECT_EQ(sides.acceptor.feed(hello, 0).state, State::refused);
  EXPECT_EQ(sides.say_hello().state, State::refused) << "it has ended";
  Sides late;
  EXPECT_EQ(late.acceptor.feed(late.connector.hello(), expires_ns).state, State::refused);
  EXPECT_EQ(late.connector.feed(std::vector<std::byte>(sizeof(Challenge) + 1)).state,
            State::refused);
}

TEST(TcpHandshake, BothMustWantEncryptionAndHearWhenTheyDiffer) {
  for (const bool connector_encrypts : {false, true}) {
    Sides sides(side_of(0, 1, connector_encrypts), side_of(1, 1, !connector_encrypts));
    const HandshakeStep challenge = sides.say_hello();
    EXPECT_EQ(challenge.state, State::refused);
    const HandshakeStep step = sides.connector.feed(challenge.to_send);
    EXPECT_EQ(step.state, State::refused);
    EXPECT_NE(step.why.find("tcp.encrypt"), std::string::npos) << step.why;
  }
  Sides agreed(side_of(0, 1, true), side_of(1, 1, true));
  EXPECT_EQ(agreed.connector.feed(agreed.say_hello().to_send).state, State::done);
}

TEST(TcpSeal, OpensInOrderWhatNobodyHasChanged) {
  SealKey key{};
  key[0] = std::byte{1};
  Seal seal(key);
  const std::vector<std::byte> body(100, std::byte{5});
  const RecordHeader header{100, RecordType::frame, {}};
  std::vector<std::vector<std::byte>> sealed;
  for (int i = 0; i < 3; ++i) {
    sealed.emplace_back(body.size() + seal_bytes);
    seal.apply(header, body, sealed.back().data());
    EXPECT_NE(sealed.back()[0], body[0]);
  }
  EXPECT_NE(sealed[0], sealed[1]);
  const auto open = [&](Unseal& unseal, std::vector<std::byte> bytes, const RecordHeader& as) {
    return unseal.apply(as, std::span(bytes).first(body.size())) &&
           std::equal(body.begin(), body.end(), bytes.begin());
  };
  Unseal unseal(key);
  EXPECT_TRUE(open(unseal, sealed[0], header));
  EXPECT_TRUE(open(unseal, sealed[1], header));
  EXPECT_FALSE(open(unseal, sealed[1], header)) << "replayed";
  Unseal skipping(key);
  EXPECT_FALSE(open(skipping, sealed[1], header));
  Unseal misled(key);
  EXPECT_FALSE(open(misled, sealed[0], RecordHeader{100, RecordType::leave, {}}));
  Unseal damaged(key);
  sealed[0].back() ^= std::byte{1};
  EXPECT_FALSE(open(damaged, sealed[0], header));
}

TEST(TcpWire, ARecordHeaderThatCanNotBeIsRefused) {
  const auto parse = [](std::uint32_t bytes, std::uint8_t type) {
    const RecordHeader header{bytes, static_cast<RecordType>(type), {}};
    return parse_record_header(std::as_bytes(std::span(&header, 1))).has_value();
  };
  EXPECT_TRUE(parse(1, 2));
  EXPECT_TRUE(parse(frame_bytes_max, 2));
  EXPECT_FALSE(parse(frame_bytes_max + 1, 2));
  EXPECT_FALSE(parse(0xffffffff, 2));
  EXPECT_FALSE(parse(0, 2));
  EXPECT_FALSE(parse(8, 1));
  EXPECT_TRUE(parse(0, 4));
  EXPECT_FALSE(parse(0, 0));
  EXPECT_TRUE(parse(0, 6));
  EXPECT_FALSE(parse(0, 7));
  EXPECT_FALSE(parse_record_header(std::vector<std::byte>(7)).has_value());
}

// Processes of other jobs.

struct TwoJobs {
  TwoJobs() {
    const bootstrap::Admission admission{11, key_of(9)};
    caller_keys.assign(server.self, admission);
    server_keys.admit(admission);
  }
  /// How the server ends the handshake that the caller begins.
  State meet() {
    Connector connector(caller, server.self, nonce_of_byte(3));
    Acceptor acceptor(server, nonce_of_byte(4), expires_ns);
    const HandshakeStep challenge = acceptor.feed(connector.hello(), 0);
    if (challenge.state == State::refused) return State::refused;
    const HandshakeStep proof = connector.feed(challenge.to_send);
    if (proof.state == State::refused) return State::refused;
    const State state = acceptor.feed(proof.to_send, 0).state;
    EXPECT_EQ(connector.keys().of_acceptor, acceptor.keys().of_acceptor);
    return state;
  }

  bootstrap::Keyring caller_keys;
  bootstrap::Keyring server_keys;
  HandshakeSide caller{{7, 0, 0}, key_of(1), false, &caller_keys};
  HandshakeSide server{{8, 5, 0}, key_of(2), false, &server_keys};
};

TEST(TcpHandshake, AnotherJobIsLetInUnderAnAdmission) { EXPECT_EQ(TwoJobs().meet(), State::done); }

TEST(TcpHandshake, AnotherJobIsNotLetInWithoutOneOrUnderAnotherKey) {
  TwoJobs barred;
  barred.server_keys.bar(11);
  EXPECT_EQ(barred.meet(), State::refused);
  TwoJobs unknown;
  unknown.caller_keys.assign(unknown.server.self, {12, key_of(9)});
  EXPECT_EQ(unknown.meet(), State::refused);
  TwoJobs wrong;
  wrong.caller_keys.assign(wrong.server.self, {11, key_of(10)});
  EXPECT_EQ(wrong.meet(), State::refused);
  TwoJobs alone;
  alone.server.others = nullptr;
  EXPECT_EQ(alone.meet(), State::refused);
}

TEST(TcpHandshake, AnAdmissionLetsNobodyInWhoSaysThatHeIsOfThisJob) {
  TwoJobs jobs;
  jobs.caller.self.job = jobs.server.self.job;
  EXPECT_EQ(jobs.meet(), State::refused);
}

}  // namespace
}  // namespace hawser::transport::tcp
