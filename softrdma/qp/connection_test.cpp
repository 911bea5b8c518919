// Requester and responder against one another, over a network that loses, repeats and reorders.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "softrdma/qp/congestion.hpp"
#include "softrdma/qp/requester.hpp"
#include "softrdma/qp/responder.hpp"

namespace softrdma::qp {
namespace {

using queue::ReceiveQueue;
using queue::SendQueue;
using queue::SendWork;
using Bytes = std::vector<std::byte>;

constexpr std::uint32_t domain = 3;
constexpr std::uint32_t segment_bytes = 64;
constexpr std::uint32_t queue_depth = 64;
constexpr std::uint32_t memory_bytes = 4096;
constexpr std::uint8_t timeout = 8;  // about a millisecond
constexpr std::uint8_t retry_count = 7;

/// One end: its memory, queues and both halves of the queue pair.
class End final : public RequesterListener, public ResponderListener, public ReceiveSource {
 public:
  End(std::uint32_t number, wire::Service service, std::uint64_t secret)
      : regions(secret), ram(memory_bytes) {
    context.service = service;
    context.number = number;
    context.destination_qp = 3 - number;
    context.domain = domain;
    context.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    context.segment_bytes = segment_bytes;
    context.window_packets = 16;
    context.timeout = timeout;
    context.retry_count = retry_count;
    context.rnr_retry = 7;
    context.min_rnr_timer = 1;
    context.reads_max = context.incoming_reads_max = 4;
    key = *regions.insert({.address = address(0),
                           .bytes = ram.size(),
                           .memory = ram.data(),
                           .domain = domain,
                           .access = IBV_ACCESS_LOCAL_WRITE | context.access});
    start();
  }
  void start() {
    requester.start(first_sequence);
    responder.start(first_sequence);
  }

  static std::uint64_t address(std::uint64_t offset) { return 0x7000000000 + offset; }

  SendWork& add(ibv_wr_opcode opcode, std::uint32_t offset, std::uint32_t bytes) {
    SendWork& work = sends.next();
    work = {};
    work.id = next_id++;
    work.opcode = opcode;
    work.flags = IBV_SEND_SIGNALED;
    work.bytes = bytes;
    work.entries = 1;
    sends.entries(work)[0] = {.addr = address(offset), .length = bytes, .lkey = key};
    sends.push();
    return work;
  }
  SendWork& add_remote(ibv_wr_opcode opcode, std::uint32_t offset, std::uint32_t bytes,
                       const End& peer, std::uint32_t remote_offset) {
    SendWork& work = add(opcode, offset, bytes);
    work.remote_address = address(remote_offset);
    work.remote_key = peer.key;
    return work;
  }
  void add_receive(std::uint32_t offset, std::uint32_t bytes) {
    queue::ReceiveWork& work = receives.next();
    work = {.id = next_id++, .entries = 1};
    receives.entries(work)[0] = {.addr = address(offset), .length = bytes, .lkey = key};
    receives.push();
  }
  Bytes part(std::uint32_t offset, std::uint32_t count) const {
    return {ram.begin() + offset, ram.begin() + offset + count};
  }
  void fill(std::uint32_t offset, std::uint32_t count, std::uint8_t seed) {
    for (std::uint32_t i = 0; i < count; ++i) ram[offset + i] = static_cast<std::byte>(seed + i);
  }
  std::uint64_t& word(std::uint32_t offset) {
    return *reinterpret_cast<std::uint64_t*>(ram.data() + offset);
  }

