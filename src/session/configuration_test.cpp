#include "session/configuration.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace hawser::session {
namespace {

class ConfigurationTest : public ::testing::Test {
 protected:
  ConfigurationTest() {
    registry.add("shm.queue_slots", &queue_slots, {.min = 16, .max = 65536});
    registry.add("shm.ring.bytes", &ring_bytes, {.unit = "bytes"});
    registry.add("shm.single_copy", &single_copy, {});
    registry.add("channel.growth", &growth, {});
    registry.add("stats", &stats, {});
  }

  base::Result<void> load(const std::vector<std::string>& variables) {
    std::vector<const char*> environment;
    for (const std::string& variable : variables) environment.push_back(variable.c_str());
    environment.push_back(nullptr);
    return load_configuration(registry, environment.data());
  }
  std::string refusal(const std::vector<std::string>& variables) {
    const base::Result<void> result = load(variables);
    return result.ok() ? "accepted" : result.error().sentence();
  }
  /// The refusal of a file with TEXT, without the file's path.
  std::string refusal_of_file(const std::string& text) {
    const std::string path = folder.write("hawser.toml", text);
    const std::string sentence = refusal({"HAWSER_CONFIG=" + path});
    return sentence.starts_with(path) ? sentence.substr(path.size()) : "no path: " + sentence;
  }

