#include "hawser/info.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "session/version.hpp"

namespace hawser::tools {
namespace {

class InfoTest : public ::testing::Test {
 protected:
  InfoTest() {
    registry.add("shm.queue_slots", &slots,
                 {.sentence = "Slots of the queue.", .unit = "slots", .min = 16, .max = 65536});
    registry.add("stats", &file,
                 {.sentence = "A file.",
                  .handling = {.scope = base::ParameterScope::job, .changes_at_run_time = true}});
    EXPECT_TRUE(registry
                    .set("shm.queue_slots", "64", base::ParameterSource::environment,
                         "HAWSER_SHM_QUEUE_SLOTS")
                    .ok());
    information = {{{"self", "transport", true, "to itself"}, {"tcp", "transport", false, "no"}},
                   registry.describe()};
  }

  std::int64_t slots = 1024;
  std::string file;
  base::ParameterRegistry registry;
  Information information;
};

TEST_F(InfoTest, ShowsComponentsAndParameters) {
  EXPECT_EQ(info_text(information, false), "Hawser " + std::string(session::version()) +
                                               R"(, MPI 5.0, ABI 1.0 (libmpi_abi.so.1)

Components
  component  kind       usable  why
  self       transport  yes     to itself
  tcp        transport  no      no

Parameters
  shm.queue_slots = 64 slots  (integer, default 1024, from environment HAWSER_SHM_QUEUE_SLOTS)
      Slots of the queue.
  stats = ''  (text, the default)
      A file.
)");
}

TEST_F(InfoTest, AllAddsBoundsAndVariables) {
  const std::string text = info_text(information, true);
  EXPECT_NE(text.find("      Takes an integer from 16 to 65536; environment variable "
                      "HAWSER_SHM_QUEUE_SLOTS.\n"),
            std::string::npos);
  EXPECT_NE(text.find("environment variable HAWSER_STATS. The same for all ranks of a job. May "
                      "change at run time.\n"),
            std::string::npos);
  EXPECT_NE(text.find("HAWSER_CONFIG"), std::string::npos);
}

TEST_F(InfoTest, JsonHasEverything) {
  const auto document = nlohmann::json::parse(info_json(information));
  EXPECT_EQ(document.at("version"), session::version());
  EXPECT_EQ(document.at("components").size(), 2U);
  EXPECT_EQ(document.at("components")[0].at("usable"), true);
  const auto& slots_parameter = document.at("parameters")[0];
  EXPECT_EQ(slots_parameter.at("name"), "shm.queue_slots");
  EXPECT_EQ(slots_parameter.at("value"), "64");
  EXPECT_EQ(slots_parameter.at("default"), "1024");
  EXPECT_EQ(slots_parameter.at("source"), "environment");
  EXPECT_EQ(slots_parameter.at("variable"), "HAWSER_SHM_QUEUE_SLOTS");
  EXPECT_EQ(slots_parameter.at("scope"), "process");
  EXPECT_EQ(slots_parameter.at("changes_at_run_time"), false);
  EXPECT_EQ(document.at("parameters")[1].at("scope"), "job");
}

}  // namespace
}  // namespace hawser::tools