  void on_sent(const SendWork& work, ibv_wc_status status) override {
    sent.push_back(work.id);
    statuses.push_back(status);
  }
  void on_send_failure() override {
    ++failures;
    requester.flush();
    responder.stop();
  }
  ibv_wc_status do_local(SendWork&) override { return IBV_WC_SUCCESS; }
  bool copy_directly(const DirectCopy& copy) override {
    if (neighbour == nullptr || ++asked_directly % 3 == 0) return false;
    const unsigned right = copy.is_write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
    const memory::Opened opened = neighbour->regions.open(copy.remote.key, copy.remote.address,
                                                          copy.remote.bytes, {domain, 0, right});
    if (!opened.ok()) return false;
    std::byte* there = opened.memory;
    for (const std::span<std::byte> part : copy.local.all()) {
      std::memcpy(copy.is_write ? there : part.data(), copy.is_write ? part.data() : there,
                  part.size());
      there += part.size();
    }
    ++copied_directly;
    return true;
  }
  void on_drained() override { ++drained; }
  void on_received(const Received& message) override { received.push_back(message); }
  void on_established() override { ++established; }
  void on_receive_failure(std::optional<ibv_event_type> what) override {
    ++failures;
    event = what;
    responder.stop();
  }
  bool invalidate(std::uint32_t invalidated) override { return regions.erase(invalidated); }
  void on_rendezvous(const Transfer&) override { FAIL() << "nothing here has a tag"; }
  bool take_receive(std::uint32_t, std::uint64_t* id, std::vector<ibv_sge>* entries) override {
    if (receives.is_empty()) return false;
    *id = receives.front().id;
    const auto from = receives.entries(receives.front());
    entries->assign(from.begin(), from.end());
    receives.pop();
    return true;
  }

  // So that every run goes over the end of the numbers.
  static constexpr std::uint32_t first_sequence = 0xfffff0;
  Context context;
  memory::RegionTable regions;
  Bytes ram;
  std::uint32_t key = 0;
  SendQueue sends{queue_depth, 1, 32, false};
  ReceiveQueue receives{queue_depth, 1};
  std::uint64_t next_id = 0;
  std::vector<std::uint64_t> sent;
  std::vector<ibv_wc_status> statuses;
  std::vector<Received> received;
  std::optional<ibv_event_type> event;
  int failures = 0;
  int established = 0;
  int drained = 0;
  End* neighbour = nullptr;  // whose memory it copies to and from by itself, two times of three
  int asked_directly = 0;
  int copied_directly = 0;
  Requester requester{context, sends, regions, *this};
  Responder responder{context, regions, *this, *this};
};

/// How many packets of a hundred.
struct Faults {
  unsigned lost = 0;
  unsigned repeated = 0;
  unsigned late = 0;
  unsigned gone = 0;              // payloads that lie elsewhere, and are no more when they are read
  std::uint64_t lost_packet = 0;  // this one for certain, counted from 1
};

class GonePayload final : public wire::PayloadSource {
 public:
  bool read(std::span<const std::span<std::byte>> parts) override {
    for (const std::span<std::byte> part : parts) std::ranges::fill(part, std::byte{0xee});
    return false;
  }
};

class Network {
 public:
  Network(End& a, End& b, Faults faults, std::uint64_t seed)
      : ends_{&a, &b}, faults_(faults), random_(seed) {}

  /// Until nothing moves any more and no timer runs; false if that takes too long.
  bool run() {
    for (int step = 0; step < 200000; ++step) {
      bool moved = false;
      for (std::size_t i = 0; i < 2; ++i) moved |= send_one(i);
      if (deliver()) moved = true;
      if (moved) continue;
      if (!wait()) return true;
    }
    return false;
  }
  std::uint64_t now_ns = 1;
  std::uint64_t packets = 0;

 private:
  struct OnTheWay {
    Bytes bytes;
    std::size_t to;
  };

  bool hits(unsigned of_a_hundred) { return random_() % 100 < of_a_hundred; }

  bool send_one(std::size_t i) {
    Outgoing out;
    End& end = *ends_[i];
    if (!end.responder.next(&out) && !end.requester.next(now_ns, &out)) return false;
    ++packets;
    const Bytes bytes = to_bytes(out);
    if (packets == faults_.lost_packet || hits(faults_.lost)) return true;
    if (hits(faults_.repeated)) on_the_way_.insert({late(), {bytes, 1 - i}});
    on_the_way_.insert({late(), {bytes, 1 - i}});
    return true;
  }
  std::uint64_t late() {
    now_ns += 10;
    return now_ns + (hits(faults_.late) ? 500 + random_() % 100000 : 500);
  }
  bool deliver() {
    if (on_the_way_.empty() || on_the_way_.begin()->first > now_ns) return false;
    const OnTheWay next = std::move(on_the_way_.begin()->second);
    on_the_way_.erase(on_the_way_.begin());
    auto packet = wire::parse(next.bytes);
    EXPECT_TRUE(packet);
    if (!packet) return true;
    GonePayload nowhere;
    if (packet->payload.size() != 0 && hits(faults_.gone))
      packet->payload = {nowhere, packet->payload.size()};
    End& end = *ends_[next.to];
    if (packet->shape.is_request()) {
      end.responder.on_request(*packet);
    } else {
      end.requester.on_answer(*packet, now_ns);
    }
    return true;
  }
  /// Moves the clock to whatever comes next; false if nothing does.
  bool wait() {
    std::optional<std::uint64_t> next;
    const auto consider = [&](std::uint64_t time_ns) {
      next = std::min(next.value_or(time_ns), time_ns);
    };
    if (!on_the_way_.empty()) consider(on_the_way_.begin()->first);
    for (End* end : ends_)
      if (const auto deadline = end->requester.deadline_ns()) consider(*deadline);
    if (!next) return false;
    now_ns = std::max(now_ns, *next);
    for (End* end : ends_) end->requester.on_time(now_ns);
    return true;
  }

