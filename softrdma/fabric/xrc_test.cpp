#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "softrdma/fabric/xrc_domains.hpp"
#include "softrdma/fabric/xrc_targets.hpp"

namespace softrdma::fabric {
namespace {

constexpr std::uint32_t domain = 3;
const link::XrcDomains::File file{5, 77};

std::string fabric_of_xrc() {
  static int made = 0;
  return fmt::format("test.xrc.{}.{}", ::getpid(), ++made);
}

/// A process, as far as XRC goes.
struct Member {
  explicit Member(const std::string& fabric) : host(std::move(Host::join(fabric).value())) {}
  std::unique_ptr<Host> host;
  SharedXrcDomains domains{*host};
  SharedXrcTargets targets{*host};
};

wire::Headers request_to(std::uint32_t target, std::uint32_t receive_queue) {
  wire::Headers headers;
  headers.opcode = {wire::Service::extended_reliable_connection, wire::Operation::send_only};
  headers.destination_qp = target;
  headers.receive_queue = receive_queue;
  return headers;
}

class Xrc : public testing::Test {
 protected:
  const std::string fabric_ = fabric_of_xrc();
  Member here_{fabric_};
  Member there_{fabric_};
};

TEST_F(Xrc, AFileIsTheSameDomainInEveryProcess) {
  std::uint32_t number = 0;
  std::uint32_t same = 0;
  std::uint32_t other = 0;
  EXPECT_EQ(there_.domains.open(file, false, false, &number), EAGAIN);
  ASSERT_EQ(here_.domains.open(file, true, true, &number), 0);
  ASSERT_EQ(there_.domains.open(file, false, false, &same), 0);
  EXPECT_EQ(same, number);
  EXPECT_EQ(there_.domains.open(file, true, true, &other), EINVAL);
  ASSERT_EQ(there_.domains.open({5, 78}, true, false, &other), 0);
  EXPECT_NE(other, number);
  EXPECT_EQ(there_.domains.open({}, false, false, &other), EINVAL);
  ASSERT_EQ(there_.domains.open({}, true, false, &same), 0);
  ASSERT_EQ(here_.domains.open({}, true, false, &other), 0);
  EXPECT_NE(same, other) << "without a file nobody shares it";
}

TEST_F(Xrc, ADomainLastsAsLongAsAnybodyHasIt) {
  std::uint32_t number = 0;
  ASSERT_EQ(here_.domains.open(file, true, false, &number), 0);
  ASSERT_EQ(there_.domains.open(file, false, false, &number), 0);
  ASSERT_EQ(there_.domains.open(file, false, false, &number), 0);
  here_.domains.close(number);
  there_.domains.close(number);
  EXPECT_EQ(here_.domains.open(file, false, false, &number), 0);
  here_.domains.close(number);
  there_.host.reset();
  EXPECT_EQ(here_.domains.open(file, false, false, &number), EAGAIN) << "its process has ended";
}

TEST_F(Xrc, DomainsHaveALimit) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < xrc_domains_max; ++i)
    ASSERT_EQ(here_.domains.open({}, true, false, &number), 0);
  EXPECT_EQ(there_.domains.open({}, true, false, &number), ENOMEM);
  here_.domains.close(number);
  EXPECT_EQ(there_.domains.open({}, true, false, &number), 0);
}

TEST_F(Xrc, ATargetGoesFromTurnToTurn) {
  const std::uint32_t number = *here_.host->take();
  ASSERT_TRUE(here_.targets.add(number, domain));
  EXPECT_FALSE(there_.targets.open(number, domain + 1));
  EXPECT_FALSE(there_.targets.open(number + 1, domain));
  ASSERT_TRUE(there_.targets.open(number, domain));
  EXPECT_EQ(there_.targets.domain_of(number), domain);
  qp::TargetState state;
  ASSERT_TRUE(here_.targets.begin(number, &state));
  EXPECT_EQ(state.state, IBV_QPS_RESET);
  state.state = IBV_QPS_RTR;
  state.responder.expected = 4711;
  here_.targets.end(number, state);
  qp::TargetState seen;
  ASSERT_TRUE(there_.targets.begin(number, &seen));
  EXPECT_EQ(seen.state, IBV_QPS_RTR);
  EXPECT_EQ(seen.responder.expected, 4711U);
  there_.targets.end(number, seen);
}

