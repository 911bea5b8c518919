#include "session/bootstrap_choice.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace hawser::session {
namespace {

TEST(BootstrapChoice, TheNearestLauncherComesFirst) {
  LauncherMarks marks{.local = true, .pmix = true, .pmi = true, .slurm_tasks = 4};
  EXPECT_EQ(*choose_bootstrap("auto", marks), BootstrapKind::local);
  marks.local = false;
  EXPECT_EQ(*choose_bootstrap("auto", marks), BootstrapKind::pmix);
  marks.pmix = false;
  EXPECT_EQ(*choose_bootstrap("auto", marks), BootstrapKind::pmi);
  EXPECT_EQ(*choose_bootstrap("auto", {}), BootstrapKind::alone);
}

TEST(BootstrapChoice, WhatIsWantedIsTakenOrMissed) {
  const LauncherMarks all{.local = true, .pmix = true, .pmi = true, .slurm_tasks = 4};
  EXPECT_EQ(*choose_bootstrap("local", all), BootstrapKind::local);
  EXPECT_EQ(*choose_bootstrap("pmix", all), BootstrapKind::pmix);
  EXPECT_EQ(*choose_bootstrap("pmi", all), BootstrapKind::pmi);
  EXPECT_EQ(*choose_bootstrap("none", all), BootstrapKind::alone);
  for (const char* wanted : {"local", "pmix", "pmi"}) {
    const auto missing = choose_bootstrap(wanted, {});
    ASSERT_FALSE(missing.ok());
    EXPECT_NE(missing.error().sentence().find(wanted), std::string::npos);
  }
}

TEST(BootstrapChoice, TasksOfSrunThatFindNobodyAreToldWhatToDo) {
  const auto refused = choose_bootstrap("auto", {.slurm_tasks = 2});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().sentence().find("srun --mpi=pmix"), std::string::npos);
  EXPECT_EQ(*choose_bootstrap("auto", {.slurm_tasks = 1}), BootstrapKind::alone);
  EXPECT_EQ(*choose_bootstrap("none", {.slurm_tasks = 2}), BootstrapKind::alone);
}

/// Variables that are there for the length of a test.
class Environment {
 public:
  explicit Environment(std::vector<std::string> names) : names_(std::move(names)) {
    for (const std::string& name : names_) ::setenv(name.c_str(), "4", 1);
  }
  ~Environment() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::string> names_;
};

TEST(BootstrapChoice, MarksAreReadFromTheEnvironment) {
  EXPECT_FALSE(read_launcher_marks().pmix);
  {
    const Environment half({"PMIX_NAMESPACE"});
    EXPECT_FALSE(read_launcher_marks().pmix);
  }
  const Environment whole({"PMIX_NAMESPACE", "PMIX_SERVER_URI41", "PMI_FD", "HAWSER_JOB_FD"});
  const LauncherMarks marks = read_launcher_marks();
  EXPECT_TRUE(marks.pmix && marks.pmi && marks.local);
}

TEST(BootstrapChoice, AScriptOfSbatchIsNoTask) {
  const Environment script({"SLURM_NTASKS", "SLURM_PROCID", "SLURM_JOB_ID"});
  EXPECT_EQ(read_launcher_marks().slurm_tasks, 0);
  const Environment task({"SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID"});
  EXPECT_EQ(read_launcher_marks().slurm_tasks, 4);
}

TEST(BootstrapChoice, NobodysProcessIsAJobOfOne) {
  const auto alone = connect_bootstrap("auto");
  ASSERT_TRUE(alone.ok()) << alone.error().sentence();
  EXPECT_EQ((*alone)->placement().size, 1U);
  EXPECT_FALSE(connect_bootstrap("pmi").ok());
}

}  // namespace
}  // namespace hawser::session