  std::array<End*, 2> ends_;
  Faults faults_;
  std::mt19937_64 random_;
  std::multimap<std::uint64_t, OnTheWay> on_the_way_;
};

class Connection : public testing::Test {
 protected:
  bool run(Faults faults = {}, std::uint64_t seed = 1) { return Network(a, b, faults, seed).run(); }
  void expect_all_sent() {
    EXPECT_TRUE(a.sends.is_empty());
    EXPECT_TRUE(std::ranges::is_sorted(a.sent));
    EXPECT_EQ(std::ranges::count(a.statuses, IBV_WC_SUCCESS),
              static_cast<std::ptrdiff_t>(a.statuses.size()));
    EXPECT_EQ(a.failures + b.failures, 0);
  }

  End a{1, wire::Service::reliable_connection, 1};
  End b{2, wire::Service::reliable_connection, 2};
};

TEST_F(Connection, SendsArriveInOrderAndWhole) {
  for (std::uint32_t bytes : {0U, 1U, 63U, 64U, 65U, 128U, 200U}) {
    b.add_receive(1024, 256);
    a.fill(0, bytes, static_cast<std::uint8_t>(bytes));
    a.add(IBV_WR_SEND, 0, bytes);
    ASSERT_TRUE(run());
    EXPECT_EQ(b.part(1024, bytes), a.part(0, bytes));
    ASSERT_FALSE(b.received.empty());
    EXPECT_EQ(b.received.back().bytes, bytes);
  }
  EXPECT_EQ(b.established, 1);
  expect_all_sent();
}

TEST_F(Connection, ImmediateSolicitedAndInlineDataArrive) {
  b.add_receive(0, 64);
  SendWork& work = a.add(IBV_WR_SEND_WITH_IMM, 0, 5);
  work.is_inline = true;
  work.flags |= IBV_SEND_SOLICITED;
  work.immediate = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::ranges::fill(a.sends.inline_data(work), std::byte{9});
  ASSERT_TRUE(run());
  ASSERT_EQ(b.received.size(), 1U);
  EXPECT_EQ(b.part(0, 5), Bytes(5, std::byte{9}));
  EXPECT_TRUE(b.received[0].solicited);
  EXPECT_EQ(b.received[0].flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(b.received[0].immediate, work.immediate);
  expect_all_sent();
}

TEST_F(Connection, WritesAndReadsMoveMemory) {
  a.fill(0, 1000, 1);
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 1000, b, 2000);
  a.add_remote(IBV_WR_RDMA_READ, 2000, 1000, b, 2000);
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 0, b, 0);
  a.add_remote(IBV_WR_RDMA_READ, 0, 0, b, 0);
  ASSERT_TRUE(run());
  EXPECT_EQ(b.part(2000, 1000), a.part(0, 1000));
  EXPECT_EQ(a.part(2000, 1000), a.part(0, 1000));
  EXPECT_TRUE(b.received.empty());
  expect_all_sent();
}

TEST_F(Connection, AWriteWithImmediateTakesAReceive) {
  a.fill(0, 100, 1);
  a.add_remote(IBV_WR_RDMA_WRITE_WITH_IMM, 0, 100, b, 500);
  b.add_receive(0, 0);
  ASSERT_TRUE(run());
  EXPECT_EQ(b.part(500, 100), a.part(0, 100));
  ASSERT_EQ(b.received.size(), 1U);
  EXPECT_EQ(b.received[0].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(b.received[0].bytes, 100U);
  expect_all_sent();
}

TEST_F(Connection, AtomicsGiveTheValueBefore) {
  b.word(80) = 5;
  a.add_remote(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, b, 80).compare_or_add = 3;
  SendWork& swap = a.add_remote(IBV_WR_ATOMIC_CMP_AND_SWP, 8, 8, b, 80);
  swap.compare_or_add = 8;
  swap.swap = 100;
  SendWork& miss = a.add_remote(IBV_WR_ATOMIC_CMP_AND_SWP, 16, 8, b, 80);
  miss.compare_or_add = 8;
  miss.swap = 200;
  ASSERT_TRUE(run());
  EXPECT_EQ(a.word(0), 5U);
  EXPECT_EQ(a.word(8), 8U);
  EXPECT_EQ(a.word(16), 100U);
  EXPECT_EQ(b.word(80), 100U);
  expect_all_sent();
}

TEST_F(Connection, ASendWaitsForItsReceive) {
  a.add(IBV_WR_SEND, 0, 100);
  a.add(IBV_WR_SEND, 0, 10);
  Network network(a, b, {}, 1);
  EXPECT_FALSE(network.run());  // it goes on asking
  EXPECT_TRUE(b.received.empty());
  EXPECT_GT(a.requester.counters().not_ready, 10U);
  for (int i = 0; i < 2; ++i) b.add_receive(0, 100);
  EXPECT_TRUE(network.run());
  EXPECT_EQ(b.received.size(), 2U);
  expect_all_sent();
}

TEST_F(Connection, PatienceWithAnUnreadyReceiverEnds) {
  a.context.rnr_retry = 3;
  a.start();
  a.add(IBV_WR_SEND, 0, 10);
  a.add(IBV_WR_SEND, 0, 10);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR}));
  EXPECT_EQ(a.requester.counters().not_ready, 4U);
}

