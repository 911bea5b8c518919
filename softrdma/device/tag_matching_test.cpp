// Tag matching between two hosts, over a network that does its worst where a seed says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "softrdma/device/device.hpp"
#include "softrdma/link/simulated.hpp"
#include "softrdma/qp/test_masks.hpp"

namespace softrdma::device {
namespace {

using link::SimulatedNetwork;
using qp::QueuePair;

constexpr std::uint64_t whole_tag = ~std::uint64_t{0};
constexpr std::uint32_t tags_max = 40;
constexpr std::uint32_t sends_max = 64;
constexpr unsigned matched = IBV_WC_TM_MATCH;
constexpr unsigned has_data = IBV_WC_TM_DATA_VALID;

/// A process with a device, and receives with tags that its queue pairs may share.
class Matching final : DeviceListener, queue::CompletionListener, queue::LimitListener {
 public:
  Matching(SimulatedNetwork& network, std::uint16_t host_lid)
      : lid(host_lid),
        link_(network.join(host_lid)),
        device({}, *link_, numbers_, *this),
        domain_(device.new_domain()),
        key(*device.regions().insert({.address = address(0),
                                      .bytes = ram.size(),
                                      .memory = ram.data(),
                                      .domain = domain_,
                                      .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                                IBV_ACCESS_REMOTE_WRITE})) {}

  QueuePair& create(bool has_tags, std::uint32_t program_sends) {
    qp::QueuePairParts parts;
    parts.domain = domain_;
    parts.cap = {.max_send_wr = program_sends,
                 .max_recv_wr = has_tags ? 0 : sends_max,
                 .max_send_sge = program_sends == 0 ? 0U : 1U,
                 .max_recv_sge = 1,
                 .max_inline_data = 0};
    parts.send_completions = parts.receive_completions = &completions_;
    if (has_tags) {
      parts.shared_receives = &shared;
      parts.tags = &tags;
    }
    return *device.create_queue_pair(parts);
  }
  void bring_up(QueuePair& queue_pair, const Matching& peer, std::uint32_t peer_qp,
                std::uint8_t reads_max = 4) {
    ibv_qp_attr attributes{};
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    attributes.port_num = 1;
    attributes.path_mtu = IBV_MTU_256;
    attributes.dest_qp_num = peer_qp;
    attributes.ah_attr.dlid = peer.lid;
    attributes.timeout = 12;
    attributes.retry_cnt = attributes.rnr_retry = 7;
    attributes.min_rnr_timer = 1;
    attributes.max_rd_atomic = reads_max;
    attributes.max_dest_rd_atomic = 4;
    attributes.qp_state = IBV_QPS_INIT;
    ASSERT_EQ(queue_pair.modify(attributes, qp::connected_to_init), 0);
    attributes.qp_state = IBV_QPS_RTR;
    ASSERT_EQ(queue_pair.modify(attributes, qp::rc_to_rtr), 0);
    attributes.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(queue_pair.modify(attributes, qp::rc_to_rts), 0);
  }

  [[nodiscard]] std::uint64_t address(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t>(ram.data()) + offset;
  }
  ibv_sge entry(std::size_t offset, std::uint32_t bytes) const {
    return {.addr = address(offset), .length = bytes, .lkey = key};
  }
  int send(QueuePair& queue_pair, std::size_t offset, std::uint32_t bytes) {
    ibv_sge from = entry(offset, bytes);
    ibv_send_wr request{};
    request.sg_list = &from;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    const int failed = queue_pair.post_send(request, nullptr);
    device.note_work(queue_pair);
    return failed;
  }
  /// A header at OFFSET, of a message from there on.
  void write_header(std::size_t offset, std::uint8_t operation, std::uint64_t tag) {
    ibv_tmh header{};
    header.opcode = operation;
    header.app_ctx = htobe32(static_cast<std::uint32_t>(1000 + tag));
    header.tag = htobe64(tag);
    std::ranges::copy(std::as_bytes(std::span(&header, 1)), at(offset));
  }
  /// A request at OFFSET to fetch BYTES from DATA_OFFSET on.
  void write_rendezvous(std::size_t offset, std::uint64_t tag, std::size_t data_offset,
                        std::uint32_t bytes) {
    write_header(offset, IBV_TMH_RNDV, tag);
    ibv_rvh header{};
    header.va = htobe64(address(data_offset));
    header.rkey = htobe32(key);
    header.len = htobe32(bytes);
    std::ranges::copy(std::as_bytes(std::span(&header, 1)), at(offset + sizeof(ibv_tmh)));
  }
  void add_tag(std::uint64_t tag, std::size_t offset, std::uint32_t bytes) {
    const ibv_sge to = entry(offset, bytes);
    ASSERT_FALSE(tags.is_full());
    tags.add(100 + tag, tag, whole_tag, {&to, 1});
  }
  void add_receive(std::uint64_t id, std::size_t offset, std::uint32_t bytes) {
    ibv_sge to = entry(offset, bytes);
    ASSERT_EQ(shared.ring().post({.wr_id = id, .next = nullptr, .sg_list = &to, .num_sge = 1}), 0);
  }
  void fill(std::size_t offset, std::size_t bytes, std::size_t seed) {
    for (std::size_t i = 0; i < bytes; ++i) ram[offset + i] = static_cast<std::byte>(seed + i * 7);
  }
  std::vector<std::byte> part(std::size_t offset, std::size_t bytes) {
    return {at(offset), at(offset + bytes)};
  }
  std::vector<queue::Completion> poll() {
    std::vector<queue::Completion> out;
    for (; !completions_.is_empty(); completions_.pop()) out.push_back(completions_.front());
    return out;
  }

