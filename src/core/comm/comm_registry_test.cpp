#include "core/comm/comm_registry.hpp"

#include <gtest/gtest.h>

namespace hawser::core {
namespace {

constexpr std::uint64_t job = 7;

Identity process(std::uint32_t index) { return {job, index, 0}; }

class Registry : public ::testing::Test {
 protected:
  Ref<Comm> make(std::uint64_t id, std::uint32_t first, int size) {
    Comm::Description description;
    description.group = Group::of_stride(job, first, 1, size);
    description.id = {id, 0};
    description.context = static_cast<std::uint32_t>(id);
    description.contexts = ContextMap(static_cast<std::uint32_t>(id));
    description.errhandler = base::make_ref<Errhandler>(ErrhandlerKind::errors_return);
    description.registry = registry;
    return base::make_ref<Comm>(std::move(description));
  }
  std::shared_ptr<CommRegistry> registry = std::make_shared<CommRegistry>();
};

TEST_F(Registry, FlagsTheCommunicatorsOfAProcessThatDied) {
  const Ref<Comm> with = make(10, 0, 4);
  const Ref<Comm> without = make(11, 0, 2);
  EXPECT_EQ(registry->note_failure(process(3)), std::vector<std::uint32_t>{10});
  EXPECT_TRUE(registry->note_failure(process(3)).empty());
  EXPECT_TRUE(with->has_failures());
  EXPECT_TRUE(without->is_sound());
  EXPECT_TRUE(make(12, 2, 2)->has_failures());
  EXPECT_EQ(registry->take_born().damaged, std::vector<std::uint32_t>{12});
}

TEST_F(Registry, KnowsWhoOfOtherJobsBelongsToACommunicator) {
  const Ref<Comm> comm = make(10, 0, 3);
  EXPECT_TRUE(registry->members_beyond(job).empty());
  EXPECT_EQ(registry->members_beyond(job + 1).size(), 3U);
  {
    const Ref<Comm> more = make(11, 2, 3);
    EXPECT_EQ(registry->members_beyond(job + 1).size(), 5U);
  }
  EXPECT_FALSE(registry->members_beyond(job + 1).contains(process(4)));
}

TEST_F(Registry, AFailureThatWasForgottenConcernsNobody) {
  registry->note_failure(process(1));
  registry->forget_failure(process(1));
  EXPECT_TRUE(make(10, 0, 4)->is_sound());
}

TEST_F(Registry, TellsFailedMembersInTheOrderOfTheirDeaths) {
  const Ref<Comm> comm = make(10, 0, 4);
  for (const std::uint32_t index : {3U, 9U, 1U}) registry->note_failure(process(index));
  EXPECT_EQ(registry->failed_members(*comm), (std::vector{process(3), process(1)}));
}

TEST_F(Registry, RevokesOnce) {
  const Ref<Comm> comm = make(10, 0, 3);
  const auto revoked = registry->revoke({10, 0});
  ASSERT_TRUE(revoked);
  EXPECT_EQ(revoked->contexts, std::vector<std::uint32_t>{10});
  EXPECT_EQ(revoked->members, (std::vector{process(0), process(1), process(2)}));
  EXPECT_TRUE(comm->is_revoked());
  EXPECT_FALSE(registry->revoke({10, 0}));
}

TEST_F(Registry, RemembersARevocationThatComesBeforeItsCommunicator) {
  int told = 0;
  registry->on_born([&] { ++told; });
  EXPECT_FALSE(registry->revoke({10, 0}));
  const Ref<Comm> comm = make(10, 0, 3);
  EXPECT_TRUE(comm->is_revoked());
  EXPECT_EQ(told, 1);
  EXPECT_EQ(registry->take_born().revoked.size(), 1U);
  EXPECT_TRUE(registry->take_born().revoked.empty());
}

TEST_F(Registry, ForgetsTheOldestEarlyRevocation) {
  for (std::uint64_t id = 0; id <= CommRegistry::early_revocations_max; ++id)
    EXPECT_FALSE(registry->revoke({100 + id, 0}));
  EXPECT_FALSE(make(100, 0, 2)->is_revoked());
  EXPECT_TRUE(make(101, 0, 2)->is_revoked());
}

TEST_F(Registry, ForgetsACommunicatorThatHasEnded) {
  static_cast<void>(make(10, 0, 3));
  EXPECT_FALSE(registry->revoke({10, 0}));
  EXPECT_TRUE(registry->note_failure(process(1)).empty());
}

}  // namespace
}  // namespace hawser::core