TEST_F(Connection, SilenceEndsIt) {
  a.add(IBV_WR_SEND, 0, 10);
  a.add(IBV_WR_SEND, 0, 10);
  ASSERT_TRUE(run({.lost = 100}));
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR}));
  EXPECT_EQ(a.requester.counters().timeouts, std::uint64_t{retry_count} + 1);
}

// What follows a lost packet tells of it: nobody has to wait, and it counts as one loss.
TEST_F(Connection, OneLossIsMendedAtOnce) {
  a.fill(0, 1000, 1);
  for (std::uint64_t lost = 1; lost <= 15; ++lost) {
    a.context.retry_count = 1;
    a.start();
    b.start();
    const std::uint64_t timeouts = a.requester.counters().timeouts;
    a.add_remote(IBV_WR_RDMA_WRITE, 0, 1000, b, 2000);
    ASSERT_TRUE(run({.lost_packet = lost}));
    EXPECT_EQ(a.requester.counters().timeouts, timeouts) << "packet " << lost;
    EXPECT_EQ(b.part(2000, 1000), a.part(0, 1000));
  }
  expect_all_sent();
}

TEST_F(Connection, OneLostPieceOfAReadIsMendedAtOnce) {
  b.fill(0, 1400, 1);
  constexpr std::uint64_t packets = 3 + (1400 - 1) / segment_bytes + 1;
  int waits = 0;
  for (std::uint64_t lost = 1; lost <= packets; ++lost) {
    a.context.retry_count = 1;
    a.start();
    b.start();
    const std::uint64_t timeouts = a.requester.counters().timeouts;
    a.add_remote(IBV_WR_RDMA_READ, 2000, 1400, b, 0);
    ASSERT_TRUE(run({.lost_packet = lost}));
    waits += static_cast<int>(a.requester.counters().timeouts - timeouts);
    EXPECT_EQ(a.part(2000, 1400), b.part(0, 1400));
    std::ranges::fill(a.ram, std::byte{0});
  }
  // Nothing tells of the loss of the last piece or the last request.
  EXPECT_LE(waits, 2);
  expect_all_sent();
}

