#include "base/parameters.hpp"

#include <gtest/gtest.h>

namespace hawser::base {
namespace {

struct Settings {
  bool single_copy = true;
  std::int32_t priority = -5;
  std::uint32_t peers_max = 16;
  std::int64_t queue_slots = 1024;
  std::uint64_t eager_bytes_max = 64 << 10;
  double growth = 1.5;
  std::string policy = "auto";
  std::string path;
};

class ParameterRegistryTest : public ::testing::Test {
 protected:
  ParameterRegistryTest() {
    registry.add("shm.single_copy", &settings.single_copy, {.sentence = "Copies once."});
    registry.add("p2p.priority", &settings.priority, {.min = -10, .max = 10});
    registry.add("channel.peers_max", &settings.peers_max, {.unit = "peers"});
    registry.add("shm.queue_slots", &settings.queue_slots,
                 {.sentence = "Slots of the queue.", .unit = "slots", .min = 16, .max = 65536});
    registry.add("shm.eager_bytes_max", &settings.eager_bytes_max,
                 {.unit = "bytes", .min = 64, .max = 1 << 30});
    registry.add("channel.growth", &settings.growth, {.min = 1.0, .max = 4.0});
    registry.add("progress.policy", &settings.policy, {.allowed = {"auto", "poll", "block"}});
    registry.add("stats", &settings.path, {.sentence = "A file."});
  }

  Result<void> set(std::string_view name, std::string_view text,
                   ParameterSource source = ParameterSource::environment) {
    return registry.set(name, text, source, "somewhere");
  }
  std::string refusal(std::string_view name, std::string_view text) {
    const Result<void> result = set(name, text);
    return result.ok() ? "accepted" : result.error().sentence();
  }

