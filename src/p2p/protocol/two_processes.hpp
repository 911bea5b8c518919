// Two processes of one host for tests of how long messages between them are copied.
#pragma once

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

using channel::End;
using channel::FakeLink;
using transport::ChannelKind;

/// Of the default send rules: as long as messages are that may be copied once.
inline constexpr std::size_t copied_once_bytes = std::size_t{16} * 1024;
inline constexpr std::uint64_t between_rounds_ns = 10'000;
inline constexpr std::uint32_t mpi_byte_handle = 0x247;  // MPI_BYTE

class TwoProcesses : public ::testing::Test {
 protected:
  struct Side {
    Side(TwoProcesses& test, int rank, const channel::AssuranceSettings& assurance,
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

  /// STREAM_BYTES_MAX: with 0 whoever may copy is asked. CHUNK_BYTES: single_copy_chunk_bytes.
  void open(const channel::AssuranceSettings& assurance = {}, std::int64_t stream_bytes_max = 0,
            std::int64_t chunk_bytes = 1 << 20) {
    ProtocolSettings settings;
    settings.stream_bytes_max = stream_bytes_max;
    settings.single_copy_chunk_bytes = chunk_bytes;
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

}  // namespace hawser::p2p