TEST_F(Connection, CongestionHalvesWhatIsOnItsWay) {
  const auto count_sent = [&](std::uint64_t now_ns) {
    Outgoing out;
    int count = 0;
    while (a.requester.next(now_ns, &out)) ++count;
    return count;
  };
  constexpr std::uint64_t begin_ns = 1'000'000;
  a.requester.on_congestion(begin_ns);
  a.requester.on_congestion(begin_ns + notice_interval_ns - 1);
  for (int i = 0; i < 32; ++i) a.add(IBV_WR_SEND, 0, 8);
  EXPECT_EQ(count_sent(begin_ns), 8) << "of 16; the second notice told of the same";
  EXPECT_EQ(a.requester.counters().notices, 1U);
  a.requester.on_congestion(begin_ns + notice_interval_ns);
  EXPECT_EQ(a.requester.counters().notices, 2U);
}

TEST_F(Connection, AShrunkenWindowAsksForItsAnswer) {
  // Each loss halves the window; what then goes out is less than what is acknowledged by itself.
  a.context.window_packets = 64;
  a.start();
  b.add_receive(0, 4096);
  a.add(IBV_WR_SEND, 0, 4096);
  Network network(a, b, {.lost_packet = 30}, 1);
  ASSERT_TRUE(network.run());
  for (std::uint64_t lost = 5; lost < 60; lost += 9) {
    b.add_receive(0, 4096);
    a.add(IBV_WR_SEND, 0, 4096);
    ASSERT_TRUE(run({.lost_packet = lost}));
  }
  EXPECT_EQ(b.received.size(), 8U);
  EXPECT_EQ(a.requester.counters().timeouts, 0U);
  expect_all_sent();
}

struct Refusal {
  const char* what;
  ibv_wr_opcode opcode;
  std::uint32_t remote_offset;
  std::uint32_t bytes;
  std::uint32_t key_change;
  unsigned access;
  ibv_wc_status status;
  ibv_event_type event;
};

class Refused : public Connection, public testing::WithParamInterface<Refusal> {};

TEST_P(Refused, WithTheRightStatusAndNothingIsTouched) {
  const Refusal& refusal = GetParam();
  const Bytes before = b.ram;
  b.context.access = refusal.access;
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 0, b, 0);
  SendWork& bad = a.add_remote(refusal.opcode, 0, refusal.bytes, b, refusal.remote_offset);
  bad.remote_key ^= refusal.key_change;
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 8, b, 0);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_SUCCESS, refusal.status, IBV_WC_WR_FLUSH_ERR}));
  EXPECT_EQ(b.event, refusal.event);
  EXPECT_EQ(b.ram, before);
}

constexpr unsigned all_rights =
    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
INSTANTIATE_TEST_SUITE_P(
    Requests, Refused,
    testing::Values(Refusal{"WriteBehindTheEnd", IBV_WR_RDMA_WRITE, memory_bytes - 8, 9, 0,
                            all_rights, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
                    Refusal{"LongWriteBehindTheEnd", IBV_WR_RDMA_WRITE, memory_bytes - 500, 501, 0,
                            all_rights, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
                    Refusal{"WriteWithAWrongKey", IBV_WR_RDMA_WRITE, 0, 9, 4, all_rights,
                            IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
                    Refusal{"ReadBehindTheEnd", IBV_WR_RDMA_READ, memory_bytes - 8, 9, 0,
                            all_rights, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR},
                    Refusal{"AtomicOutOfLine", IBV_WR_ATOMIC_FETCH_AND_ADD, 4, 8, 0, all_rights,
                            IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR},
                    Refusal{"AtomicWithoutTheRight", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 8, 0,
                            IBV_ACCESS_REMOTE_WRITE, IBV_WC_REM_ACCESS_ERR,
                            IBV_EVENT_QP_ACCESS_ERR}),
    [](const auto& tested) { return tested.param.what; });

TEST_F(Connection, AMessageLongerThanItsReceiveEndsBoth) {
  b.add_receive(0, 99);
  a.add(IBV_WR_SEND, 0, 100);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_REM_INV_REQ_ERR}));
  ASSERT_EQ(b.received.size(), 1U);
  EXPECT_EQ(b.received[0].status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(Connection, AReceiveWithAWrongKeyEndsBoth) {
  b.add_receive(0, 100);
  b.receives.entries(b.receives.front())[0].lkey ^= 1;
  a.add(IBV_WR_SEND, 0, 100);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_REM_OP_ERR}));
  ASSERT_EQ(b.received.size(), 1U);
  EXPECT_EQ(b.received[0].status, IBV_WC_LOC_PROT_ERR);
}