  const test::TemporaryFolder folder;
  std::int64_t queue_slots = 1024;
  std::uint64_t ring_bytes = 4096;
  bool single_copy = true;
  double growth = 1.5;
  std::string stats;
  base::ParameterRegistry registry;
};

TEST_F(ConfigurationTest, NothingSetIsFine) {
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_EQ(refusal({"PATH=/bin", "HOME=/nonexistent", "HAWSER", "XHAWSER_FOO=1"}), "accepted");
  EXPECT_EQ(queue_slots, 1024);
}

TEST_F(ConfigurationTest, ReadsTablesAsWordsOfNames) {
  const std::string path =
      folder.write("a.toml",
                   "stats = 'out.json'\nchannel.growth = 2.0\n[shm]\nqueue_slots = 64"
                   "\nsingle_copy = false\n[shm.ring]\nbytes = '8M'\n");
  ASSERT_EQ(refusal({"HAWSER_CONFIG=" + path}), "accepted");
  EXPECT_EQ(stats, "out.json");
  EXPECT_EQ(growth, 2.0);
  EXPECT_EQ(queue_slots, 64);
  EXPECT_FALSE(single_copy);
  EXPECT_EQ(ring_bytes, 8U << 20);
  EXPECT_EQ(registry.find("shm.queue_slots")->source, base::ParameterSource::file);
  EXPECT_EQ(registry.find("shm.queue_slots")->origin, path + ":4");
}

TEST_F(ConfigurationTest, FindsTheFileInTheUsersFolders) {
  folder.write("xdg/hawser.toml", "shm.queue_slots = 100");
  folder.write("home/.config/hawser.toml", "shm.queue_slots = 200");
  const std::string xdg = "XDG_CONFIG_HOME=" + (folder.path() / "xdg").string();
  const std::string home = "HOME=" + (folder.path() / "home").string();
  EXPECT_TRUE(load({home}).ok());
  EXPECT_EQ(queue_slots, 200);
  EXPECT_TRUE(load({home, xdg}).ok());
  EXPECT_EQ(queue_slots, 100);
  queue_slots = 1;
  EXPECT_TRUE(load({home, xdg, "HAWSER_CONFIG="}).ok());
  EXPECT_EQ(queue_slots, 1);
}

TEST_F(ConfigurationTest, LaterSourcesWin) {
  const std::string config = "HAWSER_CONFIG=" + folder.write("a.toml", "shm.queue_slots = 100");
  EXPECT_TRUE(load({"HAWSER_SHM_QUEUE_SLOTS=200", config}).ok());
  EXPECT_EQ(queue_slots, 200);
  EXPECT_EQ(registry.find("shm.queue_slots")->origin, "HAWSER_SHM_QUEUE_SLOTS");
  EXPECT_TRUE(load({"HAWSER_SET=shm.queue_slots=300\nstats=a=b", config}).ok());
  EXPECT_EQ(queue_slots, 300);
  EXPECT_EQ(stats, "a=b");
  EXPECT_EQ(registry.find("shm.queue_slots")->source, base::ParameterSource::command_line);
}

TEST_F(ConfigurationTest, EveryReservedVariableIsAccepted) {
  for (const ReservedVariable& entry : reserved_variables()) {
    EXPECT_EQ(refusal({std::string(entry.name) + "="}), "accepted") << entry.name;
    EXPECT_FALSE(entry.sentence.empty()) << entry.name;
  }
}

TEST_F(ConfigurationTest, RefusesUnknownAndMalformedVariables) {
  EXPECT_EQ(refusal({"HAWSER_SHM_QUEUE_SLOT=64"}),
            "the environment variable HAWSER_SHM_QUEUE_SLOT names no parameter; did you mean "
            "'HAWSER_SHM_QUEUE_SLOTS'?");
  EXPECT_EQ(refusal({"HAWSER_CONFG=x"}),
            "the environment variable HAWSER_CONFG names no parameter; did you mean "
            "'HAWSER_CONFIG'?");
  EXPECT_EQ(refusal({"HAWSER_SHM_QUEUE_SLOTS=few"}),
            "environment variable HAWSER_SHM_QUEUE_SLOTS: 'few' is no value for parameter "
            "'shm.queue_slots', which takes an integer from 16 to 65536");
}

TEST_F(ConfigurationTest, RefusesUnknownAndMalformedSettingsOfTheCommandLine) {
  EXPECT_EQ(refusal({"HAWSER_SET=stats=x\nshm.queue_slots"}),
            "mpirun --set shm.queue_slots: there is no '='; write name=value");
  EXPECT_EQ(refusal({"HAWSER_SET=shm.queue_slot=5"}),
            "mpirun --set shm.queue_slot=5: there is no parameter 'shm.queue_slot'; did you mean "
            "'shm.queue_slots'?");
  EXPECT_EQ(refusal({"HAWSER_SET=shm.queue_slots=5"}),
            "mpirun --set shm.queue_slots=5: '5' is no value for parameter 'shm.queue_slots', "
            "which takes an integer from 16 to 65536");
}

TEST_F(ConfigurationTest, RefusesWhatIsWrongInAFileWithItsLine) {
  EXPECT_EQ(refusal_of_file("\n[shm]\nqueue_slot = 64\n"),
            ":3: there is no parameter 'shm.queue_slot'; did you mean 'shm.queue_slots'?");
  EXPECT_EQ(refusal_of_file("[shm]\nqueue_slots = 5\n"),
            ":2: '5' is no value for parameter 'shm.queue_slots', which takes an integer from 16 "
            "to 65536");
  EXPECT_EQ(refusal_of_file("[shm]\nqueue_slots = 64.0\n"),
            ":2: '64.0' is no value for parameter 'shm.queue_slots', which takes an integer from "
            "16 to 65536");
  EXPECT_EQ(refusal_of_file("[shm]\nqueue_slots = [64]\n"),
            ":2: the value of 'shm.queue_slots' is neither a text, a number nor true or false");
  EXPECT_TRUE(refusal_of_file("[shm]\nqueue_slots 64\n").starts_with(":2: "));
}

TEST_F(ConfigurationTest, RefusesAFileThatIsNamedButCannotBeRead) {
  EXPECT_EQ(refusal({"HAWSER_CONFIG=/nonexistent/x.toml"}),
            "the configuration file '/nonexistent/x.toml' cannot be read: No such file or "
            "directory");
  EXPECT_EQ(
      refusal({"HAWSER_CONFIG=" + folder.path().string()}),
      "the configuration file '" + folder.path().string() + "' cannot be read: Is a directory");
}

}  // namespace
}  // namespace hawser::session
