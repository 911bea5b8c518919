#include "softrdma/device/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "softrdma/link/direct.hpp"
#include "softrdma/link/simulated.hpp"
#include "softrdma/qp/test_masks.hpp"

namespace softrdma::device {
namespace {

using link::SimulatedNetwork;
using qp::QueuePair;

constexpr std::uint32_t depth = 32;
constexpr std::uint32_t queue_key = 77;

/// A process with a device: memory, one completion queue, any number of queue pairs.
class Host final : DeviceListener, queue::CompletionListener {
 public:
  Host(SimulatedNetwork& network, std::uint16_t host_lid, std::size_t ram_bytes = 1 << 16,
       const DeviceSettings& settings = {})
      : Host(network.join(host_lid), nullptr, host_lid, ram_bytes, settings) {}
  /// Without a network, on WAY.
  Host(link::Link& way, std::uint16_t host_lid, std::size_t ram_bytes = 1 << 16,
       const DeviceSettings& settings = {})
      : Host(nullptr, &way, host_lid, ram_bytes, settings) {}

  QueuePair& create(ibv_qp_type type) {
    qp::QueuePairParts parts;
    parts.domain = domain;
    parts.type = type;
    parts.cap = {.max_send_wr = depth,
                 .max_recv_wr = depth,
                 .max_send_sge = 1,
                 .max_recv_sge = 1,
                 .max_inline_data = 0};
    parts.send_completions = parts.receive_completions = &completions;
    return *device.create_queue_pair(parts);
  }
  int bring_up(QueuePair& queue_pair, const Host& peer, std::uint32_t peer_qp) {
    ibv_qp_attr attributes{};
    attributes.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    attributes.qkey = queue_key;
    attributes.port_num = 1;
    attributes.path_mtu = IBV_MTU_256;
    attributes.dest_qp_num = peer_qp;
    attributes.ah_attr.dlid = peer.lid;
    attributes.timeout = 12;
    attributes.retry_cnt = 7;
    attributes.rnr_retry = 7;
    attributes.min_rnr_timer = 1;
    attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 4;
    const bool is_ud = queue_pair.type() == IBV_QPT_UD;
    attributes.qp_state = IBV_QPS_INIT;
    int failed = queue_pair.modify(attributes, is_ud ? qp::ud_to_init : qp::connected_to_init);
    attributes.qp_state = IBV_QPS_RTR;
    failed |= queue_pair.modify(attributes, is_ud ? IBV_QP_STATE : qp::rc_to_rtr);
    attributes.qp_state = IBV_QPS_RTS;
    return failed | queue_pair.modify(attributes, is_ud ? qp::unreliable_to_rts : qp::rc_to_rts);
  }
  int post(QueuePair& queue_pair, ibv_wr_opcode opcode, std::size_t offset, std::uint32_t bytes,
           const Host& peer, std::size_t peer_offset, std::uint32_t peer_qp = 0) {
    ibv_sge from = entry(offset, bytes);
    ibv_send_wr request{};
    request.sg_list = &from;
    request.num_sge = 1;
    request.opcode = opcode;
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_ah_attr address{};
    address.dlid = peer.lid;
    if (queue_pair.type() == IBV_QPT_UD) {
      request.wr.ud.remote_qpn = peer_qp;
      request.wr.ud.remote_qkey = queue_key;
    } else if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      request.wr.atomic.remote_addr =
          reinterpret_cast<std::uint64_t>(peer.ram.data()) + peer_offset;
      request.wr.atomic.rkey = peer.key;
      request.wr.atomic.compare_add = 1;
    } else {
      request.wr.rdma.remote_addr = reinterpret_cast<std::uint64_t>(peer.ram.data()) + peer_offset;
      request.wr.rdma.rkey = peer.key;
    }
    const int failed = queue_pair.post_send(request, &address);
    device.note_work(queue_pair);
    return failed;
  }
  int post_receive(QueuePair& queue_pair, std::size_t offset, std::uint32_t bytes) {
    ibv_sge to = entry(offset, bytes);
    return queue_pair.post_receive({.wr_id = 0, .next = nullptr, .sg_list = &to, .num_sge = 1});
  }
  std::vector<ibv_wc> poll() {
    std::vector<ibv_wc> out;
    for (; !completions.is_empty(); completions.pop()) out.push_back(completions.front().wc);
    return out;
  }