  Settings settings;
  ParameterRegistry registry;
};

TEST_F(ParameterRegistryTest, StoresValuesOfEveryType) {
  EXPECT_TRUE(set("shm.single_copy", "off").ok());
  EXPECT_TRUE(set("p2p.priority", "-10").ok());
  EXPECT_TRUE(set("channel.peers_max", "+4000000000").ok());
  EXPECT_TRUE(set("shm.queue_slots", "65536").ok());
  EXPECT_TRUE(set("shm.eager_bytes_max", "8M").ok());
  EXPECT_TRUE(set("channel.growth", "2.25").ok());
  EXPECT_TRUE(set("progress.policy", "block").ok());
  EXPECT_TRUE(set("stats", "a b=c").ok());
  EXPECT_FALSE(settings.single_copy);
  EXPECT_EQ(settings.priority, -10);
  EXPECT_EQ(settings.peers_max, 4000000000U);
  EXPECT_EQ(settings.queue_slots, 65536);
  EXPECT_EQ(settings.eager_bytes_max, 8U << 20);
  EXPECT_EQ(settings.growth, 2.25);
  EXPECT_EQ(settings.policy, "block");
  EXPECT_EQ(settings.path, "a b=c");
}

TEST_F(ParameterRegistryTest, TakesEverySpellingOfAFlag) {
  for (const char* yes : {"true", "yes", "on", "1"}) {
    settings.single_copy = false;
    EXPECT_TRUE(set("shm.single_copy", yes).ok()) << yes;
    EXPECT_TRUE(settings.single_copy) << yes;
  }
  for (const char* no : {"false", "no", "off", "0"}) {
    settings.single_copy = true;
    EXPECT_TRUE(set("shm.single_copy", no).ok()) << no;
    EXPECT_FALSE(settings.single_copy) << no;
  }
}

TEST_F(ParameterRegistryTest, NamesTheClosestParameter) {
  EXPECT_EQ(refusal("shm.queue_slot", "5"),
            "there is no parameter 'shm.queue_slot'; did you mean 'shm.queue_slots'?");
  EXPECT_EQ(refusal("xyzzy", "5"), "there is no parameter 'xyzzy'");
}

TEST_F(ParameterRegistryTest, SaysWhatAValueShouldBe) {
  EXPECT_EQ(refusal("shm.queue_slots", "many"),
            "'many' is no value for parameter 'shm.queue_slots', which takes an integer from 16 to "
            "65536");
  EXPECT_EQ(refusal("shm.eager_bytes_max", "8Q"),
            "'8Q' is no value for parameter 'shm.eager_bytes_max', which takes a number of bytes "
            "from 64 to 1G");
  EXPECT_EQ(refusal("progress.policy", "sleep"),
            "'sleep' is no value for parameter 'progress.policy', which takes one of auto, poll, "
            "block");
  EXPECT_EQ(refusal("shm.single_copy", "TRUE!"),
            "'TRUE!' is no value for parameter 'shm.single_copy', which takes true or false");
  EXPECT_EQ(refusal("channel.peers_max", "-1"),
            "'-1' is no value for parameter 'channel.peers_max', which takes an integer of at "
            "least 0");
}

TEST_F(ParameterRegistryTest, RefusesMalformedAndOutOfRangeNumbersAndChangesNothing) {
  for (const char* text :
       {"", " 32", "32 ", "15", "65537", "0x20", "1e3", "99999999999999999999", "32K"})
    EXPECT_NE(refusal("shm.queue_slots", text), "accepted") << text;
  for (const char* text : {"8MB", "K", "2G", "-1", "18446744073709551615K", "1.5K"})
    EXPECT_NE(refusal("shm.eager_bytes_max", text), "accepted") << text;
  for (const char* text : {"nan", "inf", "0.99", "4.01", "2,5", ""})
    EXPECT_NE(refusal("channel.growth", text), "accepted") << text;
  EXPECT_EQ(settings.queue_slots, 1024);
  EXPECT_EQ(settings.eager_bytes_max, 64U << 10);
  EXPECT_EQ(settings.growth, 1.5);
  for (const ParameterDescription& parameter : registry.describe())
    EXPECT_EQ(parameter.source, ParameterSource::default_value) << parameter.name;
}

TEST_F(ParameterRegistryTest, SuffixesNeverOverflowTheMember) {
  std::int32_t small = 0;
  registry.add("small", &small, {.unit = "bytes"});
  EXPECT_TRUE(set("small", "1G").ok());
  EXPECT_EQ(small, 1 << 30);
  EXPECT_FALSE(set("small", "2G").ok());
  EXPECT_FALSE(set("small", "1T").ok());
  EXPECT_TRUE(set("small", "-1k").ok());
  EXPECT_EQ(small, -1024);
}

TEST_F(ParameterRegistryTest, HigherSourcesWinInAnyOrder) {
  EXPECT_TRUE(set("p2p.priority", "3", ParameterSource::command_line).ok());
  EXPECT_TRUE(set("p2p.priority", "1", ParameterSource::file).ok());
  EXPECT_EQ(settings.priority, 3);
  EXPECT_EQ(registry.find("p2p.priority")->source, ParameterSource::command_line);
  EXPECT_TRUE(set("p2p.priority", "4", ParameterSource::command_line).ok());
  EXPECT_EQ(settings.priority, 4);
  EXPECT_TRUE(set("p2p.priority", "5", ParameterSource::program).ok());
  EXPECT_EQ(settings.priority, 5);
  // Even a text that would not count has to be right.
  EXPECT_FALSE(set("p2p.priority", "eleven", ParameterSource::file).ok());
}

TEST_F(ParameterRegistryTest, DescribesDefaultAndCurrentValue) {
  EXPECT_TRUE(set("shm.eager_bytes_max", "131072").ok());
  const ParameterDescription eager = *registry.find("shm.eager_bytes_max");
  EXPECT_EQ(eager.default_text, "64K");
  EXPECT_EQ(eager.current_text, "128K");
  EXPECT_EQ(eager.origin, "somewhere");
  EXPECT_EQ(eager.type, "integer");
  EXPECT_EQ(eager.unit, "bytes");
  EXPECT_EQ(eager.environment_name, "HAWSER_SHM_EAGER_BYTES_MAX");
  const std::vector<ParameterDescription> all = registry.describe();
  ASSERT_EQ(all.size(), registry.size());
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].name, all[i].name);
  EXPECT_FALSE(registry.find("shm").has_value());
}

TEST_F(ParameterRegistryTest, PrintedValuesAreAccepted) {
  for (const ParameterDescription& parameter : registry.describe()) {
    EXPECT_TRUE(set(parameter.name, parameter.current_text).ok()) << parameter.name;
    EXPECT_EQ(registry.find(parameter.name)->current_text, parameter.current_text);
  }
}

TEST_F(ParameterRegistryTest, FindsParametersByTheirVariable) {
  EXPECT_EQ(registry.name_of_variable("HAWSER_SHM_QUEUE_SLOTS"), "shm.queue_slots");
  EXPECT_EQ(registry.name_of_variable("HAWSER_STATS"), "stats");
  EXPECT_FALSE(registry.name_of_variable("SHM_QUEUE_SLOTS").has_value());
  EXPECT_FALSE(registry.name_of_variable("HAWSER_shm_queue_slots").has_value());
}