TEST_F(Connection, ASendWithAWrongKeyEndsAfterWhatCameBefore) {
  for (int i = 0; i < 3; ++i) b.add_receive(0, 100);
  a.add(IBV_WR_SEND, 0, 100);
  a.sends.entries(a.add(IBV_WR_SEND, 0, 100))[0].lkey ^= 1;
  a.add(IBV_WR_SEND, 0, 100);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR}));
  EXPECT_EQ(b.received.size(), 1U);
}

TEST_F(Connection, AReadThatMayNotBeStoredEndsIt) {
  a.sends.entries(a.add_remote(IBV_WR_RDMA_READ, 0, 100, b, 0))[0].lkey ^= 1;
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_LOC_PROT_ERR}));
}

TEST_F(Connection, InvalidationTakesTheKeyAway) {
  const std::uint32_t window = *b.regions.insert({.address = 0,
                                                  .bytes = 8,
                                                  .memory = b.ram.data(),
                                                  .domain = domain,
                                                  .access = IBV_ACCESS_REMOTE_WRITE});
  b.add_receive(0, 100);
  b.add_receive(0, 100);
  a.add(IBV_WR_SEND_WITH_INV, 0, 10).invalidate_key = window;
  ASSERT_TRUE(run());
  expect_all_sent();
  EXPECT_EQ(b.received[0].flags, static_cast<unsigned>(IBV_WC_WITH_INV));
  EXPECT_EQ(b.received[0].invalidated_key, window);
  a.add(IBV_WR_SEND_WITH_INV, 0, 10).invalidate_key = window;
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses.back(), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Connection, AFenceWaitsForReads) {
  a.context.reads_max = 4;
  a.add_remote(IBV_WR_RDMA_READ, 0, 8, b, 0);
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 8, b, 8).flags |= IBV_SEND_FENCE;
  Outgoing out;
  EXPECT_TRUE(a.requester.next(1, &out));
  EXPECT_FALSE(a.requester.next(1, &out));
}

TEST_F(Connection, ReadsOnTheirWayAreLimited) {
  a.context.reads_max = 2;
  for (int i = 0; i < 5; ++i) a.add_remote(IBV_WR_RDMA_READ, 0, 8, b, 0);
  Outgoing out;
  EXPECT_TRUE(a.requester.next(1, &out));
  EXPECT_TRUE(a.requester.next(1, &out));
  EXPECT_FALSE(a.requester.next(1, &out));
}

TEST_F(Connection, AReadOfMemoryThatIsGoneIsNotAnsweredAgain) {
  constexpr std::size_t bytes = 4096;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const first = static_cast<std::byte*>(memory);
  std::fill_n(first, segment_bytes, std::byte{7});
  const std::uint64_t where = End::address(memory_bytes);
  SendWork& work = a.add(IBV_WR_RDMA_READ, 0, 2 * segment_bytes);
  work.remote_address = where;
  work.remote_key = *b.regions.insert({.address = where,
                                       .bytes = bytes,
                                       .memory = first,
                                       .domain = domain,
                                       .access = IBV_ACCESS_REMOTE_READ});
  Outgoing request;
  ASSERT_TRUE(a.requester.next(1, &request));
  const Bytes wire = to_bytes(request);
  const auto ask = [&] { b.responder.on_request(*wire::parse(wire)); };
  Outgoing answer;
  for (const bool is_repeated : {false, true}) {
    ask();
    for (std::size_t packet = 0; packet < 2; ++packet) {
      ASSERT_TRUE(b.responder.next(&answer));
      EXPECT_EQ(answer.is_copy, is_repeated);
      const Bytes given = to_bytes(answer);
      EXPECT_TRUE(std::ranges::equal(
          std::span(given).last(segment_bytes),
          std::span(first, bytes).subspan(packet * segment_bytes, segment_bytes)));
    }
    EXPECT_FALSE(b.responder.next(&answer));
  }
  ASSERT_EQ(::munmap(memory, bytes), 0);
  ask();
  EXPECT_FALSE(b.responder.next(&answer));
  EXPECT_FALSE(b.responder.has_answers());
  EXPECT_EQ(b.responder.counters().duplicates, 2U);
}

