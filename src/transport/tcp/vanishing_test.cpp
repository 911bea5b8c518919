// A host that vanishes while a connection to it is being made, by what its peer sees of that: the
// host has accepted the connection, and answers nothing to what it is sent.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <sys/socket.h>

#include <array>
#include <optional>

#include "transport/tcp/handshake.hpp"
#include "transport/tcp/test_end.hpp"

namespace hawser::transport::tcp {
namespace {

using platform::TcpSocket;

/// As if segments of TCP with PAYLOAD_BYTES were lost on their way to SOCKET, or to what it
/// accepts.
void lose_segments(const TcpSocket& socket, std::uint32_t payload_bytes) {
  constexpr std::uint32_t header_words_at = 12;  // the upper half of that byte
  std::array program = {
      sock_filter BPF_STMT(BPF_LD | BPF_B | BPF_ABS, header_words_at),
      sock_filter BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
      sock_filter BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 4),
      sock_filter BPF_STMT(BPF_MISC | BPF_TAX, 0),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
      sock_filter BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, payload_bytes, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, 0),
      sock_filter BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
  };
  const sock_fprog filter{program.size(), program.data()};
  ASSERT_EQ(::setsockopt(socket.fd(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)), 0);
}

class TcpVanishing : public ::testing::Test {
 protected:
  /// The caller calls a peer, whose host loses what has as many bytes as LOST; what it has
  /// accepted.
  TcpSocket accept(std::size_t lost) {
    lose_segments(listener, static_cast<std::uint32_t>(lost));
    Address address = *parse_address(*caller.transport->address());
    address.port = *listener.port();
    EXPECT_TRUE(caller.transport->connect(peer, bytes_of(address)).ok());
    std::optional<TcpSocket> accepted;
    EXPECT_TRUE(
        poll_until([&] { return (accepted = std::move(*listener.accept())).has_value(); }, caller));
    return *std::move(accepted);
  }
  void expect_loss() {
    listener.close();
    ASSERT_TRUE(poll_until([&] { return !caller.sink.lost.empty(); }, caller));
    EXPECT_NE(caller.sink.lost[0].find("refused"), std::string::npos) << caller.sink.lost[0];
  }

  const Identity peer{1, 1, 0};
  TcpSocket listener = std::move(*TcpSocket::listen());
  End<> caller{0, test_settings(false, 1)};
};

TEST_F(TcpVanishing, BeforeItHasHeardWhoCalls) {
  const TcpSocket accepted = accept(sizeof(Hello));
  expect_loss();
}

TEST_F(TcpVanishing, BeforeItHasConfirmedTheConnection) {
  TcpSocket accepted = accept(sizeof(Proof));
  std::array<std::byte, sizeof(Hello)> hello{};
  ASSERT_TRUE(poll_until([&] { return accepted.receive(hello).bytes == hello.size(); }, caller));
  Acceptor acceptor({peer, test_key(), false, nullptr}, Nonce{}, base::never_ns);
  const HandshakeStep step = acceptor.feed(hello, 0);
  ASSERT_EQ(
      accepted
          .send(std::array{iovec{const_cast<std::byte*>(step.to_send.data()), step.to_send.size()}})
          .bytes,
      sizeof(Challenge));
  expect_loss();
}

}  // namespace
}  // namespace hawser::transport::tcp
