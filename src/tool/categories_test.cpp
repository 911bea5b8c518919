#include "tool/categories.hpp"

#include <gtest/gtest.h>

#include "session/settings.hpp"
#include "tool/performance_variables.hpp"

namespace hawser::tool {
namespace {

TEST(Categories, AreTheFirstWordsBelowARoot) {
  const std::vector<std::string> controls = {"b.x", "a.x", "stats"};
  const std::vector<std::string> performances = {"b.y.z", "c.x"};
  const std::vector<Category> categories = make_categories(controls, performances);
  ASSERT_EQ(categories.size(), 5U);
  EXPECT_EQ(categories[0].name, "hawser");
  EXPECT_EQ(categories[0].categories, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_TRUE(categories[0].controls.empty());
  EXPECT_EQ(categories[1].name, "a");
  EXPECT_EQ(categories[1].controls, std::vector<int>{1});
  EXPECT_EQ(categories[2].name, "b");
  EXPECT_EQ(categories[2].controls, std::vector<int>{0});
  EXPECT_EQ(categories[2].performances, std::vector<int>{0});
  EXPECT_EQ(categories[3].name, "c");
  EXPECT_EQ(categories[3].sentence, "Variables whose names begin with 'c'.");
  EXPECT_EQ(categories[4].name, "stats");
  EXPECT_EQ(categories[4].controls, std::vector<int>{2});
}

TEST(Categories, OfHawserAreAllDescribed) {
  session::Settings settings;
  base::ParameterRegistry registry;
  session::register_all_parameters(registry, settings);
  std::vector<std::string> controls;
  for (const base::ParameterDescription& parameter : registry.describe())
    controls.push_back(parameter.name);
  std::vector<std::string> performances;
  for (const PerformanceVariable& variable : make_performance_variables())
    performances.push_back(variable.name);
  for (const Category& category : make_categories(controls, performances))
    EXPECT_FALSE(category_sentence(category.name).empty()) << category.name;
}

}  // namespace
}  // namespace hawser::tool