TEST_F(Connection, AWriteToAQueuePairThatAllowsNoneIsRefused) {
  b.context.access = IBV_ACCESS_REMOTE_READ;
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 8, b, 0);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_REM_ACCESS_ERR}));
  EXPECT_EQ(b.event, IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(Connection, AReadWithoutAnyAllowedFails) {
  a.context.reads_max = 0;
  a.add_remote(IBV_WR_RDMA_READ, 0, 8, b, 0);
  ASSERT_TRUE(run());
  EXPECT_EQ(a.statuses, (std::vector{IBV_WC_LOC_QP_OP_ERR}));
}

TEST_F(Connection, DrainingEndsWhatHasBegunAndNothingElse) {
  for (int i = 0; i < 2; ++i) b.add_receive(0, 256);
  a.add(IBV_WR_SEND, 0, 200);
  Outgoing first;
  ASSERT_TRUE(a.requester.next(1, &first));
  a.requester.drain();
  a.add(IBV_WR_SEND, 0, 10);
  EXPECT_FALSE(a.requester.is_drained());
  ASSERT_TRUE(run());  // the first packet is lost, and repeated
  EXPECT_TRUE(a.requester.is_drained());
  EXPECT_EQ(a.drained, 1);
  EXPECT_EQ(b.received.size(), 1U);
  a.requester.resume();
  ASSERT_TRUE(run());
  EXPECT_EQ(b.received.size(), 2U);
  expect_all_sent();
}

TEST_F(Connection, APeerOfThisHostIsCopiedToAndFromWithoutPackets) {
  a.neighbour = &b;
  a.fill(0, 300, 1);
  b.fill(1024, 300, 7);
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 300, b, 2048);
  a.add_remote(IBV_WR_RDMA_READ, 2048, 300, b, 1024).flags |= IBV_SEND_FENCE;
  Network network(a, b, {}, 0);
  ASSERT_TRUE(network.run());
  EXPECT_EQ(network.packets, 0U);
  EXPECT_EQ(a.statuses, std::vector(2, IBV_WC_SUCCESS));
  EXPECT_EQ(b.part(2048, 300), a.part(0, 300));
  EXPECT_EQ(a.part(2048, 300), b.part(1024, 300));
}

TEST_F(Connection, NothingOnItsWayIsOvertakenByACopyWithoutPackets) {
  a.neighbour = &b;
  b.add_receive(2048, 8);
  a.add(IBV_WR_SEND, 0, 8);
  a.add_remote(IBV_WR_RDMA_WRITE, 0, 8, b, 2048);
  Outgoing out;
  ASSERT_TRUE(a.requester.next(1, &out));
  ASSERT_TRUE(a.requester.next(1, &out)) << "by a packet: the message has not been answered";
  EXPECT_EQ(out.headers.opcode.operation, wire::Operation::write_only);
  EXPECT_EQ(a.asked_directly, 0);
}

TEST_F(Connection, WhatLocalKeysDoNotOpenIsNotCopiedWithoutPackets) {
  a.neighbour = &b;
  SendWork& work = a.add_remote(IBV_WR_RDMA_READ, 0, 8, b, 0);
  a.sends.entries(work)[0].lkey ^= 1;
  Network network(a, b, {}, 0);
  ASSERT_TRUE(network.run());
  EXPECT_EQ(a.asked_directly, 0);
  EXPECT_EQ(a.statuses, std::vector(1, IBV_WC_LOC_PROT_ERR));
}

// Random work in both directions, over a bad network: all of it is done once, in order; if the ends
// are of one host, also where they copy by themselves in between.
class BadNetwork : public testing::TestWithParam<int> {};

