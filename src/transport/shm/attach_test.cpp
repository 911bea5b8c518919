#include "transport/shm/attach.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/shm/shm_world.hpp"

namespace hawser::transport::shm {
namespace {

std::span<const std::byte> bytes_of(const AttachPacket& packet) {
  return std::as_bytes(std::span(&packet, 1));
}

AttachPacket good_packet() {
  AttachPacket packet;
  const auto key = test_key();
  std::copy(key.begin(), key.end(), packet.key);
  packet.identity = test_identity(1);
  packet.local_rank = 1;
  packet.owner = 1;
  return packet;
}

TEST(AttachPacket, IsReadAsItWasWritten) {
  const auto key = test_key();
  AttachPacket packet = good_packet();
  packet.kind = AttachPacket::welcome;
  packet.queue_slots = 77;
  const auto parsed = parse_attach_packet(bytes_of(packet), key);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->identity, packet.identity);
  EXPECT_EQ(parsed->queue_slots, 77U);
}

TEST(AttachPacket, AnythingElseIsNone) {
  const auto key = test_key();
  const auto parses = [&](const AttachPacket& packet) {
    return parse_attach_packet(bytes_of(packet), key).has_value();
  };
  ASSERT_TRUE(parses(good_packet()));
  AttachPacket packet = good_packet();
  packet.magic ^= 1;
  EXPECT_FALSE(parses(packet));
  packet = good_packet();
  packet.version += 1;
  EXPECT_FALSE(parses(packet));
  for (const std::uint16_t kind : std::initializer_list<std::uint16_t>{0, 3, 0xffff}) {
    packet = good_packet();
    packet.kind = kind;
    EXPECT_FALSE(parses(packet));
  }
  for (std::size_t i = 0; i < key.size(); ++i) {
    packet = good_packet();
    packet.key[i] ^= std::byte{0x80};
    EXPECT_FALSE(parses(packet)) << "key byte " << i;
  }
  packet = good_packet();
  for (std::size_t bytes = 0; bytes < sizeof(packet); ++bytes)
    EXPECT_FALSE(parse_attach_packet(bytes_of(packet).first(bytes), key).has_value());
}

/// A stranger that speaks to a transport's socket by hand.
class Attach : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::byte> address = end.address();
    auto connected = platform::LocalSocket::connect(
        {reinterpret_cast<const char*>(address.data()) + 4, address.size() - 4});
    ASSERT_TRUE(connected.ok());
    socket = std::move(*connected);
    auto created = Segment::create({}, ledger);
    ASSERT_TRUE(created.ok());
    segment.emplace(std::move(*created));
  }
  AttachPacket hello() const {
    AttachPacket packet = good_packet();
    packet.queue_slots = segment->queue_slots();
    packet.window_bytes = segment->window_bytes();
    return packet;
  }
  void say(std::span<const std::byte> packet, int fd) {
    ASSERT_TRUE(socket.send(packet, fd));
    words[0].knock = 1;
    settle(end);
  }
  void say(const AttachPacket& packet) { say(bytes_of(packet), segment->file().get()); }
  /// The packet was dropped, its connection too, and nothing remains of it.
  void expect_dropped() {
    EXPECT_TRUE(end.sink.links.empty());
    EXPECT_EQ(end.sink.channels_changed, 0);
    std::array<std::byte, 256> answer;
    std::size_t bytes = 0;
    platform::FileDescriptor fd;
    EXPECT_EQ(socket.receive(answer, &bytes, &fd), platform::LocalSocket::Received::closed);
    EXPECT_FALSE(fd.is_open());
    EXPECT_FALSE(end.transport->progress());
  }
  /// The packet came to a link, but to no channel.
  void expect_useless() { EXPECT_EQ(end.sink.channels_changed, 0); }

  std::array<hostmem::WakeWord, 2> words{};
  ShmEnd<> end{0, words, {}};
  memory::Ledger ledger;
  platform::LocalSocket socket;
  std::optional<Segment> segment;
};

TEST_F(Attach, AGoodHelloIsAnsweredWithAWelcome) {
  say(hello());
  ASSERT_EQ(end.sink.links.size(), 1U);
  EXPECT_TRUE(end.sink.links[0]->channels().has(ChannelKind::shared_queue));
  EXPECT_FALSE(end.sink.links[0]->channels().has(ChannelKind::single_copy)) << "the cookie lied";
  EXPECT_EQ(words[1].knock, 1U);
  std::array<std::byte, 256> answer;
  std::size_t bytes = 0;
  platform::FileDescriptor fd;
  ASSERT_EQ(socket.receive(answer, &bytes, &fd), platform::LocalSocket::Received::packet);
  EXPECT_TRUE(fd.is_open());
  const auto welcome = parse_attach_packet(std::span(answer).first(bytes), test_key());
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(welcome->kind, AttachPacket::welcome);
  EXPECT_EQ(welcome->identity, test_identity(0));
}

TEST_F(Attach, AHelloThatComesLateIsWaitedFor) {
  words[0].knock = 1;
  EXPECT_TRUE(end.transport->progress());
  EXPECT_TRUE(end.transport->progress());
  ASSERT_TRUE(socket.send(bytes_of(hello()), segment->file().get()));
  settle(end);
  EXPECT_EQ(end.sink.links.size(), 1U);
}

