#include "softrdma/fabric/fault_request.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace softrdma::fabric {
namespace {

/// Two processes of a fabric, of which the second has a device.
class Faults : public testing::Test {
 protected:
  static std::unique_ptr<Host> join() {
    return std::move(Host::join(fmt::format("fault.{}", ::getpid())).value());
  }
  SeatMemory& asked_seat() { return host->seat_memory(asked->seat()); }

  std::unique_ptr<Host> host = join();
  std::unique_ptr<Host> asked = join();
};

TEST_F(Faults, AreCarriedOutAndAnswered) {
  for (const bool is_known : {true, false}) {
    std::thread device([&] {
      std::optional<FaultRequest> request;
      while (!(request = pending_fault(asked_seat()))) std::this_thread::yield();
      EXPECT_EQ(request->kind, FaultKind::port_down);
      EXPECT_EQ(request->number, 0xfedcba98);
      answer_fault(asked_seat(), is_known);
    });
    EXPECT_EQ(ask_for_fault(*host, asked->seat(), {FaultKind::port_down, 0xfedcba98}),
              is_known ? FaultAnswer::done : FaultAnswer::unknown_number);
    device.join();
    EXPECT_EQ(pending_fault(asked_seat()), std::nullopt);
  }
}

TEST_F(Faults, AreTakenBackIfNobodyAnswers) {
  EXPECT_EQ(ask_for_fault(*host, asked->seat(), {FaultKind::port_up, 1}), FaultAnswer::silence);
  EXPECT_EQ(pending_fault(asked_seat()), std::nullopt);
  // Too late.
  answer_fault(asked_seat(), true);
  EXPECT_EQ(asked_seat().fault, 0U);
}

TEST_F(Faults, WaitForThoseOfOthersWhoLive) {
  const auto third = join();
  const std::uint64_t theirs = (third->seat() + std::uint64_t{1}) << 32 | std::uint64_t{2} << 56;
  asked_seat().fault = theirs;
  EXPECT_EQ(ask_for_fault(*host, asked->seat(), {FaultKind::port_up, 1}), FaultAnswer::busy);
  EXPECT_EQ(asked_seat().fault, theirs);
}

TEST_F(Faults, ReplaceThoseOfTheDead) {
  asked_seat().fault = std::uint64_t{seat_count} << 32 | std::uint64_t{1} << 56;
  EXPECT_EQ(ask_for_fault(*host, asked->seat(), {FaultKind::port_up, 1}), FaultAnswer::silence);
  EXPECT_EQ(asked_seat().fault, 0U);
}

}  // namespace
}  // namespace softrdma::fabric
