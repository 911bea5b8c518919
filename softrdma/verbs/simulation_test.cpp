// Adapters of one process on a simulated network, as programs that link the library use them.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <tuple>
#include <vector>

#include "softrdma/verbs/softrdma.h"
#include "softrdma/verbs/test_program.hpp"

namespace softrdma::verbs {
namespace {

constexpr int steps_max = 100'000;

/// Two programs, each with a device of one simulation.
class Simulated {
 public:
  explicit Simulated(const softrdma_simulation_attributes& attributes = {})
      : simulation(softrdma_create_simulation(&attributes)) {
    EXPECT_TRUE(a.open(softrdma_simulation_add_device(simulation)));
    EXPECT_TRUE(b.open(softrdma_simulation_add_device(simulation)));
  }
  ~Simulated() {
    a.close();
    b.close();
    EXPECT_EQ(softrdma_destroy_simulation(simulation), 0);
  }
  Simulated(const Simulated&) = delete;
  Simulated& operator=(const Simulated&) = delete;

  [[nodiscard]] std::uint64_t now_ns() const { return softrdma_simulation_now_ns(simulation); }
  /// A queue pair of each, connected.
  std::pair<ibv_qp*, ibv_qp*> create_pair(ibv_qp_type type) {
    ibv_qp* const first = a.create(nullptr, type);
    ibv_qp* const second = b.create(nullptr, type);
    EXPECT_EQ(a.connect(first, second->qp_num, b.lid()), 0);
    EXPECT_EQ(b.connect(second, first->qp_num, a.lid()), 0);
    return {first, second};
  }
  /// Until PROGRAM has a completion; its status is never success if it has none.
  ibv_wc next(TestProgram& program) {
    ibv_wc completion{};
    completion.status = IBV_WC_GENERAL_ERR;
    for (int steps = 0; steps < steps_max; ++steps)
      if (ibv_poll_cq(program.completions, 1, &completion) == 1 ||
          softrdma_simulation_step(simulation) == 0)
        break;
    return completion;
  }
  void come_to_rest() {
    int steps = 0;
    while (softrdma_simulation_step(simulation) != 0) ASSERT_LT(++steps, steps_max);
  }

