// Verdict: why a job ended other than well, as one sentence and one exit code.
//
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hawser::launcher {

struct Verdict {
  enum class Cause : std::uint8_t {
    died_of_signal,  // value: the signal
    exited,          // value: the code
    not_finalized,   // exited with 0 between MPI_Init and MPI_Finalize
    aborted,         // value: the code; detail: the sentence of MPI_Abort
    interrupted,     // by a signal to mpirun; value: the signal
    timed_out,       // detail: the seconds
    not_started,     // value: the exit code; detail: the whole sentence
    output_closed,   // nobody reads our output any more
  };
  Cause cause;
  std::uint32_t rank = 0;
  int value = 0;
  std::string detail = {};
};

/// What mpirun exits with.
int exit_code_of(const Verdict& verdict);

/// The sentence, without "mpirun: " and without an end of line; empty if there is nothing to say.
/// RANK_NAME is what name_of_rank() made of the verdict's rank.
std::string sentence_of(const Verdict& verdict, std::string_view rank_name);

/// "rank 3 (./prog, pid 123 on HOST)".
std::string name_of_rank(std::uint32_t rank, std::string_view program, int pid,
                         std::string_view host);

/// Why PROGRAM could not be started in DIRECTORY (empty: here), from the error number of exec.
Verdict not_executable(std::string_view program, std::string_view directory, int error_number);

}  // namespace hawser::launcher