  const std::uint16_t lid;
  std::vector<std::byte> ram;
  std::vector<ibv_event_type> events;

 private:
  /// OWN or BORROWED is its way.
  Host(std::unique_ptr<link::Link> own, link::Link* borrowed, std::uint16_t host_lid,
       std::size_t ram_bytes, const DeviceSettings& settings)
      : lid(host_lid),
        ram(ram_bytes),
        own_link_(std::move(own)),
        device(settings, borrowed != nullptr ? *borrowed : *own_link_, numbers_, *this),
        domain(device.new_domain()),
        key(*device.regions().insert({.address = reinterpret_cast<std::uint64_t>(ram.data()),
                                      .bytes = ram.size(),
                                      .memory = ram.data(),
                                      .domain = domain,
                                      .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                                IBV_ACCESS_REMOTE_READ |
                                                IBV_ACCESS_REMOTE_ATOMIC})) {}

  ibv_sge entry(std::size_t offset, std::uint32_t bytes) {
    return {
        .addr = reinterpret_cast<std::uint64_t>(ram.data()) + offset, .length = bytes, .lkey = key};
  }
  void on_event(QueuePair&, ibv_event_type event) override { events.push_back(event); }
  void on_port_event(std::uint8_t, ibv_event_type event) override { events.push_back(event); }
  void on_completion_event() override {}
  void on_overrun() override { ADD_FAILURE() << "a completion queue was too small"; }

  std::unique_ptr<link::Link> own_link_;