  softrdma_simulation* const simulation;
  TestProgram a;
  TestProgram b;
};

class SimulatedTypes : public testing::TestWithParam<ibv_qp_type> {};

TEST_P(SimulatedTypes, AMessageTakesTheTimeOfTheWay) {
  Simulated two;
  const auto [from, to] = two.create_pair(GetParam());
  const bool is_ud = GetParam() == IBV_QPT_UD;
  std::fill_n(two.a.ram.begin(), 500, 'x');
  ASSERT_EQ(two.b.post_receive(to, 1, 0, 1000), 0);
  ibv_ah_attr address{};
  address.dlid = two.b.lid();
  address.port_num = 1;
  ibv_ah* const ah = ibv_create_ah(two.a.domain, &address);
  ASSERT_NE(ah, nullptr);
  const std::uint64_t began_ns = two.now_ns();
  ASSERT_EQ(two.a.post_send(from, 2, 0, 500,
                            [&, number = to->qp_num](ibv_send_wr& work) {
                              if (is_ud)
                                work.wr.ud = {
                                    .ah = ah, .remote_qpn = number, .remote_qkey = test_queue_key};
                            }),
            0);
  const ibv_wc received = two.next(two.b);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.wr_id, 1U);
  EXPECT_EQ(two.now_ns() - began_ns, 1000U);
  EXPECT_EQ(two.next(two.a).status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::count(two.b.ram.begin(), two.b.ram.end(), 'x'), 500);
  two.come_to_rest();
  EXPECT_EQ(ibv_destroy_ah(ah), 0);
}

INSTANTIATE_TEST_SUITE_P(Types, SimulatedTypes,
                         testing::Values(IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD));

TEST(Simulation, XrcReachesTheReceiveQueueThatIsNamed) {
  Simulated two;
  ibv_xrcd_init_attr opening{
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
  ibv_xrcd* const xrc = ibv_open_xrcd(two.b.context, &opening);
  ASSERT_NE(xrc, nullptr);
  ibv_srq_init_attr_ex receiving{};
  receiving.attr = {.max_wr = 8, .max_sge = 1, .srq_limit = 0};
  receiving.srq_type = IBV_SRQT_XRC;
  receiving.comp_mask = unsigned{IBV_SRQ_INIT_ATTR_TYPE} | unsigned{IBV_SRQ_INIT_ATTR_PD} |
                        unsigned{IBV_SRQ_INIT_ATTR_XRCD} | unsigned{IBV_SRQ_INIT_ATTR_CQ};
  receiving.pd = two.b.domain;
  receiving.xrcd = xrc;
  receiving.cq = two.b.completions;
  ibv_srq* const srq = ibv_create_srq_ex(two.b.context, &receiving);
  ASSERT_NE(srq, nullptr);
  std::uint32_t srq_number = 0;
  ASSERT_EQ(ibv_get_srq_num(srq, &srq_number), 0);
  ibv_qp_init_attr_ex target_with{};
  target_with.qp_type = IBV_QPT_XRC_RECV;
  target_with.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  target_with.xrcd = xrc;
  ibv_qp* const target = ibv_create_qp_ex(two.b.context, &target_with);
  ASSERT_NE(target, nullptr);
  ibv_qp* const from = two.a.create(nullptr, IBV_QPT_XRC_SEND);
  ASSERT_NE(from, nullptr);
  ASSERT_EQ(two.a.connect(from, target->qp_num, two.b.lid()), 0);
  ASSERT_EQ(two.b.connect(target, from->qp_num, two.a.lid()), 0);

  ASSERT_EQ(two.b.post_receive(srq, 1, 0, 1000), 0);
  ASSERT_EQ(two.a.post_send(from, 2, 0, 500,
                            [=](ibv_send_wr& work) { work.qp_type.xrc.remote_srqn = srq_number; }),
            0);
  const ibv_wc received = two.next(two.b);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.wr_id, 1U);
  EXPECT_EQ(two.next(two.a).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_destroy_qp(target), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_close_xrcd(xrc), 0);
}

/// When which completion came, and how it went.
using Trace = std::vector<std::tuple<std::uint64_t, std::uint64_t, ibv_wc_status>>;

Trace trace_of(std::uint64_t seed, double loss, double flaps = 0) {
  softrdma_simulation_attributes attributes{};
  attributes.seed = seed;
  attributes.faults.loss = loss;
  attributes.faults.reorder = loss;
  attributes.faults.port_flaps = flaps;
  Simulated two(attributes);
  const auto [from, to] = two.create_pair(IBV_QPT_RC);
  Trace trace;
  for (std::uint64_t id = 0; id < 50; ++id) {
    EXPECT_EQ(two.b.post_receive(to, 1000 + id, 0, 20000), 0);
    EXPECT_EQ(two.a.post_send(from, id, 0, 20000), 0);
    for (TestProgram* program : {&two.b, &two.a}) {
      const ibv_wc completion = two.next(*program);
      trace.emplace_back(two.now_ns(), completion.wr_id, completion.status);
    }
  }
  two.come_to_rest();
  trace.emplace_back(two.now_ns(), two.a.region->rkey, IBV_WC_SUCCESS);
  return trace;
}

TEST(Simulation, TheSeedTellsEverything) {
  constexpr double loss = 0.05;
  EXPECT_EQ(trace_of(1, loss), trace_of(1, loss));
  EXPECT_NE(trace_of(1, loss), trace_of(2, loss));
  // A loss is mended when a timer runs out.
  EXPECT_GT(std::get<0>(trace_of(1, loss).back()), std::get<0>(trace_of(1, 0).back()));
}

TEST(Simulation, TheSeedTellsMishapsToo) {
  constexpr double loss = 0.05;
  constexpr double flaps = 20;
  EXPECT_EQ(trace_of(1, loss, flaps), trace_of(1, loss, flaps));
  EXPECT_NE(trace_of(1, loss, flaps), trace_of(1, loss));
}

TEST(Simulation, ComesToRestHoweverOftenPortsFlap) {
  softrdma_simulation_attributes attributes{};
  attributes.faults.port_flaps = 1000;
  // So that it is driven for a while.
  attributes.faults.loss = 1;
  Simulated two(attributes);
  const auto [from, to] = two.create_pair(IBV_QPT_RC);
  ASSERT_EQ(two.a.post_send(from, 1, 0, 100), 0);
  two.come_to_rest();
  int flaps = 0;
  for (ibv_async_event event{}; ibv_get_async_event(two.a.context, &event) == 0;)
    flaps += event.event_type == IBV_EVENT_PORT_ERR ? 1 : 0;
  EXPECT_GT(flaps, 0);
}

TEST(Simulation, TheClockStaysWhenEverythingIsQuiet) {
  Simulated two;
  two.create_pair(IBV_QPT_RC);
  const std::uint64_t now_ns = two.now_ns();
  EXPECT_EQ(softrdma_simulation_step(two.simulation), 0);
  EXPECT_EQ(two.now_ns(), now_ns);
}

TEST(Simulation, WithoutAPeerTheTriesComeToAnEnd) {
  Simulated two;
  const auto [from, to] = two.create_pair(IBV_QPT_RC);
  two.b.queue_pairs.clear();
  ASSERT_EQ(ibv_destroy_qp(to), 0);
  ASSERT_EQ(two.a.post_send(from, 1, 0, 100), 0);
  EXPECT_EQ(two.next(two.a).status, IBV_WC_RETRY_EXC_ERR);
  // Eight times 4.096 us << 14.
  EXPECT_GT(two.now_ns(), 8U * 67'108'864);
  two.come_to_rest();
}

TEST(Simulation, NobodyWaits) {
  Simulated two;
  const auto [from, to] = two.create_pair(IBV_QPT_RC);
  ASSERT_EQ(ibv_req_notify_cq(two.b.completions, 0), 0);
  ibv_cq* told = nullptr;
  void* told_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(two.b.channel, &told, &told_context), -1);
  EXPECT_EQ(errno, EAGAIN);
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(two.b.context, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_EQ(two.b.post_receive(to, 1, 0, 100), 0);
  ASSERT_EQ(two.a.post_send(from, 2, 0, 100), 0);
  EXPECT_EQ(softrdma_simulation_step(two.simulation), 1);
  EXPECT_EQ(ibv_get_cq_event(two.b.channel, &told, &told_context), 0);
  EXPECT_EQ(told, two.b.completions);
  ibv_ack_cq_events(told, 1);
}

/// How long it takes one message of each of 16 queue pairs to arrive.
std::uint64_t many_queue_pairs_ns(std::uint64_t context_miss_ns) {
  softrdma_simulation_attributes attributes{};
  attributes.contexts = 4;
  attributes.context_miss_ns = context_miss_ns;
  Simulated two(attributes);
  for (std::uint64_t id = 0; id < 16; ++id) {
    const auto [from, to] = two.create_pair(IBV_QPT_RC);
    EXPECT_EQ(two.b.post_receive(to, id, 0, 5000), 0);
    EXPECT_EQ(two.a.post_send(from, id, 0, 5000), 0);
  }
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(two.next(two.a).status, IBV_WC_SUCCESS);
    EXPECT_EQ(two.next(two.b).status, IBV_WC_SUCCESS);
  }
  return two.now_ns();
}

