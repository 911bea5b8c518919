// What the programs of this folder share: MPI for the length of main(), checks that end the job
// with a sentence, and bytes that tell who sent them.
//
// Threads: any; a failed check ends the whole job from whichever thread finds it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace multirank {

using Bytes = std::vector<unsigned char>;

[[noreturn]] inline void fail(const std::string& sentence, const std::source_location& where) {
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "%s:%u: rank %d: %s\n", where.file_name(), where.line(), rank,
               sentence.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

inline void check(bool condition, const char* sentence,
                  const std::source_location& where = std::source_location::current()) {
  if (!condition) fail(sentence, where);
}

template <typename Got, typename Want>
void check_equal(Got got, Want want, const char* what,
                 const std::source_location& where = std::source_location::current()) {
  if (std::cmp_equal(got, want)) return;
  fail(std::string(what) + " is " + std::to_string(got) + ", not " + std::to_string(want), where);
}

/// ERROR is what an MPI function returned under MPI_ERRORS_RETURN.
inline void check_class(int error, int wanted, const char* what,
                        const std::source_location& where = std::source_location::current()) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(error, &error_class);
  check_equal(error_class, wanted, what, where);
}

/// Byte I of the message SEED; neighbouring seeds and shifted copies differ.
inline unsigned char pattern(int seed, std::size_t i) {
  return static_cast<unsigned char>(static_cast<std::size_t>(seed) * 37 + i * 11 + (i >> 7));
}

inline Bytes patterned(int seed, int size) {
  Bytes bytes(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(seed, i);
  return bytes;
}

inline void check_pattern(const Bytes& bytes, int seed, int size, const char* what,
                          const std::source_location& where = std::source_location::current()) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
    if (bytes[i] == pattern(seed, i)) continue;
    fail(std::string(what) + ": byte " + std::to_string(i) + " of " + std::to_string(size) +
             " is wrong",
         where);
  }
}

inline void check_status(const MPI_Status& status, int source, int tag, int bytes, const char* what,
                         const std::source_location& where = std::source_location::current()) {
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  check_equal(status.MPI_SOURCE, source, (std::string(what) + ": source").c_str(), where);
  check_equal(status.MPI_TAG, tag, (std::string(what) + ": tag").c_str(), where);
  check_equal(count, bytes, (std::string(what) + ": bytes").c_str(), where);
}

inline int rank_in(MPI_Comm comm) {
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

inline int size_of(MPI_Comm comm) {
  int size = -1;
  MPI_Comm_size(comm, &size);
  return size;
}

inline int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// MPI from here to the end of main().
class Mpi {
 public:
  explicit Mpi(int wanted = MPI_THREAD_SINGLE) {
    int provided = -1;
    MPI_Init_thread(nullptr, nullptr, wanted, &provided);
    check(provided >= wanted, "the level of thread support is too low");
  }
  ~Mpi() { MPI_Finalize(); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
};

/// One line by rank 0 once every rank has come here.
inline void passed(const char* what) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("%s: passed\n", what);
}

}  // namespace multirank
