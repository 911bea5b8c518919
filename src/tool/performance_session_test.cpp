#include "tool/performance_session.hpp"

#include <gtest/gtest.h>

namespace hawser::tool {
namespace {

using base::ErrorClass;
using Numbers = std::vector<std::uint64_t>;

PerformanceVariable variable_of(VariableClass variable_class, std::size_t length = 1) {
  return {"test.number", "A number.", variable_class, base::Verbosity::user_basic, {}, length};
}

Numbers read(const PerformanceHandle& handle, const Numbers& now) {
  Numbers value(now.size());
  handle.read(now, value);
  return value;
}

int code(const base::Result<void>& result) { return result.ok() ? 0 : result.error().code(); }

class SumTest : public testing::Test {
 protected:
  const PerformanceVariable variable_ = variable_of(VariableClass::counter, 2);
  PerformanceSession session_;
  PerformanceHandle handle_{variable_, session_};
};

TEST_F(SumTest, IsStoppedAtFirst) { EXPECT_EQ(read(handle_, {5, 7}), (Numbers{0, 0})); }

TEST_F(SumTest, CountsWhileItIsStarted) {
  EXPECT_TRUE(handle_.start(Numbers{5, 7}).ok());
  EXPECT_EQ(read(handle_, {5, 7}), (Numbers{0, 0}));
  EXPECT_EQ(read(handle_, {6, 9}), (Numbers{1, 2}));
  EXPECT_TRUE(handle_.stop(Numbers{8, 7}).ok());
  EXPECT_EQ(read(handle_, {20, 20}), (Numbers{3, 0}));
  EXPECT_TRUE(handle_.start(Numbers{30, 30}).ok());
  EXPECT_EQ(read(handle_, {31, 32}), (Numbers{4, 2}));
}

TEST_F(SumTest, StartsAndStopsOnce) {
  EXPECT_TRUE(handle_.start(Numbers{5, 5}).ok());
  EXPECT_TRUE(handle_.start(Numbers{6, 6}).ok());
  EXPECT_TRUE(handle_.stop(Numbers{7, 7}).ok());
  EXPECT_TRUE(handle_.stop(Numbers{9, 9}).ok());
  EXPECT_EQ(read(handle_, {10, 10}), (Numbers{2, 2}));
}

TEST_F(SumTest, ResetsAndTakesValuesInBothStates) {
  EXPECT_TRUE(handle_.write(Numbers{1, 1}, Numbers{100, 200}).ok());
  EXPECT_EQ(read(handle_, {5, 5}), (Numbers{100, 200}));
  EXPECT_TRUE(handle_.start(Numbers{5, 5}).ok());
  EXPECT_EQ(read(handle_, {6, 6}), (Numbers{101, 201}));
  EXPECT_TRUE(handle_.reset(Numbers{6, 6}).ok());
  EXPECT_EQ(read(handle_, {8, 6}), (Numbers{2, 0}));
  EXPECT_TRUE(handle_.write(Numbers{8, 6}, Numbers{10, 10}).ok());
  EXPECT_EQ(read(handle_, {9, 9}), (Numbers{11, 13}));
}

TEST_F(SumTest, ReadsAndResetsInOneStep) {
  EXPECT_TRUE(handle_.start(Numbers{5, 5}).ok());
  Numbers value(2);
  EXPECT_TRUE(handle_.read_and_reset(Numbers{7, 6}, value).ok());
  EXPECT_EQ(value, (Numbers{2, 1}));
  EXPECT_EQ(read(handle_, {8, 6}), (Numbers{1, 0}));
}

TEST_F(SumTest, SurvivesTheEndOfTheNumbers) {
  EXPECT_TRUE(handle_.start(Numbers{UINT64_MAX, 0}).ok());
  EXPECT_EQ(read(handle_, {1, 0}), (Numbers{2, 0}));
}

TEST_F(SumTest, HandlesDoNotDisturbOneAnother) {
  PerformanceSession other_session;
  PerformanceHandle other(variable_, other_session);
  EXPECT_TRUE(handle_.start(Numbers{0, 0}).ok());
  EXPECT_TRUE(other.start(Numbers{10, 10}).ok());
  EXPECT_TRUE(handle_.reset(Numbers{20, 20}).ok());
  EXPECT_EQ(read(other, {30, 30}), (Numbers{20, 20}));
  EXPECT_EQ(read(handle_, {30, 30}), (Numbers{10, 10}));
}

TEST(LevelHandle, ShowsWhatIsNow) {
  for (const VariableClass shown : {VariableClass::level, VariableClass::high_watermark}) {
    const PerformanceVariable variable = variable_of(shown);
    PerformanceSession session;
    PerformanceHandle handle(variable, session);
    EXPECT_EQ(read(handle, {5}), Numbers{5});
    Numbers value(1);
    EXPECT_EQ(code(handle.start(Numbers{5})), static_cast<int>(ErrorClass::t_pvar_no_startstop));
    EXPECT_EQ(code(handle.stop(Numbers{5})), static_cast<int>(ErrorClass::t_pvar_no_startstop));
    EXPECT_EQ(code(handle.reset(Numbers{5})), static_cast<int>(ErrorClass::t_pvar_no_write));
    EXPECT_EQ(code(handle.write(Numbers{5}, Numbers{1})),
              static_cast<int>(ErrorClass::t_pvar_no_write));
    EXPECT_EQ(code(handle.read_and_reset(Numbers{5}, value)),
              static_cast<int>(ErrorClass::t_pvar_no_atomic));
    EXPECT_EQ(read(handle, {7}), Numbers{7});
  }
}

TEST(PerformanceSession, ListsItsHandles) {
  const PerformanceVariable variable = variable_of(VariableClass::counter);
  PerformanceSession session;
  PerformanceHandle first(variable, session);
  {
    PerformanceHandle second(variable, session);
    EXPECT_EQ(session.handles(), (std::vector<PerformanceHandle*>{&first, &second}));
  }
  EXPECT_EQ(session.handles(), std::vector<PerformanceHandle*>{&first});
  first.leave();
  EXPECT_TRUE(session.handles().empty());
  EXPECT_EQ(first.session(), nullptr);
}

}  // namespace
}  // namespace hawser::tool