TEST_F(ParameterRegistryTest, TakesValuesAsTheyAre) {
  const auto set_value = [&](std::string_view name, const ParameterValue& value) {
    return registry.set_value(name, value, ParameterSource::program, "a tool").ok();
  };
  EXPECT_TRUE(set_value("shm.single_copy", false));
  EXPECT_TRUE(set_value("p2p.priority", std::int32_t{10}));
  EXPECT_TRUE(set_value("channel.growth", 4.0));
  EXPECT_TRUE(set_value("progress.policy", std::string("poll")));
  EXPECT_FALSE(set_value("p2p.priority", std::int32_t{11}));
  EXPECT_FALSE(set_value("channel.growth", std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(set_value("progress.policy", std::string("sleep")));
  EXPECT_FALSE(set_value("xyzzy", false));
  EXPECT_FALSE(settings.single_copy);
  EXPECT_EQ(settings.priority, 10);
  EXPECT_EQ(settings.growth, 4.0);
  EXPECT_EQ(settings.policy, "poll");
  EXPECT_EQ(registry.value("p2p.priority"), ParameterValue(std::int32_t{10}));
  EXPECT_EQ(registry.value("progress.policy"), ParameterValue(std::string("poll")));
  EXPECT_FALSE(registry.value("xyzzy").has_value());
  EXPECT_EQ(registry.find("p2p.priority")->source, ParameterSource::program);
  EXPECT_EQ(registry.set_value("shm.queue_slots", std::int64_t{15}, ParameterSource::program)
                .error()
                .sentence(),
            "'15' is no value for parameter 'shm.queue_slots', which takes an integer from 16 to "
            "65536");
}

TEST_F(ParameterRegistryTest, TextsHaveALongestLength) {
  EXPECT_TRUE(set("stats", std::string(parameter_text_bytes_max, 'x')).ok());
  EXPECT_FALSE(set("stats", std::string(parameter_text_bytes_max + 1, 'x')).ok());
  EXPECT_EQ(registry.find("stats")->expected, "a text of at most 4095 bytes");
}

TEST_F(ParameterRegistryTest, OnlySomeParametersChangeAtRunTime) {
  std::string rules = "a";
  registry.add("channel.rules", &rules, {.handling = {.changes_at_run_time = true}});
  registry.begin_run();
  EXPECT_TRUE(set("channel.rules", "b").ok());
  EXPECT_EQ(rules, "b");
  const Result<void> refused = set("p2p.priority", "1");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), static_cast<int>(ErrorClass::t_cvar_set_not_now));
  EXPECT_EQ(refused.error().sentence(),
            "parameter 'p2p.priority' has to be set before MPI is initialised");
  EXPECT_EQ(settings.priority, -5);
}

TEST_F(ParameterRegistryTest, AListenerHearsOfChangesAndMayRefuse) {
  std::string rules = "a";
  std::vector<std::string> heard;
  registry.add("channel.rules", &rules, {.handling = {.changes_at_run_time = true}});
  registry.listen("channel.rules", [&]() -> Result<void> {
    heard.push_back(rules);
    if (rules == "bad") return Error(ErrorClass::arg, "a rule needs an arrow");
    return {};
  });
  EXPECT_TRUE(set("channel.rules", "b").ok());
  EXPECT_EQ(refusal("channel.rules", "bad"), "a rule needs an arrow");
  EXPECT_EQ(heard, (std::vector<std::string>{"b", "bad"}));
  EXPECT_EQ(rules, "b");
  EXPECT_TRUE(set("channel.rules", "c", ParameterSource::file).ok());
  EXPECT_EQ(heard.size(), 2U) << "a source that does not count is no change";
}

TEST_F(ParameterRegistryTest, MistakesOfAComponentAreBugs) {
  int value = 7;
  bool flag = false;
  EXPECT_DEATH(registry.add("Shm.queue", &flag, {}), "is_parameter_name");
  EXPECT_DEATH(registry.add("shm..queue", &flag, {}), "is_parameter_name");
  EXPECT_DEATH(registry.add("", &flag, {}), "is_parameter_name");
  EXPECT_DEATH(registry.add("shm.single.copy", &flag, {}), "name_of_variable");
  EXPECT_DEATH(registry.add("shm.value", &value, {.max = 6}), "max");
  EXPECT_DEATH(registry.listen("p2p.priority", {}), "changes_at_run_time");
}

}  // namespace
}  // namespace hawser::base
