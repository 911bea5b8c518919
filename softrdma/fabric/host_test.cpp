#include "softrdma/fabric/host.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

namespace softrdma::fabric {
namespace {

/// One that no other test of this host joins.
std::string own_fabric() {
  static int made = 0;
  return fmt::format("test.{}.{}", ::getpid(), ++made);
}

std::unique_ptr<Host> join(std::string_view fabric) {
  auto host = Host::join(fabric);
  EXPECT_TRUE(host.ok()) << host.error().sentence();
  return std::move(host.value());
}

TEST(Host, ThoseOfOneFabricShareAnAdapter) {
  const std::string fabric = own_fabric();
  const auto one = join(fabric);
  const auto two = join(fabric);
  EXPECT_EQ(one->guid(), two->guid());
  EXPECT_NE(one->seat(), two->seat());
  two->seat_memory(two->seat()).bell = 17;
  EXPECT_EQ(one->seat_memory(two->seat()).bell, 17U);
  EXPECT_TRUE(one->is_alive(two->seat()));
}

TEST(Host, ThoseOfOthersHaveOthers) {
  const auto one = join(own_fabric());
  const auto other = join(own_fabric());
  const auto alone = join("");
  const auto alone_too = join("");
  EXPECT_EQ((std::set{one->guid(), other->guid(), alone->guid(), alone_too->guid()}).size(), 4U);
}

TEST(Host, ASeatIsFreeWhenItsProcessHasLeft) {
  const std::string fabric = own_fabric();
  const auto stays = join(fabric);
  auto leaves = join(fabric);
  const std::uint16_t seat = leaves->seat();
  const std::uint32_t number = *leaves->take();
  EXPECT_EQ(stays->owner_of(number), seat);
  leaves.reset();
  EXPECT_FALSE(stays->is_alive(seat));
  const auto comes = join(fabric);
  EXPECT_EQ(comes->seat(), seat);
  EXPECT_EQ(stays->owner_of(number), std::nullopt) << "who comes has none of who left";
}

TEST(Host, NumbersAreOnesOwn) {
  const std::string fabric = own_fabric();
  const auto one = join(fabric);
  const auto two = join(fabric);
  std::set<std::uint32_t> numbers;
  for (int i = 0; i < 1000; ++i) {
    Host& host = i % 2 == 0 ? *one : *two;
    const std::uint32_t number = *host.take();
    EXPECT_GE(number, link::first_number);
    EXPECT_EQ(one->owner_of(number), host.seat());
    numbers.insert(number);
  }
  EXPECT_EQ(numbers.size(), 1000U);
  one->give_back(*numbers.begin());
  EXPECT_EQ(two->owner_of(*numbers.begin()), std::nullopt);
  EXPECT_FALSE(numbers.contains(*one->take())) << "numbers come back late";
}

TEST(Host, ANameThatIsTooLongIsRefused) {
  const auto host = Host::join(std::string(65, 'x'));
  ASSERT_FALSE(host.ok());
  EXPECT_NE(host.error().sentence().find("65 bytes; 64 are possible"), std::string::npos);
}

/// A process that joins FABRIC, writes one byte, and waits to be killed.
pid_t child_on(const std::string& fabric, int ready) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const auto host = Host::join(fabric);
  const char verdict = host.ok() ? 'y' : 'n';
  if (::write(ready, &verdict, 1) == 1) ::pause();
  ::_exit(1);
}

TEST(Host, SurvivesWhoeverWasFirst) {
  const std::string fabric = own_fabric();
  std::array<int, 2> ends;
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = child_on(fabric, ends[1]);
  char verdict = 0;
  ASSERT_EQ(::read(ends[0], &verdict, 1), 1);
  ASSERT_EQ(verdict, 'y');
  const auto second = join(fabric);
  EXPECT_EQ(second->seat(), 1);
  EXPECT_TRUE(second->is_alive(0));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(second->is_alive(0));
  const auto third = join(fabric);
  EXPECT_EQ(third->seat(), 0);
  EXPECT_EQ(third->guid(), second->guid());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Host, ManyProcessesThatComeAtOnceMeetInOneFabric) {
  constexpr int children = 100;
  const std::string fabric = own_fabric();
  std::array<int, 2> ends;
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::vector<pid_t> pids;
  for (int i = 0; i < children; ++i) pids.push_back(child_on(fabric, ends[1]));
  int joined = 0;
  for (char verdict = 0; joined < children && ::read(ends[0], &verdict, 1) == 1; ++joined)
    ASSERT_EQ(verdict, 'y');
  EXPECT_EQ(join(fabric)->seat(), children) << "one of them is elsewhere";
  for (const pid_t pid : pids) ::kill(pid, SIGKILL);
  for (const pid_t pid : pids) ::waitpid(pid, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Host, AChildOfForkKeepsNoSeat) {
  const std::string fabric = own_fabric();
  auto host = join(fabric);
  const auto other = join(fabric);
  const std::uint16_t seat = host->seat();
  std::array<int, 2> ends;
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    host->forget_in_child();
    const char done = 'y';
    if (::write(ends[1], &done, 1) == 1) ::pause();
    ::_exit(1);
  }
  char done = 0;
  ASSERT_EQ(::read(ends[0], &done, 1), 1);
  EXPECT_TRUE(other->is_alive(seat));
  host.reset();
  EXPECT_FALSE(other->is_alive(seat)) << "the child lives, but has no part in it";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace softrdma::fabric