 public:
  queue::CompletionQueue completions{4096, *this};
  link::OwnNumbers numbers_;
  Device device;
  const std::uint32_t domain;
  const std::uint32_t key;
};

/// A connected queue pair of each.
std::pair<QueuePair*, QueuePair*> create_pair(Host& a, Host& b) {
  QueuePair& from = a.create(IBV_QPT_RC);
  QueuePair& to = b.create(IBV_QPT_RC);
  EXPECT_EQ(a.bring_up(from, b, to.number()), 0);
  EXPECT_EQ(b.bring_up(to, a, from.number()), 0);
  return {&from, &to};
}

/// Until nothing moves and no timer runs. False if that takes too long.
bool run(SimulatedNetwork& network, std::initializer_list<Host*> hosts) {
  for (int step = 0; step < 1000000; ++step) {
    bool moved = false;
    for (Host* host : hosts) moved |= host->device.drive(network.now_ns());
    if (moved) continue;
    std::optional<std::uint64_t> next = network.next_arrival_ns();
    for (Host* host : hosts)
      if (const auto deadline = host->device.deadline_ns())
        next = std::min(next.value_or(*deadline), *deadline);
    if (!next) return true;
    network.move_clock_to(std::max(*next, network.now_ns()));
  }
  return false;
}

std::vector<ibv_wc_status> statuses(const std::vector<ibv_wc>& completions) {
  std::vector<ibv_wc_status> out;
  for (const ibv_wc& completion : completions) out.push_back(completion.status);
  return out;
}

TEST(Device, AnotherHostThanTheOneItIsConnectedToIsNotHeard) {
  SimulatedNetwork network({});
  Host a(network, 1);
  Host b(network, 2);
  Host stranger(network, 3);
  const auto [from, to] = create_pair(a, b);
  QueuePair& intruder = stranger.create(IBV_QPT_RC);
  ASSERT_EQ(stranger.bring_up(intruder, b, to->number()), 0);
  std::fill_n(stranger.ram.begin(), 8, std::byte{9});
  ASSERT_EQ(stranger.post(intruder, IBV_WR_RDMA_WRITE, 0, 8, b, 0), 0);
  ASSERT_TRUE(run(network, {&a, &b, &stranger}));
  EXPECT_EQ(statuses(stranger.poll()), std::vector{IBV_WC_RETRY_EXC_ERR});
  EXPECT_EQ(b.ram[0], std::byte{0});
  EXPECT_EQ(b.device.counters().from_others, 8U) << "one, and seven that were sent again";
  EXPECT_EQ(to->state(), IBV_QPS_RTS);
  ASSERT_EQ(a.post(*from, IBV_WR_RDMA_WRITE, 8, 8, b, 8), 0);
  ASSERT_TRUE(run(network, {&a, &b}));
  EXPECT_EQ(statuses(a.poll()), std::vector{IBV_WC_SUCCESS});
}

TEST(Device, QueuePairsOfTwoHostsTalk) {
  SimulatedNetwork network({});
  Host a(network, 1);
  Host b(network, 2);
  const auto [from, to] = create_pair(a, b);
  std::fill_n(a.ram.begin(), 5000, std::byte{5});
  ASSERT_EQ(b.post_receive(*to, 0, 5000), 0);
  ASSERT_EQ(a.post(*from, IBV_WR_SEND, 0, 5000, b, 0), 0);
  ASSERT_TRUE(run(network, {&a, &b}));
  EXPECT_EQ(statuses(a.poll()), std::vector{IBV_WC_SUCCESS});
  EXPECT_EQ(statuses(b.poll()), std::vector{IBV_WC_SUCCESS});
  EXPECT_EQ(b.ram[4999], std::byte{5});
  EXPECT_EQ(b.ram[5000], std::byte{0});
}

TEST(Device, AQueuePairTalksToItsNeighbourInTheSameProcess) {
  SimulatedNetwork network({});
  Host a(network, 1);
  const auto [from, to] = create_pair(a, a);
  std::fill_n(a.ram.begin(), 100, std::byte{5});
  ASSERT_EQ(a.post(*from, IBV_WR_RDMA_WRITE, 0, 100, a, 1000), 0);
  ASSERT_TRUE(run(network, {&a}));
  EXPECT_EQ(statuses(a.poll()), std::vector{IBV_WC_SUCCESS});
  EXPECT_EQ(a.ram[1099], std::byte{5});
}

TEST(Device, DatagramsFindTheirWay) {
  SimulatedNetwork network({});
  Host a(network, 1);
  Host b(network, 2);
  QueuePair& from = a.create(IBV_QPT_UD);
  QueuePair& to = b.create(IBV_QPT_UD);
  ASSERT_EQ(a.bring_up(from, b, 0), 0);
  ASSERT_EQ(b.bring_up(to, a, 0), 0);
  ASSERT_EQ(b.post_receive(to, 0, 200), 0);
  ASSERT_EQ(a.post(from, IBV_WR_SEND, 0, 100, b, 0, to.number()), 0);
  ASSERT_EQ(a.post(from, IBV_WR_SEND, 0, 100, b, 0, to.number() + 1), 0);
  ASSERT_TRUE(run(network, {&a, &b}));
  const auto received = b.poll();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].byte_len, 140U);
  EXPECT_EQ(received[0].src_qp, from.number());
  EXPECT_EQ(received[0].slid, 1);
  EXPECT_EQ(b.device.counters().without_queue_pair, 1U);
}

TEST(Device, NumbersAreNotGivenTwiceInARow) {
  SimulatedNetwork network({});
  Host a(network, 1);
  QueuePair& first = a.create(IBV_QPT_RC);
  const std::uint32_t number = first.number();
  a.device.destroy(first);
  EXPECT_EQ(a.device.queue_pair_count(), 0U);
  EXPECT_NE(a.create(IBV_QPT_RC).number(), number);
}

TEST(Device, ADestroyedQueuePairIsSilence) {
  SimulatedNetwork network({});
  Host a(network, 1);
  Host b(network, 2);
  const auto [from, to] = create_pair(a, b);
  ASSERT_EQ(a.post(*from, IBV_WR_RDMA_WRITE, 0, 5000, b, 0), 0);
  a.device.drive(network.now_ns());
  b.device.destroy(*to);
  ASSERT_TRUE(run(network, {&a, &b}));
  EXPECT_EQ(statuses(a.poll()), std::vector{IBV_WC_RETRY_EXC_ERR});
}

