#include "launcher/verdict.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace hawser::launcher {
namespace {

using Cause = Verdict::Cause;

const std::string rank_3 = name_of_rank(3, "./prog", 123, "HOST");

TEST(Verdict, EachCauseHasItsSentenceAndCode) {
  struct Case {
    Verdict verdict;
    int code;
    std::string sentence;
  };
  const Case cases[] = {
      {{Cause::died_of_signal, 3, SIGSEGV},
       139,
       "rank 3 (./prog, pid 123 on HOST) died of signal 11 (Segmentation fault)"},
      {{Cause::exited, 3, 3}, 3, "rank 3 (./prog, pid 123 on HOST) exited with code 3"},
      {{Cause::not_finalized, 3},
       1,
       "rank 3 (./prog, pid 123 on HOST) exited without calling MPI_Finalize"},
      {{Cause::aborted, 3, 7, "no more bread"},
       7,
       "rank 3 (./prog, pid 123 on HOST) called MPI_Abort with code 7: no more bread"},
      {{Cause::aborted, 3, 256},
       1,
       "rank 3 (./prog, pid 123 on HOST) called MPI_Abort with code 256"},
      {{Cause::interrupted, 3, SIGINT}, 130, "the job was ended by signal 2 (Interrupt)"},
      {{Cause::timed_out, 0, 0, "1.5"},
       124,
       "the job was still running after 1.5 s (--timeout) and was ended"},
      {{Cause::output_closed}, 141, ""},
  };
  for (const Case& expected : cases) {
    EXPECT_EQ(exit_code_of(expected.verdict), expected.code) << expected.sentence;
    EXPECT_EQ(sentence_of(expected.verdict, rank_3), expected.sentence);
  }
}

TEST(Verdict, AnUnknownSignalHasANumber) {
  EXPECT_NE(sentence_of({Cause::died_of_signal, 3, 63}, rank_3).find("signal 63"),
            std::string::npos);
}

TEST(Verdict, ASentenceFromSharedMemoryStaysOneHarmlessLine) {
  EXPECT_EQ(sentence_of({Cause::aborted, 3, 1, "a\nb\x1b[31mc\n"}, "rank 3"),
            "rank 3 called MPI_Abort with code 1: a b [31mc");
}

TEST(Verdict, ProgramsThatCannotBeStarted) {
  EXPECT_EQ(exit_code_of(not_executable("prog", "", ENOENT)), 127);
  EXPECT_EQ(sentence_of(not_executable("prog", "", ENOENT), ""),
            "the program 'prog' was not found in PATH");
  EXPECT_EQ(sentence_of(not_executable("./prog", "/d", ENOENT), ""),
            "the program './prog' in /d cannot be started: No such file or directory");
  EXPECT_EQ(exit_code_of(not_executable("./prog", "", EACCES)), 126);
}

}  // namespace
}  // namespace hawser::launcher
