// Devices that a program makes for itself.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

#include "softrdma/verbs/softrdma.h"
#include "softrdma/verbs/test_program.hpp"

namespace softrdma::verbs {
namespace {

using Ids = std::vector<std::uint64_t>;

/// An address of loopback that no other test of this host uses.
std::string own_address(int which) {
  return fmt::format("127.200.{}.{}", ::getpid() % 250, 10 * (::getpid() / 250 % 20) + which);
}

/// A device, destroyed in the end.
class OwnDevice {
 public:
  explicit OwnDevice(const softrdma_device_attributes& attributes)
      : device_(softrdma_create_device(&attributes, sentence_, sizeof(sentence_))),
        errno_(device_ == nullptr ? errno : 0) {}
  ~OwnDevice() {
    if (device_ != nullptr) {
      EXPECT_EQ(softrdma_destroy_device(device_), 0);
    }
  }
  OwnDevice(const OwnDevice&) = delete;
  OwnDevice& operator=(const OwnDevice&) = delete;

  [[nodiscard]] ibv_device* get() const { return device_; }
  [[nodiscard]] std::string sentence() const { return sentence_; }
  [[nodiscard]] int error() const { return errno_; }

 private:
  char sentence_[200] = "";
  ibv_device* const device_;
  const int errno_;
};

/// A message from one to the other, by RC.
void send_a_message(TestProgram& from, TestProgram& to) {
  constexpr std::uint32_t bytes = 100000;
  ibv_qp* const a = from.create();
  ibv_qp* const b = to.create();
  ASSERT_EQ(from.connect(a, b->qp_num, to.lid()), 0);
  ASSERT_EQ(to.connect(b, a->qp_num, from.lid()), 0);
  std::fill_n(from.ram.begin(), bytes, 'x');
  ASSERT_EQ(to.post_receive(b, 1, 0, bytes), 0);
  ASSERT_EQ(from.post_send(a, 2, 0, bytes), 0);
  EXPECT_EQ(to.poll_ids(1), Ids{1});
  EXPECT_EQ(from.poll_ids(1), Ids{2});
  EXPECT_EQ(std::count(to.ram.begin(), to.ram.end(), 'x'), bytes);
}

TEST(OwnDevices, WhatCannotBeIsRefusedWithASentence) {
  softrdma_device_attributes attributes{};
  attributes.fabric = "";
  const auto refused = [&](const char* sentence) {
    const OwnDevice device(attributes);
    EXPECT_EQ(device.get(), nullptr);
    EXPECT_EQ(device.error(), EINVAL);
    EXPECT_EQ(device.sentence(), sentence);
  };
  attributes.ports = 17;
  refused("softrdma: a device has at most 16 ports");
  attributes.ports = 0;
  attributes.faults.loss = 1.5;
  refused("softrdma: each of the faults is a share, from 0 to 1");
  attributes.faults.loss = 0;
  attributes.faults.delay_us = 1'000'001;
  refused("softrdma: delay_us is at most 1000000");
  attributes.faults.delay_us = 0;
  attributes.faults.port_flaps = -1;
  refused("softrdma: qp_errors and port_flaps are numbers from 0 to 1000");
  attributes.faults.port_flaps = 0;
  attributes.addresses = "localhost";
  refused("softrdma: the addresses have 'localhost', which is no IP address");
  EXPECT_EQ(softrdma_create_device(&attributes, nullptr, 0), nullptr);
}

TEST(OwnDevices, HaveWhatIsAskedFor) {
  softrdma_device_attributes attributes{};
  attributes.fabric = "";
  attributes.ports = 3;
  attributes.queue_pairs_max = 1;
  const OwnDevice device(attributes);
  ASSERT_NE(device.get(), nullptr);
  TestProgram program;
  ASSERT_TRUE(program.open(device.get()));
  ibv_device_attr shown{};
  EXPECT_EQ(ibv_query_device(program.context, &shown), 0);
  EXPECT_EQ(shown.phys_port_cnt, 3);
  EXPECT_NE(program.create(), nullptr);
  EXPECT_EQ(program.create(), nullptr);
  program.queue_pairs.pop_back();
  program.close();
}

TEST(OwnDevices, AnOpenOneIsNotDestroyedAndOneOfTheListNever) {
  softrdma_device_attributes attributes{};
  attributes.fabric = "";
  const OwnDevice device(attributes);
  ibv_context* const context = ibv_open_device(device.get());
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(softrdma_destroy_device(device.get()), EBUSY);
  EXPECT_EQ(ibv_close_device(context), 0);
  ibv_device** const list = ibv_get_device_list(nullptr);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(std::find(list, list + 2, device.get()), list + 2) << "no list shows it";
  EXPECT_EQ(softrdma_destroy_device(list[0]), EINVAL);
  ibv_free_device_list(list);
}

TEST(OwnDevices, TwoOfOneFabricAreOneAdapter) {
  const std::string fabric = fmt::format("test.linked.{}", ::getpid());
  softrdma_device_attributes attributes{};
  attributes.fabric = fabric.c_str();
  const OwnDevice first(attributes);
  const OwnDevice second(attributes);
  ASSERT_TRUE(first.get() != nullptr && second.get() != nullptr) << second.sentence();
  EXPECT_EQ(ibv_get_device_guid(first.get()), ibv_get_device_guid(second.get()));
  TestProgram a;
  TestProgram b;
  ASSERT_TRUE(a.open(first.get()) && b.open(second.get()));
  EXPECT_EQ(a.lid(), b.lid());
  send_a_message(a, b);
  send_a_message(b, a);
  a.close();
  b.close();
}

void* map_at(void* address, std::size_t bytes) {
  return ::mmap(address, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | (address == nullptr ? 0 : MAP_FIXED), -1, 0);
}

// The peer, which is not strict, could copy by itself.
TEST(OwnDevices, APeerDoesNotReachStaleMemoryOfAStrictOne) {
  constexpr std::size_t page_bytes = 4096;
  const std::string fabric = fmt::format("test.strict.{}", ::getpid());
  softrdma_device_attributes attributes{};
  attributes.fabric = fabric.c_str();
  const OwnDevice lax(attributes);
  attributes.strict = 1;
  const OwnDevice strict(attributes);
  ASSERT_TRUE(lax.get() != nullptr && strict.get() != nullptr);
  TestProgram a;
  TestProgram b;
  ASSERT_TRUE(a.open(lax.get()));
  if (!b.open(strict.get())) {
    a.close();
    GTEST_SKIP() << "the kernel refuses userfaultfd";
  }
  ibv_qp* const from = a.create();
  ibv_qp* const to = b.create();
  ASSERT_EQ(a.connect(from, to->qp_num), 0);
  ASSERT_EQ(b.connect(to, from->qp_num), 0);
  ibv_mr* const page = ibv_reg_mr(b.domain, map_at(nullptr, page_bytes), page_bytes, access);
  a.ram[0] = 'x';
  EXPECT_EQ(a.write(from, a.region, page), IBV_WC_SUCCESS);
  // Under the lock of whoever has stored it, for ThreadSanitizer.
  ibv_wc none{};
  EXPECT_EQ(ibv_poll_cq(b.completions, 1, &none), 0);
  EXPECT_EQ(*static_cast<char*>(page->addr), 'x');
  ::munmap(page->addr, page_bytes);
  ASSERT_EQ(map_at(page->addr, page_bytes), page->addr);
  testing::internal::CaptureStderr();
  EXPECT_EQ(a.write(from, a.region, page), IBV_WC_REM_ACCESS_ERR);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("strict mode: "), std::string::npos);
  EXPECT_EQ(*static_cast<char*>(page->addr), 0);
  ::munmap(page->addr, page_bytes);
  EXPECT_EQ(ibv_dereg_mr(page), 0);
  a.close();
  b.close();
}

TEST(OwnDevices, OneOfTheFabricOfTheListIsTheSameAdapter) {
  ibv_device** const list = ibv_get_device_list(nullptr);
  ASSERT_NE(list, nullptr);
  softrdma_device_attributes attributes{};
  attributes.fabric = std::getenv("SOFTRDMA_FABRIC");
  const OwnDevice device(attributes);
  ASSERT_NE(device.get(), nullptr) << device.sentence();
  EXPECT_EQ(ibv_get_device_guid(device.get()), ibv_get_device_guid(list[0]));
  EXPECT_STRNE(ibv_get_device_name(device.get()), ibv_get_device_name(list[0]));
  ibv_free_device_list(list);
}

ibv_event_type next_event(ibv_context* context) {
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(context, &event), 0);
  ibv_ack_async_event(&event);
  return event.event_type;
}

