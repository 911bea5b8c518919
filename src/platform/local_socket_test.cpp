#include "platform/local_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string>

namespace hawser::platform {
namespace {

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return std::distance(begin(entries), end(entries));
}

using Received = LocalSocket::Received;

class LocalSocketPair : public ::testing::Test {
 protected:
  void SetUp() override {
    std::uint64_t nonce = 0;
    random_bytes(std::as_writable_bytes(std::span(&nonce, 1)));
    name = "hawser-test-" + std::to_string(nonce);
    auto listening = LocalSocket::listen(name);
    ASSERT_TRUE(listening.ok()) << listening.error().sentence();
    listener = std::move(*listening);
    EXPECT_FALSE(listener.accept());
    auto connected = LocalSocket::connect(name);
    ASSERT_TRUE(connected.ok());
    a = std::move(*connected);
    auto accepted = listener.accept();
    ASSERT_TRUE(accepted.has_value());
    b = std::move(*accepted);
  }
  Received receive() { return b.receive(buffer, &bytes, &fd); }

  std::string name;
  LocalSocket listener;
  LocalSocket a;
  LocalSocket b;
  std::array<std::byte, 16> buffer{};
  std::size_t bytes = 0;
  FileDescriptor fd;
};

TEST_F(LocalSocketPair, PacketsKeepTheirBounds) {
  const std::array<std::byte, 10> packet{std::byte{1}, std::byte{2}};
  EXPECT_EQ(receive(), Received::nothing);
  ASSERT_TRUE(a.send(packet));
  ASSERT_TRUE(a.send(std::span(packet).first(3)));
  ASSERT_EQ(receive(), Received::packet);
  EXPECT_EQ(bytes, 10U);
  EXPECT_EQ(buffer[1], std::byte{2});
  ASSERT_EQ(receive(), Received::packet);
  EXPECT_EQ(bytes, 3U);
  EXPECT_FALSE(fd.is_open());
  EXPECT_EQ(receive(), Received::nothing);
}

TEST_F(LocalSocketPair, ALongPacketIsCut) {
  ASSERT_TRUE(a.send(std::array<std::byte, 100>{}));
  ASSERT_EQ(receive(), Received::packet);
  EXPECT_EQ(bytes, buffer.size());
  EXPECT_EQ(receive(), Received::nothing);
}

TEST_F(LocalSocketPair, ADescriptorComesAlong) {
  const FileDescriptor file = std::move(*create_anonymous_file("test", page_bytes()));
  ASSERT_TRUE(a.send(std::span(buffer), file.get()));
  ASSERT_EQ(receive(), Received::packet);
  ASSERT_TRUE(fd.is_open());
  EXPECT_NE(fd.get(), file.get());
  EXPECT_EQ(*file_size(fd), page_bytes());
}

TEST_F(LocalSocketPair, ASecondDescriptorIsNotLeftOpen) {
  const FileDescriptor file = std::move(*create_anonymous_file("test", 0));
  const auto before = open_descriptors();
  std::array<char, 8> text{};
  iovec piece{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const std::array<int, 2> both = {file.get(), file.get()};
  std::memcpy(CMSG_DATA(header), both.data(), sizeof(both));
  ASSERT_EQ(::sendmsg(a.fd(), &message, MSG_NOSIGNAL), 8);
  ASSERT_EQ(receive(), Received::packet);
  EXPECT_TRUE(fd.is_open());
  fd.close();
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(LocalSocketPair, TheEndOfThePeerIsSeenAfterItsPackets) {
  ASSERT_TRUE(a.send(buffer));
  a.close();
  EXPECT_EQ(receive(), Received::packet);
  EXPECT_EQ(receive(), Received::closed);
  EXPECT_FALSE(b.send(buffer));
}

TEST_F(LocalSocketPair, AFullSocketRefuses) {
  int packets = 0;
  while (a.send(buffer)) ASSERT_LT(++packets, 1'000'000);
  ASSERT_GT(packets, 0);
  ASSERT_EQ(receive(), Received::packet);
  EXPECT_TRUE(a.send(buffer));
}

TEST_F(LocalSocketPair, TheKernelVouchesForThePeer) {
  const auto peer = b.peer();
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_FALSE(LocalSocket().peer().ok());
}

TEST_F(LocalSocketPair, ANameBelongsToOneListener) {
  const auto second = LocalSocket::listen(name);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().sentence().find(name), std::string::npos);
  listener.close();
  EXPECT_TRUE(LocalSocket::listen(name).ok());
}

TEST(LocalSocketNames, ThatCannotBeAreErrors) {
  EXPECT_FALSE(LocalSocket::connect("hawser-test-nobody-listens-here").ok());
  EXPECT_FALSE(LocalSocket::connect("").ok());
  EXPECT_FALSE(LocalSocket::listen("").ok());
  EXPECT_FALSE(LocalSocket::connect(std::string(108, 'x')).ok());
  EXPECT_FALSE(LocalSocket::listen(std::string(108, 'x')).ok());
  EXPECT_TRUE(LocalSocket::listen(std::string(107, 'x')).ok());
}

}  // namespace
}  // namespace hawser::platform