  const std::uint16_t lid;
  std::vector<std::byte> ram = std::vector<std::byte>(1 << 18);
  queue::SharedReceiveQueue shared{64, 1, *this};
  queue::TagMatcher tags{tags_max};

 private:
  std::vector<std::byte>::iterator at(std::size_t offset) {
    return ram.begin() + static_cast<std::ptrdiff_t>(offset);
  }
  void on_event(QueuePair&, ibv_event_type) override {}
  void on_completion_event() override {}
  void on_overrun() override { ADD_FAILURE() << "a completion queue was too small"; }
  void on_limit_reached() override {}

  queue::CompletionQueue completions_{4096, *this};
  std::unique_ptr<link::Link> link_;
  link::OwnNumbers numbers_;

 public:
  Device device;

 private:
  const std::uint32_t domain_;

 public:
  const std::uint32_t key;
};

/// The first host sends messages with tags, the second one matches them.
class TagMatching : public testing::Test {
 protected:
  TagMatching() : TagMatching(link::SimulationSettings{}) {}
  explicit TagMatching(const link::SimulationSettings& settings) : network(settings) {}
  void SetUp() override { connect(4); }
  void connect(std::uint8_t reads_max, std::uint32_t program_sends = 0) {
    from = &a.create(false, sends_max);
    to = &b.create(true, program_sends);
    a.bring_up(*from, b, to->number());
    b.bring_up(*to, a, from->number(), reads_max);
  }
  bool run() {
    for (int step = 0; step < 1000000; ++step) {
      const bool a_moved = a.device.drive(network.now_ns());
      const bool b_moved = b.device.drive(network.now_ns());
      if (a_moved || b_moved) continue;
      std::optional<std::uint64_t> next = network.next_arrival_ns();
      for (const auto& deadline : {a.device.deadline_ns(), b.device.deadline_ns()})
        if (deadline) next = std::min(next.value_or(*deadline), *deadline);
      if (!next) return true;
      network.move_clock_to(std::max(*next, network.now_ns()));
    }
    return false;
  }
  /// Where packets go back and forth without end.
  void pass_time() {
    for (int i = 0; i < 200; ++i) {
      network.move_clock_to(network.now_ns() + 1000);
      a.device.drive(network.now_ns());
      b.device.drive(network.now_ns());
    }
  }
  /// The completions of the host that matches, after a message of BYTES that is at OFFSET.
  std::vector<queue::Completion> send(std::size_t offset, std::uint32_t bytes) {
    EXPECT_EQ(a.send(*from, offset, bytes), 0);
    EXPECT_TRUE(run());
    return b.poll();
  }
  void receive_at_sender(std::size_t offset) {
    ibv_sge entry = a.entry(offset, 64);
    ASSERT_EQ(from->post_receive({.wr_id = 9, .next = nullptr, .sg_list = &entry, .num_sge = 1}),
              0);
  }

