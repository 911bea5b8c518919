#include "launcher/parameters.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"

namespace hawser::launcher {
namespace {

std::string refusal(const Options& options) {
  const Result<JobParameters> result = read_parameters(options);
  return result.ok() ? "" : result.error().sentence();
}

TEST(Parameters, WhatIsSetIsChecked) {
  Options options;
  options.programs.resize(2);
  options.settings = {"shm.queue_slots=64", "wait.yields=3"};
  EXPECT_EQ(refusal(options), "");
  options.settings.emplace_back("shm.queue_slot=5");
  EXPECT_NE(refusal(options).find("'shm.queue_slots'"), std::string::npos) << refusal(options);
  options.settings = {"wait.yields=often"};
  EXPECT_NE(refusal(options).find("'often'"), std::string::npos) << refusal(options);
}

TEST(Parameters, ProgressThreadsAreCountedWhereverTheyAreSet) {
  Options options;
  options.programs.resize(2);
  EXPECT_EQ(read_parameters(options)->busy_threads, 1U);
  options.programs[1].environment = {{"HAWSER_WAIT_PROGRESS", "thread"}};
  EXPECT_EQ(read_parameters(options)->busy_threads, 2U);
  options.settings = {"wait.progress=blocking"};
  EXPECT_EQ(read_parameters(options)->busy_threads, 1U) << "--set has the last word";
}

TEST(Parameters, VariablesOfEveryProgramAreChecked) {
  Options options;
  options.programs.resize(2);
  options.programs[1].environment = {{"HAWSER_WAIT_YIELD", "3"}};
  EXPECT_NE(refusal(options).find("'HAWSER_WAIT_YIELDS'"), std::string::npos) << refusal(options);
}

TEST(Parameters, AFileIsCheckedWhereItsProgramWillFindIt) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("wrong.toml", "wait.yield = 3");
  Options options;
  options.programs.resize(1);
  options.programs[0].environment = {{"HAWSER_CONFIG", path}};
  EXPECT_NE(refusal(options).find("wait.yields"), std::string::npos) << refusal(options);
  options.programs[0].directory = "elsewhere";
  EXPECT_EQ(refusal(options), "");
}

}  // namespace
}  // namespace hawser::launcher