ibv_port_state port_state(ibv_context* context) {
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
  return port.state;
}

TEST(OwnDevices, AWriteFailsIfThePortOfEitherIsDown) {
  const std::string fabric = fmt::format("test.ports.{}", ::getpid());
  softrdma_device_attributes attributes{};
  attributes.fabric = fabric.c_str();
  const OwnDevice first(attributes);
  const OwnDevice second(attributes);
  ASSERT_TRUE(first.get() != nullptr && second.get() != nullptr) << second.sentence();
  TestProgram a;
  TestProgram b;
  ASSERT_TRUE(a.open(first.get()) && b.open(second.get()));
  for (const auto& [device, program] : {std::pair(&first, &a), std::pair(&second, &b)}) {
    ibv_qp* const from = a.create();
    ibv_qp* const to = b.create();
    ASSERT_EQ(a.connect(from, to->qp_num), 0);
    ASSERT_EQ(b.connect(to, from->qp_num), 0);
    b.ram[0] = 'b';
    a.ram[0] = 'a';
    EXPECT_EQ(softrdma_set_port(device->get(), 1, 0), 0);
    EXPECT_EQ(port_state(program->context), IBV_PORT_DOWN);
    EXPECT_EQ(next_event(program->context), IBV_EVENT_PORT_ERR);
    EXPECT_EQ(a.write(from, a.region, b.region), IBV_WC_RETRY_EXC_ERR);
    EXPECT_EQ(b.ram[0], 'b');
    EXPECT_EQ(softrdma_set_port(device->get(), 1, 1), 0);
    EXPECT_EQ(port_state(program->context), IBV_PORT_ACTIVE);
    EXPECT_EQ(next_event(program->context), IBV_EVENT_PORT_ACTIVE);
  }
  send_a_message(a, b);
  EXPECT_EQ(softrdma_set_port(first.get(), 2, 0), EINVAL);
  EXPECT_EQ(softrdma_set_port(first.get(), 257, 0), EINVAL);
  a.close();
  b.close();
}

