// What the programs about the tools interface (MPI_T) share: indices by name, texts with their
// length, handles that were never given out, and a counter in a session of its own.
//
// The interface must be initialised; a failed check ends the job (check.hpp).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

namespace multirank {

/// A number that no function returns.
constexpr int garbage = 0x7eadbee;

constexpr int text_room = 512;

/// A string result.
struct Text {
  char text[text_room] = "untouched";
  int length = text_room;
};

/// A handle that was never given out.
template <class Handle>
Handle never_given() {
  Handle handle{};
  const std::uintptr_t raw = 0x123456789abc;
  std::memcpy(&handle, &raw, sizeof(handle));
  return handle;
}

inline void check_text(const Text& text, const char* what) {
  check_equal(text.length, std::strlen(text.text) + 1, what);
  check(text.length > 1, what);
}

inline int cvar_index(const char* name) {
  int index = -1;
  check_equal(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS, name);
  return index;
}

inline int pvar_index(const char* name, int var_class) {
  int index = -1;
  check_equal(MPI_T_pvar_get_index(name, var_class, &index), MPI_SUCCESS, name);
  return index;
}

/// One counter in a session of its own.
class Counter {
 public:
  Counter(const std::string& name, int var_class) {
    check_equal(MPI_T_pvar_session_create(&session_), MPI_SUCCESS, "create a session");
    int count = 0;
    check_equal(MPI_T_pvar_handle_alloc(session_, pvar_index(name.c_str(), var_class), nullptr,
                                        &handle_, &count),
                MPI_SUCCESS, name.c_str());
    values_.resize(count);
  }
  ~Counter() {
    check_equal(MPI_T_pvar_handle_free(session_, &handle_), MPI_SUCCESS, "free a handle");
    check(handle_ == MPI_T_PVAR_HANDLE_NULL, "a freed handle is the null handle");
    check_equal(MPI_T_pvar_session_free(&session_), MPI_SUCCESS, "free a session");
    check(session_ == MPI_T_PVAR_SESSION_NULL, "a freed session is the null handle");
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void start() { check_equal(MPI_T_pvar_start(session_, handle_), MPI_SUCCESS, "start"); }
  void stop() { check_equal(MPI_T_pvar_stop(session_, handle_), MPI_SUCCESS, "stop"); }
  void reset() { check_equal(MPI_T_pvar_reset(session_, handle_), MPI_SUCCESS, "reset"); }
  void write(std::uint64_t value) {
    check_equal(MPI_T_pvar_write(session_, handle_, &value), MPI_SUCCESS, "write");
  }
  std::uint64_t read(int element = 0) {
    check_equal(MPI_T_pvar_read(session_, handle_, values_.data()), MPI_SUCCESS, "read");
    return values_[element];
  }
  std::uint64_t read_and_reset() {
    check_equal(MPI_T_pvar_readreset(session_, handle_, values_.data()), MPI_SUCCESS, "readreset");
    return values_[0];
  }
  [[nodiscard]] int elements() const { return static_cast<int>(values_.size()); }

 private:
  MPI_T_pvar_session session_ = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle handle_ = MPI_T_PVAR_HANDLE_NULL;
  std::vector<std::uint64_t> values_;
};

}  // namespace multirank
