#include "hawser/doctor.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <set>

namespace hawser::tools {
namespace {

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  return std::distance(begin(descriptors), end(descriptors));
}

TEST(Doctor, FindsThisMachineFitAndLeavesNothingBehind) {
  const std::ptrdiff_t before = open_descriptors();
  const std::vector<Finding> findings = examine_machine();
  EXPECT_EQ(doctor_exit_code(findings), 0) << doctor_text(findings);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
}

TEST(Doctor, EveryCheckHasANameOfItsOwnAndASentence) {
  std::set<std::string> names;
  for (const Finding& finding : examine_machine()) {
    EXPECT_TRUE(names.insert(finding.check).second) << finding.check;
    EXPECT_TRUE(finding.sentence.ends_with('.')) << finding.sentence;
    EXPECT_TRUE(finding.cure.empty() || finding.cure.ends_with('.')) << finding.cure;
    if (finding.verdict == Verdict::ok) {
      EXPECT_TRUE(finding.cure.empty()) << finding.check;
    }
  }
}

TEST(Doctor, OneLinePerCheckAndASummary) {
  const Finding good = {Verdict::ok, "futex", "works."};
  const Finding weak = {Verdict::warn, "cores", "few.", "buy more."};
  const Finding bad = {Verdict::fail, "memory", "none.", "buy some."};
  EXPECT_EQ(doctor_text({good}),
            "OK    futex                  works.\n\nHawser runs here at its best.\n");
  EXPECT_EQ(doctor_text({good, weak}),
            "OK    futex                  works.\nWARN  cores                  few. Cure: buy more."
            "\n\nHawser runs here; 1 of 2 checks warn.\n");
  EXPECT_EQ(doctor_text({weak, bad}),
            "WARN  cores                  few. Cure: buy more.\nFAIL  memory                 none. "
            "Cure: buy some.\n\n1 of 2 checks failed: programs of several ranks do not run here."
            "\n");
  EXPECT_EQ(doctor_exit_code({good, weak}), 0);
  EXPECT_EQ(doctor_exit_code({good, weak, bad}), 1);
}

}  // namespace
}  // namespace hawser::tools
