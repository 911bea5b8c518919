#include "tool/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "session/settings.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tool/statistics_json.hpp"

namespace hawser::tool {
namespace {

Statistics sample() {
  Statistics statistics;
  statistics.version = "0.1.0";
  statistics.self = {0xfedcba9876543210U, 3, 1};
  statistics.job_size = 4;
  statistics.host = "node17";
  statistics.pid = 4711;
  statistics.elapsed_ns = 1'500'000'000;
  statistics.peers = {{0, "shm_queue", {5, 40}, {6, UINT64_MAX}}, {3, "self", {1, 0}, {1, 0}}};
  statistics.connections = {{"rc_send", 2, 3, 5, 4, 1}};
  statistics.rails = {{"verbs.1", "port 2 of mlx5_0", 77}};
  statistics.sent_sizes.add_many(8, 5);
  statistics.sent_sizes.add(0);
  statistics.protocols = {{"eager", 6}};
  statistics.ledger = {{"segment", 4096, 8192}};
  statistics.sleeps = 7;
  statistics.wakes = 9;
  statistics.parameters = {{"stats", "a \"b\"", "", "environment HAWSER_STATS"}};
  return statistics;
}

TEST(StatisticsJson, IsOneLine) {
  EXPECT_EQ(
      to_json_line(sample()),
      "{\"format\":1,\"hawser\":\"0.1.0\",\"job\":\"fedcba9876543210\",\"rank\":3,\"epoch\":"
      "1,\"ranks\":4,\"host\":\"node17\",\"pid\":4711,\"elapsed_ns\":1500000000,\"peers\":[{"
      "\"peer\":0,\"channel\":\"shm_queue\",\"messages_sent\":5,\"bytes_sent\":40,"
      "\"messages_received\":6,\"bytes_received\":18446744073709551615},{\"peer\":3,"
      "\"channel\":\"self\",\"messages_sent\":1,\"bytes_sent\":0,\"messages_received\":1,"
      "\"bytes_received\":0}],\"connections\":[{\"channel\":\"rc_send\",\"now\":2,\"most\":3,"
      "\"opened\":5,\"used\":4,\"rested\":1}],\"rails\":[{\"transport\":\"verbs.1\",\"port\":"
      "\"port 2 of "
      "mlx5_0\",\"bytes_sent\":77}],\"sent_sizes\":[{\"from_bytes\":0,\"to_bytes\":0,\"messages\":"
      "1},{\"from_bytes\":8,\"to_bytes\":15,\"messages\":5}],\"protocols\":{\"eager\":6},"
      "\"ledger\":{\"segment\":{\"current_bytes\":4096,\"peak_bytes\":8192}},\"sleeps\":7,"
      "\"wakes\":9,\"parameters\":[{\"name\":\"stats\",\"value\":\"a \\\"b\\\"\",\"default\":"
      "\"\",\"source\":\"environment HAWSER_STATS\"}]}\n");
}

TEST(StatisticsJson, ReadsWhatItWrote) {
  for (const Statistics& statistics : {sample(), Statistics{}}) {
    const std::string line = to_json_line(statistics);
    const base::Result<Statistics> read = from_json_line(line);
    ASSERT_TRUE(read.ok()) << read.error().sentence();
    EXPECT_EQ(to_json_line(*read), line);
    EXPECT_EQ(read->self, statistics.self);
  }
}

TEST(StatisticsJson, NamesThatAreNotUtf8AreNoReasonToFail) {
  Statistics statistics = sample();
  statistics.host = "n\xff\n";
  const std::string line = to_json_line(statistics);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_TRUE(from_json_line(line).ok());
}

TEST(StatisticsJson, RefusesWhatIsNoRecord) {
  const std::string good = to_json_line(sample());
  EXPECT_EQ(from_json_line("").error().sentence(), "not a line of JSON");
  EXPECT_EQ(from_json_line(good.substr(0, 50)).error().sentence(), "not a line of JSON");
  EXPECT_EQ(from_json_line("{}").error().sentence(),
            "not a record of statistics: key 'format' not found");
  EXPECT_FALSE(from_json_line("[1]").ok());
  EXPECT_FALSE(from_json_line("3").ok());
  EXPECT_EQ(from_json_line("{\"format\":2}").error().sentence(),
            "not a record of statistics: its format is 2, this reader knows 1");
  std::string bad_job = good;
  bad_job.replace(bad_job.find("fedc"), 4, "xyzz");
  EXPECT_EQ(from_json_line(bad_job).error().sentence(),
            "not a record of statistics: 'job' is not a hexadecimal number");
  std::string bad_type = good;
  bad_type.replace(bad_type.find("4711"), 4, "\"pi\"");
  EXPECT_FALSE(from_json_line(bad_type).ok());
}

TEST(Statistics, ExpandsTheNameOfTheFile) {
  EXPECT_EQ(expand_file_pattern("stats.json", 3), "stats.json");
  EXPECT_EQ(expand_file_pattern("stats.%r.json", 12), "stats.12.json");
  EXPECT_EQ(expand_file_pattern("%r%r", 1), "11");
  EXPECT_EQ(expand_file_pattern("%%r", 1), "%r");
  EXPECT_EQ(expand_file_pattern("50%", 1), "50%");
  EXPECT_EQ(expand_file_pattern("%x", 1), "%x");
}

TEST(Statistics, AppendsOneLinePerProcess) {
  const test::TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.path();
  Statistics statistics = sample();
  for (std::uint32_t index = 0; index < 3; ++index) {
    statistics.self.index = index;
    EXPECT_TRUE(write_statistics(statistics, (folder / "all").string()).ok());
    EXPECT_TRUE(write_statistics(statistics, (folder / "rank%r").string()).ok());
  }
  std::ifstream all(folder / "all");
  std::uint32_t lines = 0;
  for (std::string line; std::getline(all, line); ++lines)
    EXPECT_EQ(from_json_line(line)->self.index, lines);
  EXPECT_EQ(lines, 3U);
  EXPECT_TRUE(std::filesystem::exists(folder / "rank2"));
}

TEST(Statistics, TakesParametersThatDifferFromTheirDefault) {
  session::Settings settings;
  base::ParameterRegistry registry;
  session::register_all_parameters(registry, settings);
  EXPECT_TRUE(changed_parameters(registry).empty());
  ASSERT_TRUE(registry.set("stats", "x", base::ParameterSource::environment, "HAWSER_STATS").ok());
  const std::vector<ChangedParameter> changed = changed_parameters(registry);
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0].name, "stats");
  EXPECT_EQ(changed[0].value, "x");
  EXPECT_EQ(changed[0].source, "environment HAWSER_STATS");
}

TEST(Statistics, KnowsThisProcess) {
  const Statistics statistics = start_statistics();
  EXPECT_EQ(statistics.pid, getpid());
  EXPECT_FALSE(statistics.host.empty());
  EXPECT_FALSE(statistics.version.empty());
}

}  // namespace
}  // namespace hawser::tool