  SimulatedNetwork network;
  Matching a{network, 1};
  Matching b{network, 2};
  QueuePair* from = nullptr;
  QueuePair* to = nullptr;
};

void expect_completion(const queue::Completion& completion, std::uint64_t id, ibv_wc_opcode opcode,
                       unsigned flags, std::uint32_t bytes) {
  EXPECT_EQ(completion.wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(completion.wc.wr_id, id);
  EXPECT_EQ(completion.wc.opcode, opcode);
  EXPECT_EQ(completion.wc.wc_flags, flags);
  EXPECT_EQ(completion.wc.byte_len, bytes);
}

std::size_t count_of(const std::vector<queue::Completion>& completions, ibv_wc_status status,
                     unsigned flags) {
  return static_cast<std::size_t>(std::ranges::count_if(completions, [&](const auto& completion) {
    return completion.wc.status == status && completion.wc.wc_flags == flags;
  }));
}

TEST_F(TagMatching, AnEagerMessageIsStoredWithoutItsHeader) {
  a.fill(0, 116, 1);
  a.write_header(0, IBV_TMH_EAGER, 5);
  b.add_tag(4, 0, 100);
  b.add_tag(5, 1000, 100);
  const auto completions = send(0, 116);
  ASSERT_EQ(completions.size(), 1U);
  expect_completion(completions[0], 105, IBV_WC_TM_RECV, matched | has_data, 100);
  EXPECT_EQ(completions[0].tag.tag, 5U);
  EXPECT_EQ(completions[0].tag.priv, 1005U);
  EXPECT_EQ(b.part(1000, 100), a.part(16, 100));
  EXPECT_EQ(b.ram[1100], std::byte{0});
}

TEST_F(TagMatching, AMessageOfManyPacketsTellsOfItsMatchFirst) {
  constexpr std::uint32_t bytes = 5000;
  a.fill(0, bytes + 16, 1);
  a.write_header(0, IBV_TMH_EAGER, 5);
  b.add_tag(5, 0, bytes);
  const auto completions = send(0, bytes + 16);
  ASSERT_EQ(completions.size(), 2U);
  expect_completion(completions[0], 105, IBV_WC_TM_RECV, matched, 0);
  EXPECT_EQ(completions[0].tag.tag, 5U);
  expect_completion(completions[1], 105, IBV_WC_TM_RECV, has_data, bytes);
  EXPECT_EQ(b.part(0, bytes), a.part(16, bytes));
}

TEST_F(TagMatching, AnUnexpectedMessageIsTheProgramsAndNewTagsWait) {
  a.fill(0, 1016, 1);
  a.write_header(0, IBV_TMH_EAGER, 5);
  b.add_receive(1, 0, 2000);
  b.add_receive(2, 4000, 2000);
  auto completions = send(0, 1016);
  ASSERT_EQ(completions.size(), 1U);
  expect_completion(completions[0], 1, IBV_WC_TM_RECV, 0, 1016);
  EXPECT_EQ(completions[0].tag.tag, 0U);
  EXPECT_EQ(b.part(0, 1016), a.part(0, 1016)) << "with its header";
  b.add_tag(5, 8000, 2000);
  completions = send(0, 1016);
  ASSERT_EQ(completions.size(), 1U);
  expect_completion(completions[0], 2, IBV_WC_TM_RECV, 0, 1016);
  b.tags.synchronize(2);
  completions = send(0, 1016);
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[0].wc.wr_id, 105U);
  EXPECT_EQ(b.part(8000, 1000), a.part(16, 1000));
}

TEST_F(TagMatching, AMessageThatNobodyReceivesIsNotCountedYet) {
  a.write_header(0, IBV_TMH_EAGER, 5);
  ASSERT_EQ(a.send(*from, 0, 100), 0);
  pass_time();
  EXPECT_TRUE(b.tags.is_synchronized());
  b.add_tag(5, 0, 100);
  ASSERT_TRUE(run());
  const auto completions = b.poll();
  ASSERT_EQ(completions.size(), 1U) << "its tag came in time";
  EXPECT_EQ(completions[0].wc.wr_id, 105U);
}

TEST_F(TagMatching, WhatHasNoTagGoesToAnOrdinaryReceive) {
  constexpr std::uint8_t unknown = 77;
  std::uint64_t id = 1;
  for (const std::uint8_t operation :
       {std::uint8_t{IBV_TMH_NO_TAG}, std::uint8_t{IBV_TMH_FIN}, unknown}) {
    a.fill(0, 100, 1);
    a.write_header(0, operation, 0);
    b.add_tag(0, 1000, 100);
    b.add_receive(id, 0, 100);
    const auto completions = send(0, 100);
    ASSERT_EQ(completions.size(), 1U);
    expect_completion(completions[0], id++, IBV_WC_TM_NO_TAG, 0, 100);
    EXPECT_EQ(b.part(0, 100), a.part(0, 100));
  }
  EXPECT_TRUE(b.tags.is_synchronized());
  // Of a message without tag the first byte is all that is needed.
  a.ram[0] = std::byte{IBV_TMH_NO_TAG};
  b.add_receive(id, 0, 100);
  const auto completions = send(0, 1);
  ASSERT_EQ(completions.size(), 1U);
  expect_completion(completions[0], id, IBV_WC_TM_NO_TAG, 0, 1);
}

TEST_F(TagMatching, AMessageWithoutRoomForItsTagIsRefused) {
  a.write_header(0, IBV_TMH_EAGER, 5);
  b.add_tag(5, 0, 100);
  b.add_receive(1, 0, 100);
  EXPECT_TRUE(send(0, 15).empty());
  const auto sent = a.poll();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].wc.status, IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(TagMatching, AMessageThatIsTooLongFailsWithItsBuffer) {
  a.write_header(0, IBV_TMH_EAGER, 5);
  b.add_tag(5, 0, 99);
  const auto completions = send(0, 116);
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions[0].wc.wr_id, 105U);
  EXPECT_EQ(completions[0].wc.status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(TagMatching, ARendezvousIsFetchedAndItsSenderTold) {
  constexpr std::uint32_t bytes = 10000;
  a.fill(1000, bytes, 3);
  a.write_rendezvous(0, 5, 1000, bytes);
  receive_at_sender(500);
  b.add_tag(5, 0, bytes + 100);
  const auto completions = send(0, 40);
  ASSERT_EQ(completions.size(), 2U);
  expect_completion(completions[0], 105, IBV_WC_TM_RECV, matched, 0);
  EXPECT_EQ(completions[0].tag.tag, 5U);
  EXPECT_EQ(completions[0].tag.priv, 1005U);
  expect_completion(completions[1], 105, IBV_WC_TM_RECV, has_data, bytes);
  EXPECT_EQ(b.part(0, bytes), a.part(1000, bytes));
  const auto told = a.poll();
  ASSERT_EQ(told.size(), 1U);
  expect_completion(told[0], 9, IBV_WC_RECV, 0, 32);
  EXPECT_EQ(a.ram[500], std::byte{IBV_TMH_FIN});
  EXPECT_EQ(a.part(501, 31), a.part(1, 31)) << "else it is the request's header";
}

TEST_F(TagMatching, WhatDoesNotFitIsLeftToTheProgram) {
  a.write_rendezvous(0, 5, 1000, 101);
  b.add_tag(5, 0, 100);
  auto completions = send(0, 32);
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions[0].wc.status, IBV_WC_TM_RNDV_INCOMPLETE);
  EXPECT_EQ(completions[0].wc.wr_id, 105U);
  EXPECT_EQ(completions[0].wc.byte_len, 32U);
  EXPECT_EQ(b.part(0, 32), a.part(0, 32));
  // The queue pair goes on, and a buffer that is too small for the header has what fits.
  b.add_tag(5, 200, 20);
  completions = send(0, 32);
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions[0].wc.status, IBV_WC_TM_RNDV_INCOMPLETE);
  EXPECT_EQ(completions[0].wc.byte_len, 20U);
  EXPECT_EQ(b.part(200, 20), a.part(0, 20));
  EXPECT_EQ(b.ram[220], std::byte{0});
}

TEST_F(TagMatching, AQueuePairThatMayNotReadLeavesRendezvousToTheProgram) {
  connect(0);
  a.write_rendezvous(0, 5, 1000, 10);
  b.add_tag(5, 0, 100);
  const auto completions = send(0, 32);
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions[0].wc.status, IBV_WC_TM_RNDV_INCOMPLETE);
}