TEST(Device, APortThatIsDownForAMomentIsMendedByRepeating) {
  SimulatedNetwork network({});
  Host a(network, 1);
  Host b(network, 2);
  const auto [from, to] = create_pair(a, b);
  for (Host* disturbed : {&a, &b}) {
    disturbed->device.set_port(1, false);
    disturbed->device.set_port(1, false);
    ASSERT_EQ(a.post(*from, IBV_WR_RDMA_WRITE, 0, 100, b, 0), 0);
    constexpr std::uint64_t moment_ns = 1'000'000;
    for (const std::uint64_t end_ns = network.now_ns() + moment_ns; network.now_ns() < end_ns;
         network.move_clock_to(network.now_ns() + 500)) {
      a.device.drive(network.now_ns());
      b.device.drive(network.now_ns());
    }
    EXPECT_TRUE(a.completions.is_empty());
    EXPECT_GT(disturbed->device.counters().lost_at_ports, 0U);
    disturbed->device.set_port(1, true);
    ASSERT_TRUE(run(network, {&a, &b}));
    EXPECT_EQ(statuses(a.poll()), std::vector{IBV_WC_SUCCESS});
    // The peer's queue pair may have told that it is established.
    std::erase(disturbed->events, IBV_EVENT_COMM_EST);
    EXPECT_EQ(disturbed->events, (std::vector{IBV_EVENT_PORT_ERR, IBV_EVENT_PORT_ACTIVE}));
  }
}

TEST(Device, APortThatStaysDownEndsTheConnection) {
  SimulatedNetwork network({});
  Host a(network, 1);
  Host b(network, 2);
  const auto [from, to] = create_pair(a, b);
  a.device.set_port(1, false);
  ASSERT_EQ(a.post(*from, IBV_WR_RDMA_WRITE, 0, 100, b, 0), 0);
  ASSERT_TRUE(run(network, {&a, &b}));
  EXPECT_EQ(statuses(a.poll()), std::vector{IBV_WC_RETRY_EXC_ERR});
}

/// A way nowhere, by which peers may copy.
class CopyingLink final : public link::Link, public link::DirectAccess {
 public:
  std::optional<qp::Path> path_to(const ibv_ah_attr&, ibv_mtu) const override {
    return qp::Path{.segment_bytes = 256, .unreliable_segment_bytes = 256, .window_packets = 8};
  }
  bool has_room(const qp::Destination&) override { return true; }
  void send(const qp::Outgoing&, const ibv_ah_attr&) override {}
  bool poll(link::Sink&, std::uint64_t) override { return false; }
  link::DirectAccess* direct() override { return this; }
  void publish(std::uint32_t key, const memory::Region&) override { keys.insert(key); }
  using link::Link::withdraw;
  void withdraw(std::uint32_t key) override { keys.erase(key); }
  void open(const qp::PeerAccess& access, const ibv_ah_attr&) override {
    openings.insert(access.queue_pair);
  }
  void close(std::uint32_t queue_pair) override { openings.erase(queue_pair); }
  bool copy(const qp::DirectCopy&, std::uint32_t, const qp::Destination&, std::uint64_t) override {
    ++copies;
    return true;
  }
  std::set<std::uint32_t> keys;
  std::set<std::uint32_t> openings;
  int copies = 0;
};

TEST(Device, NobodyCopiesDirectlyThroughAPortThatIsDown) {
  CopyingLink way;
  Host host(way, 1);
  QueuePair& queue_pair = host.create(IBV_QPT_RC);
  ASSERT_EQ(host.bring_up(queue_pair, host, 99), 0);
  const auto copies_of_a_write = [&] {
    const int before = way.copies;
    EXPECT_EQ(host.post(queue_pair, IBV_WR_RDMA_WRITE, 0, 100, host, 0), 0);
    host.device.drive(1);
    return way.copies - before;
  };
  EXPECT_EQ(way.openings, std::set{queue_pair.number()});
  EXPECT_EQ(copies_of_a_write(), 1);
  host.device.set_port(2, false);
  EXPECT_EQ(way.openings, std::set{queue_pair.number()});
  host.device.set_port(1, false);
  EXPECT_TRUE(way.openings.empty());
  QueuePair& later = host.create(IBV_QPT_RC);
  ASSERT_EQ(host.bring_up(later, host, 99), 0);
  EXPECT_TRUE(way.openings.empty());
  host.device.set_port(1, true);
  EXPECT_EQ(way.openings, (std::set{queue_pair.number(), later.number()}));
  host.device.set_port(1, false);
  EXPECT_EQ(copies_of_a_write(), 0);
}