TEST(Simulation, ContextsThatAreMissingTakeTime) {
  EXPECT_GT(many_queue_pairs_ns(10'000), many_queue_pairs_ns(0) + 10'000);
}

TEST(Simulation, FlippedBitsArrive) {
  softrdma_simulation_attributes attributes{};
  attributes.faults.flip = 1;
  Simulated two(attributes);
  const auto [from, to] = two.create_pair(IBV_QPT_RC);
  ASSERT_EQ(two.b.post_receive(to, 1, 0, 100), 0);
  ASSERT_EQ(two.a.post_send(from, 2, 0, 100), 0);
  EXPECT_EQ(two.next(two.b).status, IBV_WC_SUCCESS);
  int ones = 0;
  for (const char byte : two.b.ram) ones += std::popcount(static_cast<unsigned char>(byte));
  EXPECT_EQ(ones, 1);
}

TEST(Simulation, APortThatIsUpInTimeIsNoticedByNothingButTheClock) {
  Simulated two;
  const auto [from, to] = two.create_pair(IBV_QPT_RC);
  EXPECT_EQ(softrdma_set_port(two.b.context->device, 1, 0), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(two.b.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(event.element.port_num, 1);
  ASSERT_EQ(two.b.post_receive(to, 1, 0, 100), 0);
  ASSERT_EQ(two.a.post_send(from, 2, 0, 100), 0);
  constexpr std::uint64_t down_ns = 100'000'000;
  while (two.now_ns() < down_ns) ASSERT_EQ(softrdma_simulation_step(two.simulation), 1);
  EXPECT_EQ(softrdma_set_port(two.b.context->device, 1, 1), 0);
  EXPECT_EQ(two.next(two.b).status, IBV_WC_SUCCESS);
  EXPECT_EQ(two.next(two.a).status, IBV_WC_SUCCESS);
  EXPECT_GT(two.now_ns(), down_ns);
}

TEST(Simulation, AQueuePairFailsOnPurpose) {
  Simulated two;
  const auto [from, to] = two.create_pair(IBV_QPT_RC);
  ASSERT_EQ(two.b.post_receive(to, 1, 0, 100), 0);
  EXPECT_EQ(softrdma_fail_queue_pair(two.b.context->device, to->qp_num), 0);
  EXPECT_EQ(two.next(two.b).status, IBV_WC_WR_FLUSH_ERR);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(two.b.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(event.element.qp, to);
  ibv_ack_async_event(&event);
  EXPECT_EQ(softrdma_fail_queue_pair(two.b.context->device, 0xabcdef), EINVAL);
}

TEST(Simulation, EveryPacketIsAsLateAsItIsToBe) {
  softrdma_simulation_attributes attributes{};
  attributes.faults.delay_us = 5;
  Simulated two(attributes);
  const auto [from, to] = two.create_pair(IBV_QPT_RC);
  ASSERT_EQ(two.b.post_receive(to, 1, 0, 100), 0);
  const std::uint64_t began_ns = two.now_ns();
  ASSERT_EQ(two.a.post_send(from, 2, 0, 100), 0);
  EXPECT_EQ(two.next(two.b).status, IBV_WC_SUCCESS);
  EXPECT_EQ(two.now_ns() - began_ns, 6000U);
}

TEST(Simulation, TimeStampsAreOfItsClock) {
  Simulated two;
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = 8;
  attributes.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  ibv_cq_ex* const stamped = ibv_create_cq_ex(two.a.context, &attributes);
  ASSERT_NE(stamped, nullptr);
  ibv_cq* const usual = std::exchange(two.a.completions, ibv_cq_ex_to_cq(stamped));
  const auto [from, to] = two.create_pair(IBV_QPT_RC);
  ASSERT_EQ(two.b.post_receive(to, 1, 0, 100), 0);
  ASSERT_EQ(two.a.post_send(from, 2, 0, 100), 0);
  while (softrdma_simulation_step(two.simulation) != 0) {
  }
  ibv_poll_cq_attr polling{};
  ASSERT_EQ(ibv_start_poll(stamped, &polling), 0);
  EXPECT_EQ(ibv_wc_read_completion_ts(stamped), 2001U) << "there and back again";
  ibv_end_poll(stamped);
  two.a.queue_pairs.clear();
  EXPECT_EQ(ibv_destroy_qp(from), 0);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(stamped)), 0);
  two.a.completions = usual;
}

TEST(Simulation, AnOpenOneIsNotDestroyed) {
  softrdma_simulation* const simulation = softrdma_create_simulation(nullptr);
  ASSERT_NE(simulation, nullptr);
  ibv_device* const device = softrdma_simulation_add_device(simulation);
  ibv_context* const context = ibv_open_device(device);
  EXPECT_EQ(softrdma_destroy_simulation(simulation), EBUSY);
  EXPECT_EQ(softrdma_destroy_device(device), EINVAL);
  EXPECT_EQ(ibv_close_device(context), 0);
  EXPECT_EQ(softrdma_destroy_simulation(simulation), 0);
  softrdma_simulation_attributes attributes{};
  attributes.faults.loss = -1;
  EXPECT_EQ(softrdma_create_simulation(&attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attributes.faults.loss = 0;
  attributes.window_packets = 1025;
  EXPECT_EQ(softrdma_create_simulation(&attributes), nullptr);
}

}  // namespace
}  // namespace softrdma::verbs
