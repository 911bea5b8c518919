#include "transport/tcp/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <utility>

#include "platform/clock.hpp"
#include "transport/recording_sink.hpp"

namespace hawser::transport::tcp {
namespace {

using platform::TcpSocket;

/// Does with each record what a test wants.
struct TestOwner final : Connection::Owner {
  void on_record(Connection& by, RecordType, std::span<const std::byte> body) override {
    ++records;
    if (handle) handle(by, body);
  }
  void on_failed(Connection&) override {}
  [[nodiscard]] const ExportedMemory& exported() const override { return memory; }
  void on_read_done(std::uint64_t, bool) override {}

  std::function<void(Connection&, std::span<const std::byte>)> handle;
  int records = 0;
  ExportedMemory memory;
};

/// A connection, and the bare socket at its other end.
class TcpConnection : public ::testing::Test {
 protected:
  TcpConnection()
      : services{.side = {{1, 0, 0}, {}, false, nullptr},
                 .settings = {},
                 .sink = sink,
                 .ledger = ledger,
                 .clock = platform::monotonic_ns,
                 .own_addresses = {},
                 .interfaces = {},
                 .host_mark = 0,
                 .poll = std::move(*platform::PollSet::make())} {
    auto listener = std::move(*TcpSocket::listen());
    peer =
        std::move(*TcpSocket::connect(*platform::parse_ip_address("127.0.0.1"), *listener.port()));
    std::optional<TcpSocket> accepted;
    while (!accepted) accepted = std::move(*listener.accept());
    constexpr int small = 4096;  // so that it is full soon
    ::setsockopt(accepted->fd(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    connection.emplace(services, owner, *std::move(accepted), std::nullopt);
  }

  /// The peer sends a frame of 8 bytes, and the connection takes it.
  void bring_record() {
    const RecordHeader header{8, RecordType::frame, {}};
    std::array<std::byte, sizeof(header) + 8> record{};
    std::memcpy(record.data(), &header, sizeof(header));
    EXPECT_EQ(peer.send(std::array{iovec{record.data(), record.size()}}).bytes, record.size());
    while (!connection->receive()) {
    }
  }

  memory::Ledger ledger;
  RecordingSink sink;
  LinkServices services;
  TestOwner owner;
  TcpSocket peer;
  std::optional<Connection> connection;
};

/// Where it is full, it is watched again; and one that is watched keeps no memory for what comes.
TEST_F(TcpConnection, KeepsARecordWhileItIsHandledAlthoughTheSocketFills) {
  while (connection->is_watched()) bring_record();
  bool was_kept = false;
  owner.handle = [&](Connection& by, std::span<const std::byte> body) {
    while (by.is_flushed()) by.send_control(RecordType::leave);
    EXPECT_TRUE(by.is_watched());
    memory::BufferPool::Buffer* const other = *services.staging.take();
    was_kept =
        body.data() < other->data() || body.data() >= other->data() + RecordReader::memory_bytes;
    services.staging.give_back(other);
  };
  const int before = owner.records;
  bring_record();
  EXPECT_EQ(owner.records, before + 1);
  EXPECT_TRUE(was_kept) << "somebody else has been given its memory";
}

/// What it keeps while a record is handled goes back when that is done.
TEST_F(TcpConnection, GivesItsMemoryBackAfterTheLastRecord) {
  bring_record();
  EXPECT_EQ(owner.records, 1);
  services.staging.release_idle();
  EXPECT_EQ(services.staging.slab_count(), 0U);
}

}  // namespace
}  // namespace hawser::transport::tcp