TEST_P(BadNetwork, LosesNothingAndDoesNothingTwice) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  std::mt19937_64 random(seed);
  End a{1, wire::Service::reliable_connection, seed};
  End b{2, wire::Service::reliable_connection, seed + 1};
  a.context.retry_count = b.context.retry_count = 255;  // more than a program can ask for
  a.start();
  b.start();
  constexpr std::uint32_t slot_bytes = 256;
  const bool is_one_host = seed % 2 != 0;
  if (is_one_host) a.neighbour = &b;
  std::uint64_t expected_sum = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> writes;  // from where, how many bytes
  std::vector<std::uint32_t> messages;                          // their lengths
  // The first half of each memory is its own, the second the peer's to write.
  for (std::uint32_t i = 0; i < 24; ++i) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(random() % slot_bytes);
    const std::uint32_t from = (i % 7) * slot_bytes;
    switch (random() % 4) {
      case 0: {
        if (messages.size() >= 4) break;
        const auto to = static_cast<std::uint32_t>(2048 + messages.size() * slot_bytes);
        b.add_receive(to, slot_bytes);
        a.add(IBV_WR_SEND, from, bytes);
        messages.push_back(bytes);
        break;
      }
      case 1:
        a.add_remote(IBV_WR_RDMA_WRITE, from, bytes, b, 3072);
        writes.emplace_back(from, bytes);
        break;
      case 2:
        a.add_remote(IBV_WR_RDMA_READ, 2048, bytes * 4, b, from);
        break;
      case 3: {
        const std::uint64_t amount = random() % 1000;
        a.add_remote(IBV_WR_ATOMIC_FETCH_AND_ADD, 4000, 8, b, 4000).compare_or_add = amount;
        expected_sum += amount;
        break;
      }
    }
  }
  a.add_remote(IBV_WR_RDMA_WRITE, 1792, 200, b, 3584);
  a.add_remote(IBV_WR_RDMA_READ, 3100, 200, b, 1792);
  for (std::uint32_t i = 0; i < 2048; ++i) {
    a.ram[i] = static_cast<std::byte>(random());
    b.ram[i] = static_cast<std::byte>(random());
  }
  for (int i = 0; i < 6; ++i) b.add_remote(IBV_WR_RDMA_READ, 0, 200, a, 0).flags |= IBV_SEND_FENCE;

  const std::size_t works = a.sends.size();
  Network network(a, b, {.lost = 10, .repeated = 10, .late = 10, .gone = 10}, seed);
  ASSERT_TRUE(network.run());
  EXPECT_EQ(a.sent.size(), works);
  EXPECT_TRUE(std::ranges::is_sorted(a.sent));
  EXPECT_EQ(a.failures + b.failures, 0);
  EXPECT_EQ(b.word(4000), expected_sum);
  EXPECT_EQ(b.received.size(), messages.size());
  for (std::size_t i = 0; i < b.received.size(); ++i) EXPECT_EQ(b.received[i].bytes, messages[i]);
  EXPECT_EQ(b.part(3584, 200), a.part(1792, 200));
  EXPECT_EQ(a.part(3100, 200), b.part(1792, 200));
  Bytes written(slot_bytes);
  for (const auto& [from, bytes] : writes)
    std::copy_n(a.ram.begin() + from, bytes, written.begin());
  EXPECT_EQ(b.part(3072, slot_bytes), written);
  EXPECT_EQ(a.copied_directly > 0, a.asked_directly > 0);
  EXPECT_TRUE(is_one_host || a.asked_directly == 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BadNetwork, testing::Range(0, 300));

// Without acknowledgements: what arrives is whole, and in order.
TEST(Unreliable, LosesWholeMessagesOnly) {
  std::uint64_t arrived = 0;
  constexpr int seeds = 50;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    End a{1, wire::Service::unreliable_connection, seed};
    End b{2, wire::Service::unreliable_connection, seed + 1};
    for (std::uint32_t i = 0; i < 10; ++i) {
      b.add_receive(2048, 256);
      a.fill(i * 200, 200, static_cast<std::uint8_t>(i));
      a.add(IBV_WR_SEND_WITH_IMM, i * 200, 200).immediate[0] = static_cast<std::byte>(i);
    }
    Network network(a, b, {.lost = 5, .gone = 5}, seed);
    ASSERT_TRUE(network.run());
    EXPECT_EQ(a.sent.size(), 10U);
    int last = -1;
    for (const Received& message : b.received) {
      EXPECT_EQ(message.status, IBV_WC_SUCCESS);
      EXPECT_EQ(message.bytes, 200U);
      EXPECT_GT(std::to_integer<int>(message.immediate[0]), last);
      last = std::to_integer<int>(message.immediate[0]);
    }
    arrived += b.received.size();
  }
  // Of messages of four packets, of which one in ten is lost, two thirds arrive.
  EXPECT_GT(arrived, 10 * seeds * 5 / 10);
  EXPECT_LT(arrived, 10 * seeds * 8 / 10);
}

}  // namespace
}  // namespace softrdma::qp