TEST(Device, APortThatIsUpAgainOpensNothingOfAQueuePairInError) {
  CopyingLink way;
  Host host(way, 1);
  QueuePair& queue_pair = host.create(IBV_QPT_RC);
  ASSERT_EQ(host.bring_up(queue_pair, host, 99), 0);
  host.device.set_port(1, false);
  ASSERT_TRUE(host.device.fail(queue_pair.number()));
  host.device.set_port(1, true);
  EXPECT_TRUE(way.openings.empty());
}

TEST(Device, PeersAreKeptOutIfTheyAreToBe) {
  CopyingLink way;
  Host host(way, 1, 1 << 16, {.lets_peers_in = false});
  QueuePair& queue_pair = host.create(IBV_QPT_RC);
  ASSERT_EQ(host.bring_up(queue_pair, host, 99), 0);
  EXPECT_TRUE(way.openings.empty());
  EXPECT_TRUE(way.keys.empty());
  // It may do what peers let it do.
  ASSERT_EQ(host.post(queue_pair, IBV_WR_RDMA_WRITE, 0, 100, host, 0), 0);
  host.device.drive(1);
  EXPECT_EQ(way.copies, 1);
}

TEST(Device, MishapsHitQueuePairsThatAreInUse) {
  SimulatedNetwork network({});
  Host a(network, 1, 1 << 16, {.mishaps = {.queue_pair_errors = 1000}});
  Host b(network, 2);
  QueuePair& unused = a.create(IBV_QPT_RC);
  std::vector<QueuePair*> used;
  for (int i = 0; i < 3; ++i) used.push_back(create_pair(a, b).first);
  const auto is_in_error = [](const QueuePair* pair) { return pair->state() == IBV_QPS_ERR; };
  a.device.drive(1);
  for (int second = 1; second <= 4; ++second) {
    EXPECT_EQ(std::ranges::count_if(used, is_in_error), second - 1);
    a.device.drive(1'000'000'000 * static_cast<std::uint64_t>(second));
  }
  EXPECT_EQ(unused.state(), IBV_QPS_RESET);
  std::erase(a.events, IBV_EVENT_COMM_EST);
  EXPECT_EQ(a.events, std::vector(3, IBV_EVENT_QP_FATAL));
}

TEST(Device, AnIdleDeviceBringsItsPortUpAgain) {
  SimulatedNetwork network({});
  Host a(network, 1, 1 << 16, {.mishaps = {.port_flaps = 1000}});
  a.device.drive(1);
  EXPECT_EQ(a.device.deadline_ns(), std::nullopt);
  for (std::uint64_t now_ns = 1; a.device.is_port_up(1); now_ns += 1'000'000) {
    ASSERT_LT(now_ns, 1'000'000'000U);
    a.device.drive(now_ns);
  }
  ASSERT_TRUE(a.device.deadline_ns().has_value());
  a.device.drive(*a.device.deadline_ns());
  EXPECT_TRUE(a.device.is_port_up(1));
}

TEST(Device, AQueuePairFailsOnPurpose) {
  SimulatedNetwork network({});
  Host a(network, 1);
  Host b(network, 2);
  const auto [from, to] = create_pair(a, b);
  ASSERT_EQ(a.post_receive(*from, 0, 100), 0);
  EXPECT_TRUE(a.device.fail(from->number()));
  EXPECT_EQ(from->state(), IBV_QPS_ERR);
  EXPECT_EQ(statuses(a.poll()), std::vector{IBV_WC_WR_FLUSH_ERR});
  EXPECT_EQ(a.events, std::vector{IBV_EVENT_QP_FATAL});
  EXPECT_FALSE(a.device.fail(from->number() + 1));
}

TEST(ContextCache, HoldsTheLatestOfEachSet) {
  ContextCache cache(4);
  for (std::uint32_t number = 1; number <= 4; ++number) EXPECT_FALSE(cache.touch(number));
  for (std::uint32_t number = 1; number <= 4; ++number) EXPECT_TRUE(cache.touch(number));
  EXPECT_FALSE(cache.touch(5));
  EXPECT_FALSE(cache.touch(1)) << "it was used longest ago";
  EXPECT_TRUE(cache.touch(5));
  EXPECT_TRUE(cache.touch(4));
}

/// Misses of a host that writes a message by each of PAIRS queue pairs, three times around.
std::uint64_t go_around(std::size_t pairs) {
  SimulatedNetwork network({});
  Host a(network, 1, 1 << 16, {.context_entries = 8});
  Host b(network, 2);
  std::vector<QueuePair*> all;
  for (std::size_t i = 0; i < pairs; ++i) all.push_back(create_pair(a, b).first);
  for (int round = 0; round < 3; ++round) {
    for (QueuePair* from : all) {
      EXPECT_EQ(a.post(*from, IBV_WR_RDMA_WRITE, 0, 100, b, 0), 0);
      EXPECT_TRUE(run(network, {&a, &b}));
    }
  }
  EXPECT_EQ(a.poll().size(), 3 * pairs);
  return a.device.counters().context_misses;
}

TEST(Device, CountsContextsThatAnAdapterWouldHaveToFetch) {
  EXPECT_EQ(go_around(4), 4U) << "each once";
  EXPECT_EQ(go_around(40), 120U) << "each time, but not for its answer";
}

TEST(Device, FetchingAContextTakesTime) {
  SimulatedNetwork network({});
  Host a(network, 1, 1 << 16, {.context_entries = 4, .context_miss_ns = 50'000});
  Host b(network, 2);
  const auto [from, to] = create_pair(a, b);
  // Two packets: the first misses, the second waits for that.
  ASSERT_EQ(a.post(*from, IBV_WR_RDMA_WRITE, 0, 300, b, 0), 0);
  const auto pass_time_to = [&](std::uint64_t end_ns) {
    for (; network.now_ns() < end_ns; network.move_clock_to(network.now_ns() + 500)) {
      a.device.drive(network.now_ns());
      b.device.drive(network.now_ns());
    }
  };
  pass_time_to(50'000);
  EXPECT_TRUE(a.completions.is_empty());
  pass_time_to(60'000);
  EXPECT_EQ(statuses(a.poll()), std::vector{IBV_WC_SUCCESS});
}

// Many queue pairs at a time, over a network that does its worst.
class Crowd : public testing::TestWithParam<int> {};

TEST_P(Crowd, EverythingIsDoneOnce) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  SimulatedNetwork network(
      {.seed = seed,
       .packets_max = 64,
       .faults = {.lost = 20000, .repeated = 20000, .late = 50000, .damaged = 20000}});
  constexpr std::size_t pairs = 20;
  constexpr std::uint32_t slot_bytes = 1536;
  constexpr std::ptrdiff_t all_bytes = std::ptrdiff_t{pairs} * slot_bytes;
  Host a(network, 1);
  Host b(network, 2);
  for (std::size_t i = 0; i < a.ram.size() / 2; ++i)
    a.ram[i] = static_cast<std::byte>(i * 7 + seed);
  std::vector<QueuePair*> froms;
  for (std::size_t i = 0; i < pairs; ++i) {
    froms.push_back(create_pair(a, b).first);
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::size_t slot = i * slot_bytes;
    const std::size_t mirror = a.ram.size() / 2 + slot;
    ASSERT_EQ(a.post(*froms[i], IBV_WR_RDMA_WRITE, slot, slot_bytes, b, slot), 0);
    for (int k = 0; k < 3; ++k)
      ASSERT_EQ(a.post(*froms[i], IBV_WR_ATOMIC_FETCH_AND_ADD, mirror, 8, b, b.ram.size() - 8), 0);
    ASSERT_EQ(a.post(*froms[i], IBV_WR_RDMA_READ, mirror, slot_bytes, b, slot), 0);
  }
  ASSERT_TRUE(run(network, {&a, &b}));
  EXPECT_EQ(statuses(a.poll()), std::vector(5 * pairs, IBV_WC_SUCCESS));
  std::uint64_t sum;
  std::memcpy(&sum, b.ram.data() + b.ram.size() - 8, sizeof(sum));
  EXPECT_EQ(sum, 3 * pairs);
  EXPECT_TRUE(std::equal(a.ram.begin(), a.ram.begin() + all_bytes, b.ram.begin()));
  EXPECT_TRUE(std::equal(a.ram.begin(), a.ram.begin() + all_bytes,
                         a.ram.begin() + static_cast<std::ptrdiff_t>(a.ram.size() / 2)));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Crowd, testing::Range(0, 50));

}  // namespace
}  // namespace softrdma::device