TEST_F(Xrc, WhoDiesInHisTurnChangesNothing) {
  const std::uint32_t number = *here_.host->take();
  ASSERT_TRUE(here_.targets.add(number, domain));
  ASSERT_TRUE(there_.targets.open(number, domain));
  qp::TargetState state;
  ASSERT_TRUE(there_.targets.begin(number, &state));
  state.responder.expected = 1;
  EXPECT_FALSE(here_.targets.begin(number, &state)) << "it is another one's turn";
  // The word stays taken, as a process leaves it that is killed.
  const std::uint32_t taken = here_.host->xrc_targets()[0].lock;
  there_.targets.end(number, state);
  there_.host.reset();
  here_.host->xrc_targets()[0].lock = taken;
  ASSERT_TRUE(here_.targets.begin(number, &state));
  here_.targets.end(number, state);
}

TEST_F(Xrc, ATargetLastsAsLongAsAnybodyHasIt) {
  const std::uint32_t number = *here_.host->take();
  ASSERT_TRUE(here_.targets.add(number, domain));
  ASSERT_TRUE(there_.targets.open(number, domain));
  EXPECT_FALSE(here_.targets.close(number));
  qp::TargetState state;
  EXPECT_TRUE(here_.targets.begin(number, &state));
  here_.targets.end(number, state);
  EXPECT_TRUE(there_.targets.close(number));
  EXPECT_FALSE(here_.targets.begin(number, &state));
  EXPECT_EQ(here_.targets.domain_of(number), 0U);
  EXPECT_FALSE(there_.targets.open(number, domain));
}

TEST_F(Xrc, ASeatThatIsTakenAnewKeepsNothingOfTheOldOne) {
  auto dies = std::make_unique<Member>(fabric_);
  const std::uint32_t shared = *dies->host->take();
  const std::uint32_t alone = *dies->host->take();
  ASSERT_TRUE(dies->targets.add(shared, domain));
  ASSERT_TRUE(dies->targets.add(alone, domain));
  ASSERT_TRUE(here_.targets.open(shared, domain));
  const std::uint16_t seat = dies->host->seat();
  dies.reset();
  const Member comes(fabric_);
  ASSERT_EQ(comes.host->seat(), seat);
  EXPECT_EQ(here_.host->owner_of(shared), here_.host->seat());
  EXPECT_EQ(here_.targets.domain_of(shared), domain);
  EXPECT_EQ(here_.host->owner_of(alone), std::nullopt);
  EXPECT_EQ(here_.targets.domain_of(alone), 0U);
}

TEST_F(Xrc, RequestsGoWhereTheirReceiveQueueIs) {
  const std::uint32_t number = *here_.host->take();
  const std::uint32_t own_queue = *here_.host->take();
  const std::uint32_t other_queue = *there_.host->take();
  EXPECT_EQ(here_.targets.take_route(request_to(number, own_queue)), std::nullopt);
  EXPECT_EQ(here_.targets.take_route(request_to(number, other_queue)), there_.host->seat());
  EXPECT_EQ(here_.host->owner_of(number), there_.host->seat());
  EXPECT_EQ(here_.targets.take_route(request_to(number, own_queue)), there_.host->seat())
      << "behind what has gone there";
  EXPECT_EQ(there_.targets.take_route(request_to(number, other_queue)), std::nullopt);
  EXPECT_EQ(there_.targets.take_route(request_to(number, own_queue)), here_.host->seat());
  EXPECT_EQ(here_.targets.take_route(request_to(number, 0xabcdef)), std::nullopt)
      << "who has no receive queue is refused here";
}

TEST_F(Xrc, RequestsDoNotGoToTheDead) {
  const std::uint32_t number = *there_.host->take();
  const std::uint32_t own_queue = *here_.host->take();
  const std::uint32_t other_queue = *there_.host->take();
  there_.host.reset();
  EXPECT_EQ(here_.targets.take_route(request_to(number, own_queue)), std::nullopt);
  EXPECT_EQ(here_.host->owner_of(number), here_.host->seat());
  EXPECT_EQ(here_.targets.take_route(request_to(number, other_queue)), std::nullopt);
}

}  // namespace
}  // namespace softrdma::fabric