TEST_F(Attach, WrongMagic) {
  AttachPacket packet = hello();
  packet.magic = 0;
  say(packet);
  expect_dropped();
}

TEST_F(Attach, WrongVersion) {
  AttachPacket packet = hello();
  packet.version = 99;
  say(packet);
  expect_dropped();
}

TEST_F(Attach, WrongKey) {
  AttachPacket packet = hello();
  packet.key[31] = std::byte{0};
  say(packet);
  expect_dropped();
}

TEST_F(Attach, AWelcomeThatNobodyWaitsFor) {
  AttachPacket packet = hello();
  packet.kind = AttachPacket::welcome;
  say(packet);
  expect_dropped();
}

TEST_F(Attach, TooShort) {
  const AttachPacket packet = hello();
  say(bytes_of(packet).first(sizeof(packet) - 1), segment->file().get());
  expect_dropped();
}

TEST_F(Attach, TooLong) {
  std::array<std::byte, sizeof(AttachPacket) + 1> bytes{};
  const AttachPacket packet = hello();
  std::memcpy(bytes.data(), &packet, sizeof(packet));
  say(bytes, segment->file().get());
  expect_dropped();
}

TEST_F(Attach, NoSegment) {
  const AttachPacket packet = hello();
  say(bytes_of(packet), -1);
  expect_dropped();
}

TEST_F(Attach, ALocalRankThatDoesNotExist) {
  AttachPacket packet = hello();
  packet.local_rank = 2;
  say(packet);
  expect_useless();
}

TEST_F(Attach, AQueueSizeThatIsNoPowerOfTwo) {
  AttachPacket packet = hello();
  packet.queue_slots = 100;
  say(packet);
  expect_useless();
}

TEST_F(Attach, AQueueLongerThanTheFile) {
  AttachPacket packet = hello();
  packet.queue_slots = 1U << 31;
  say(packet);
  expect_useless();
}

TEST_F(Attach, AWindowOutOfRange) {
  AttachPacket packet = hello();
  packet.window_bytes = ~std::uint64_t{0};
  say(packet);
  expect_useless();
}

TEST_F(Attach, AFileThatCouldShrinkUnderUs) {
  const platform::FileDescriptor file(::memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_TRUE(file.is_open());
  ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(hello().window_bytes)), 0);
  say(bytes_of(hello()), file.get());
  expect_useless();
}

TEST_F(Attach, AFileThatIsNoSegment) {
  const auto file = platform::create_anonymous_file("zeros", hello().window_bytes);
  ASSERT_TRUE(file.ok());
  say(bytes_of(hello()), file->get());
  expect_useless();
}

TEST_F(Attach, ABadHelloDoesNotSpoilAGoodOne) {
  AttachPacket packet = hello();
  packet.queue_slots = 100;
  say(packet);
  SetUp();
  say(hello());
  EXPECT_EQ(end.sink.links.size(), 1U);
  EXPECT_EQ(end.sink.channels_changed, 1);
}

/// A peer that ended between its handshake and our look at it: a slot that it had claimed by then
/// must not hold up the queue.
TEST_F(Attach, WhoEndedBeforeItWasAttachedIsSeenToHaveEnded) {
  const std::vector<std::byte> address = end.address();
  const pid_t child = ::fork();
  if (child == 0) {
    auto dying = platform::LocalSocket::connect(
        {reinterpret_cast<const char*>(address.data()) + 4, address.size() - 4});
    AttachPacket packet = hello();
    packet.identity = test_identity(2);
    ::_exit(dying && dying->send(bytes_of(packet), segment->file().get()) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  words[0].knock = 1;
  end.transport->progress();
  ASSERT_EQ(end.sink.peers, std::vector{test_identity(2)});

  say(hello());
  std::array<std::byte, 256> answer;
  std::size_t bytes = 0;
  platform::FileDescriptor fd;
  ASSERT_EQ(socket.receive(answer, &bytes, &fd), platform::LocalSocket::Received::packet);
  const auto welcome = parse_attach_packet(std::span(answer).first(bytes), test_key());
  ASSERT_TRUE(welcome.has_value());
  auto queue = PeerSegment::attach(fd, welcome->queue_slots, welcome->window_bytes);
  ASSERT_TRUE(queue.ok());
  ASSERT_NE(queue->queue_sender(welcome->owner - 1).claim(), nullptr);
  for (int polls = 0; polls < 1000 && end.sink.lost.empty(); ++polls) end.transport->progress();
  EXPECT_EQ(end.sink.lost.size(), 1U);
  EXPECT_TRUE(end.sink.links[0]->channels().empty());
  EXPECT_FALSE(end.sink.links[1]->channels().empty());
}

TEST_F(Attach, AnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const std::vector<std::byte> address = end.address();
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    auto other = platform::LocalSocket::connect(
        {reinterpret_cast<const char*>(address.data()) + 4, address.size() - 4});
    if (!other) ::_exit(3);
    if (!other->send(bytes_of(hello()), segment->file().get())) ::_exit(4);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  words[0].knock = 1;
  end.transport->progress();
  socket.close();
  words[0].knock = 1;
  settle(end);
  EXPECT_TRUE(end.sink.links.empty());
}

}  // namespace
}  // namespace hawser::transport::shm
