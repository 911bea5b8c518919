#include "base/ref.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hawser::base {
namespace {

class Counted : public RefCounted {
 public:
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }

 protected:
  ~Counted() override { --*alive_; }

 private:
  int* alive_;
};

class Derived : public Counted {
 public:
  using Counted::Counted;
};

/// Returns to its pool instead of being deleted.
class Pooled : public RefCounted {
 public:
  mutable int returns = 0;
  void revive() const { reset_references(); }
  ~Pooled() override = default;

 protected:
  void dispose() const override { ++returns; }
};

TEST(Ref, TheLastOwnerDeletes) {
  int alive = 0;
  Ref<Counted> first = make_ref<Counted>(&alive);
  EXPECT_EQ(first->reference_count(), 1U);
  Ref<Counted> second = first;
  EXPECT_EQ(first->reference_count(), 2U);
  first = nullptr;
  EXPECT_EQ(alive, 1);
  second = nullptr;
  EXPECT_EQ(alive, 0);
}

TEST(Ref, UnsharedReferencesAreCountedToo) {
  int alive = 0;
  Ref<Counted> first = make_ref<Counted>(&alive);
  first->retain_unshared();
  EXPECT_EQ(first->reference_count(), 2U);
  first->release_unshared();
  EXPECT_EQ(first->reference_count(), 1U);
  first.leak()->release_unshared();
  EXPECT_EQ(alive, 0);
  const Pooled pooled;
  pooled.pin();
  pooled.release_unshared();
  EXPECT_EQ(pooled.returns, 0);
}

TEST(Ref, MovesWithoutCounting) {
  int alive = 0;
  Ref<Counted> first = make_ref<Counted>(&alive);
  const Ref<Counted> second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what it is here for
  EXPECT_EQ(second->reference_count(), 1U);
}

TEST(Ref, SurvivesAssignmentToItself) {
  int alive = 0;
  Ref<Counted> ref = make_ref<Counted>(&alive);
  Ref<Counted>& same = ref;
  ref = same;
  ASSERT_EQ(alive, 1);
  EXPECT_EQ(ref->reference_count(), 1U);
}

TEST(Ref, ConvertsToItsBase) {
  int alive = 0;
  Ref<Derived> derived = make_ref<Derived>(&alive);
  const Ref<Counted> shared = derived;
  EXPECT_EQ(shared->reference_count(), 2U);
  const Ref<Counted> moved = std::move(derived);
  EXPECT_EQ(moved->reference_count(), 2U);
}

TEST(Ref, ShareAddsAndLeakGivesAway) {
  int alive = 0;
  Ref<Counted> owner = make_ref<Counted>(&alive);
  Counted* raw = Ref<Counted>::share(owner.get()).leak();
  EXPECT_EQ(raw->reference_count(), 2U);
  raw->release();
  EXPECT_EQ(owner->reference_count(), 1U);
  EXPECT_FALSE(Ref<Counted>::share(nullptr));
}

TEST(Ref, PooledObjectsDecideWhatTheirEndIs) {
  const Pooled pooled;
  pooled.release();
  EXPECT_EQ(pooled.returns, 1);
  pooled.revive();
  pooled.retain();
  pooled.release();
  EXPECT_EQ(pooled.returns, 1);
  pooled.release();
  EXPECT_EQ(pooled.returns, 2);
}

TEST(Ref, CountsAcrossThreads) {
  int alive = 0;
  Ref<Counted> ref = make_ref<Counted>(&alive);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = ref] {
      for (int round = 0; round < 10'000; ++round) (void)Ref<Counted>(copy);
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  EXPECT_EQ(ref->reference_count(), 1U);
}

}  // namespace
}  // namespace hawser::base