// Whoever of the adapter lets it fail: its state is that of all.
TEST(OwnDevices, ATargetQueuePairOfXrcFailsForAllThatShareIt) {
  const std::string fabric = fmt::format("test.target.{}", ::getpid());
  softrdma_device_attributes attributes{};
  attributes.fabric = fabric.c_str();
  const OwnDevice first(attributes);
  const OwnDevice second(attributes);
  ASSERT_TRUE(first.get() != nullptr && second.get() != nullptr) << second.sentence();
  ibv_context* const context = ibv_open_device(first.get());
  ASSERT_NE(context, nullptr);
  ibv_xrcd_init_attr opening{
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
  ibv_xrcd* const xrc = ibv_open_xrcd(context, &opening);
  ASSERT_NE(xrc, nullptr);
  ibv_qp_init_attr_ex made_with{};
  made_with.qp_type = IBV_QPT_XRC_RECV;
  made_with.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  made_with.xrcd = xrc;
  ibv_qp* const target = ibv_create_qp_ex(context, &made_with);
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(softrdma_fail_queue_pair(second.get(), target->qp_num + 1), EINVAL);
  EXPECT_EQ(softrdma_fail_queue_pair(second.get(), target->qp_num), 0);
  ibv_qp_attr shown{};
  ibv_qp_init_attr ignored{};
  EXPECT_EQ(ibv_query_qp(target, &shown, IBV_QP_STATE, &ignored), 0);
  EXPECT_EQ(shown.qp_state, IBV_QPS_ERR);
  EXPECT_EQ(ibv_destroy_qp(target), 0);
  EXPECT_EQ(ibv_close_xrcd(xrc), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

TEST(OwnDevices, AreAsLateAsTheyAreToBe) {
  using std::chrono::steady_clock;
  softrdma_device_attributes attributes{};
  attributes.fabric = "";
  attributes.faults.delay_us = 20'000;
  const OwnDevice device(attributes);
  ASSERT_NE(device.get(), nullptr);
  TestProgram program;
  ASSERT_TRUE(program.open(device.get()));
  const auto [a, b] = program.create_pair();
  ASSERT_EQ(program.post_receive(b, 1, 1000, 100), 0);
  const steady_clock::time_point began = steady_clock::now();
  ASSERT_EQ(program.post_send(a, 2, 0, 100), 0);
  EXPECT_EQ(program.poll_ids(2), (Ids{1, 2}));
  EXPECT_GE(steady_clock::now() - began, std::chrono::milliseconds(40)) << "there and back";
  program.close();
}

TEST(OwnDevices, TwoFabricsTalkByUdp) {
  softrdma_device_attributes attributes{};
  attributes.fabric = "";
  attributes.faults.loss = 0.01;
  const std::string first_address = own_address(1);
  attributes.addresses = first_address.c_str();
  const OwnDevice first(attributes);
  const OwnDevice third(attributes);
  EXPECT_EQ(third.error(), EADDRINUSE);
  EXPECT_NE(third.sentence().find("4791"), std::string::npos) << third.sentence();
  const std::string second_address = own_address(2);
  attributes.addresses = second_address.c_str();
  const OwnDevice second(attributes);
  ASSERT_TRUE(first.get() != nullptr && second.get() != nullptr);
  TestProgram a;
  TestProgram b;
  ASSERT_TRUE(a.open(first.get()) && b.open(second.get()));
  EXPECT_NE(a.lid(), b.lid());
  send_a_message(a, b);
  a.close();
  b.close();
}

TEST(OwnDevices, AChildHasLostThem) {
  softrdma_device_attributes attributes{};
  attributes.fabric = "";
  const OwnDevice device(attributes);
  TestProgram program;
  ASSERT_TRUE(program.open(device.get()));
  const auto [a, b] = program.create_pair();
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_right = softrdma_create_device(&attributes, nullptr, 0) == nullptr &&
                          errno == ENODEV && program.post_send(a, 1, 0, 1) == ENODEV &&
                          softrdma_destroy_device(device.get()) == 0;
    ::_exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(program.post_receive(b, 1, 1000, 100), 0);
  ASSERT_EQ(program.post_send(a, 2, 0, 100), 0);
  EXPECT_EQ(program.poll_ids(2), (Ids{1, 2}));
  program.close();
}

}  // namespace
}  // namespace softrdma::verbs