TEST_F(TagMatching, ARequestOfAnotherFormIsUnexpected) {
  a.write_rendezvous(0, 5, 1000, 10);
  b.add_tag(5, 1000, 100);
  for (const std::uint32_t bytes : {31U, 65U, 300U}) {
    b.add_receive(bytes, 0, 500);
    const auto completions = send(0, bytes);
    ASSERT_EQ(completions.size(), 1U);
    expect_completion(completions[0], bytes, IBV_WC_TM_RECV, 0, bytes);
  }
}

TEST_F(TagMatching, AKeyThatOpensNothingFailsTheBuffer) {
  a.write_rendezvous(0, 5, 1000, 100);
  a.ram[24] ^= std::byte{1};
  b.add_tag(5, 0, 100);
  const auto completions = send(0, 32);
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[1].wc.wr_id, 105U);
  EXPECT_EQ(completions[1].wc.status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(to->state(), IBV_QPS_ERR);
}

TEST_F(TagMatching, WhatFailsGivesEveryBufferBack) {
  a.write_rendezvous(0, 5, 1000, 100);
  for (std::uint32_t i = 0; i < tags_max; ++i) {
    b.add_tag(5, 0, 100);
    ASSERT_EQ(a.send(*from, 0, 32), 0);
  }
  // No receive waits at the sender: it is not told of those that were fetched, and the others wait.
  pass_time();
  EXPECT_EQ(count_of(b.poll(), IBV_WC_SUCCESS, has_data), qp::Rendezvous::transfers_max);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(to->modify(attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(count_of(b.poll(), IBV_WC_WR_FLUSH_ERR, 0), tags_max - qp::Rendezvous::transfers_max);
  for (std::uint32_t i = 0; i < tags_max; ++i) b.add_tag(6, 0, 100);
}

TEST_F(TagMatching, ADestroyedQueuePairGivesEveryBufferBack) {
  a.write_rendezvous(0, 5, 1000, 100);
  for (std::uint32_t i = 0; i < tags_max; ++i) {
    b.add_tag(5, 0, 100);
    ASSERT_EQ(a.send(*from, 0, 32), 0);
  }
  pass_time();
  b.device.destroy(*to);
  for (std::uint32_t i = 0; i < tags_max; ++i) b.add_tag(6, 0, 100);
}

TEST_F(TagMatching, TheProgramHasTheSendsThatItAskedFor) {
  connect(4, 2);
  EXPECT_EQ(to->free_sends(), 2U);
  EXPECT_EQ(b.send(*to, 0, 10), 0);
  EXPECT_EQ(b.send(*to, 0, 10), 0);
  EXPECT_EQ(b.send(*to, 0, 10), ENOMEM);
}

TEST_F(TagMatching, OtherMessagesGoOnAsEver) {
  a.fill(0, 100, 1);
  b.add_receive(1, 0, 0);
  ibv_sge entry = a.entry(0, 100);
  ibv_send_wr request{};
  request.sg_list = &entry;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.wr.rdma = {.remote_addr = b.address(1000), .rkey = b.key};
  ASSERT_EQ(from->post_send(request, nullptr), 0);
  a.device.note_work(*from);
  ASSERT_TRUE(run());
  const auto completions = b.poll();
  ASSERT_EQ(completions.size(), 1U);
  expect_completion(completions[0], 1, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM, 100);
  EXPECT_EQ(b.part(1000, 100), a.part(0, 100));
}

// Eager messages and rendezvous, more than go on at a time, over a network that does its worst.
class TagStorm : public TagMatching, public testing::WithParamInterface<int> {
 protected:
  TagStorm()
      : TagMatching(
            {.seed = static_cast<std::uint64_t>(GetParam()),
             .packets_max = 64,
             .faults = {.lost = 20000, .repeated = 20000, .late = 50000, .damaged = 20000}}) {}
};

TEST_P(TagStorm, EveryMessageFindsItsBufferOnce) {
  constexpr std::uint32_t bytes = 1000;
  constexpr std::size_t slot = 2048;
  for (std::uint64_t tag = 0; tag < tags_max; ++tag) {
    const std::size_t offset = tag * slot;
    b.add_tag(tag, offset, bytes);
    a.fill(offset + 64, bytes, tag + static_cast<std::size_t>(GetParam()));
    receive_at_sender(tags_max * slot);
  }
  for (std::uint64_t i = 0; i < tags_max; ++i) {
    const std::uint64_t tag = tags_max - 1 - i;
    const std::size_t offset = tag * slot;
    if (tag % 3 == 0) {
      a.write_header(offset + 48, IBV_TMH_EAGER, tag);
      ASSERT_EQ(a.send(*from, offset + 48, bytes + 16), 0);
    } else {
      a.write_rendezvous(offset, tag, offset + 64, bytes);
      ASSERT_EQ(a.send(*from, offset, 32), 0);
    }
  }
  ASSERT_TRUE(run());
  std::vector<unsigned> flags(tags_max);
  for (const queue::Completion& completion : b.poll()) {
    EXPECT_EQ(completion.wc.status, IBV_WC_SUCCESS);
    flags.at(completion.wc.wr_id - 100) += completion.wc.wc_flags;
  }
  EXPECT_EQ(flags, std::vector(tags_max, matched + has_data));
  for (std::size_t tag = 0; tag < tags_max; ++tag)
    EXPECT_EQ(b.part(tag * slot, bytes), a.part(tag * slot + 64, bytes)) << tag;
  EXPECT_EQ(a.poll().size(), tags_max - (tags_max + 2) / 3) << "each rendezvous was told";
  EXPECT_TRUE(b.tags.is_synchronized());
}

INSTANTIATE_TEST_SUITE_P(Seeds, TagStorm, testing::Range(0, 30));

}  // namespace
}  // namespace softrdma::device
