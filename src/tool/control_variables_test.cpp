#include "tool/control_variables.hpp"

#include <gtest/gtest.h>

#include "session/settings.hpp"

namespace hawser::tool {
namespace {

using base::ParameterSource;
using base::ParameterValue;

class ControlVariablesTest : public testing::Test {
 protected:
  ControlVariablesTest() {
    registry_.add("a.flag", &flag_, {.sentence = "A flag."});
    registry_.add("b.small", &small_, {.min = -5, .max = 5});
    registry_.add("c.unsigned", &unsigned_, {});
    registry_.add("d.long", &long_, {});
    registry_.add("e.unsigned_long", &unsigned_long_, {});
    registry_.add("f.real", &real_, {});
    registry_.add("g.choice", &choice_, {.allowed = {"", "ring", "tree"}});
    registry_.add("h.text", &text_, {});
    variables_ = make_control_variables(registry_);
  }

  /// What a tool reads of variable I, as a T.
  template <class T>
  T read(std::size_t i) {
    T value{};
    variables_[i].put(*registry_.value(variables_[i].description.name), &value);
    return value;
  }
  template <class T>
  bool write(std::size_t i, const T& value) {
    const base::Result<ParameterValue> got = variables_[i].get(&value);
    return got.ok() &&
           registry_.set_value(variables_[i].description.name, *got, ParameterSource::program).ok();
  }

  bool flag_ = true;
  std::int32_t small_ = -3;
  std::uint32_t unsigned_ = 4000000000U;
  std::int64_t long_ = -1;
  std::uint64_t unsigned_long_ = UINT64_MAX;
  double real_ = 0.5;
  std::string choice_ = "ring";
  std::string text_ = "a text";
  base::ParameterRegistry registry_;
  std::vector<ControlVariable> variables_;
};

TEST_F(ControlVariablesTest, HaveTypesOfC) {
  const std::vector<ElementType> expected = {
      ElementType::int32,  ElementType::int32, ElementType::uint32, ElementType::int64,
      ElementType::uint64, ElementType::real,  ElementType::int32,  ElementType::character};
  ASSERT_EQ(variables_.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(variables_[i].type, expected[i]) << i;
  EXPECT_EQ(variables_[0].count, 1);
  EXPECT_EQ(variables_[7].count, 4096);
  EXPECT_EQ(variables_[0].enumeration->items(), (std::vector<std::string>{"false", "true"}));
  EXPECT_FALSE(variables_[1].enumeration);
  EXPECT_EQ(variables_[6].enumeration->items(), (std::vector<std::string>{"", "ring", "tree"}));
  EXPECT_EQ(variables_[6].enumeration->name(), "g.choice");
}

TEST_F(ControlVariablesTest, AreRead) {
  EXPECT_EQ(read<std::int32_t>(0), 1);
  EXPECT_EQ(read<std::int32_t>(1), -3);
  EXPECT_EQ(read<std::uint32_t>(2), 4000000000U);
  EXPECT_EQ(read<std::int64_t>(3), -1);
  EXPECT_EQ(read<std::uint64_t>(4), UINT64_MAX);
  EXPECT_EQ(read<double>(5), 0.5);
  EXPECT_EQ(read<std::int32_t>(6), 1);
  const auto text = read<std::array<char, 4096>>(7);
  EXPECT_STREQ(text.data(), "a text");
}

TEST_F(ControlVariablesTest, AreWritten) {
  EXPECT_TRUE(write(0, std::int32_t{0}));
  EXPECT_TRUE(write(1, std::int32_t{5}));
  EXPECT_TRUE(write(2, std::uint32_t{7}));
  EXPECT_TRUE(write(3, std::int64_t{1} << 40));
  EXPECT_TRUE(write(4, std::uint64_t{1} << 63));
  EXPECT_TRUE(write(5, 2.25));
  EXPECT_TRUE(write(6, std::int32_t{2}));
  EXPECT_TRUE(write(7, std::array<char, 4>{'a', 'b', '\0', 'c'}));
  EXPECT_FALSE(flag_);
  EXPECT_EQ(small_, 5);
  EXPECT_EQ(unsigned_, 7U);
  EXPECT_EQ(long_, std::int64_t{1} << 40);
  EXPECT_EQ(unsigned_long_, std::uint64_t{1} << 63);
  EXPECT_EQ(real_, 2.25);
  EXPECT_EQ(choice_, "tree");
  EXPECT_EQ(text_, "ab");
}

TEST_F(ControlVariablesTest, RefuseWhatIsNoValue) {
  EXPECT_FALSE(write(0, std::int32_t{2}));
  EXPECT_FALSE(write(1, std::int32_t{6}));
  EXPECT_FALSE(write(6, std::int32_t{3}));
  EXPECT_FALSE(write(6, std::int32_t{-1}));
  std::array<char, 4096> endless;
  endless.fill('x');
  EXPECT_FALSE(write(7, endless));
  EXPECT_TRUE(flag_);
  EXPECT_EQ(choice_, "ring");
  EXPECT_EQ(text_, "a text");
}

TEST(ControlVariables, EveryParameterIsReadAndWrittenBack) {
  session::Settings settings;
  base::ParameterRegistry registry;
  session::register_all_parameters(registry, settings);
  for (const ControlVariable& variable : make_control_variables(registry)) {
    const std::string& name = variable.description.name;
    std::array<char, 4096> buffer;
    variable.put(*registry.value(name), buffer.data());
    const base::Result<ParameterValue> value = variable.get(buffer.data());
    ASSERT_TRUE(value.ok()) << name;
    EXPECT_TRUE(registry.set_value(name, *value, ParameterSource::program).ok()) << name;
    EXPECT_EQ(registry.find(name)->current_text, variable.description.default_text) << name;
  }
}

}  // namespace
}  // namespace hawser::tool
