// Misuse of the tools interface (MPI_T): wrong indices, names, handles and places, short strings,
// and what a variable can not do, each of them an error code and never a crash; before, while and
// after MPI is initialised.
#include <cstdint>
#include <cstring>

#include "tool_checks.hpp"

namespace {

using multirank::check;
using multirank::check_equal;
using multirank::cvar_index;
using multirank::garbage;
using multirank::never_given;
using multirank::pvar_index;

void test_strings() {
  const int index = cvar_index("wait.spin_us");
  const auto get = [index](char* name, int* length) {
    check_equal(MPI_T_cvar_get_info(index, name, length, nullptr, nullptr, nullptr, nullptr,
                                    nullptr, nullptr, nullptr),
                MPI_SUCCESS, "cvar_get_info");
  };
  char name[16] = "untouched";
  int length = 5;
  get(name, &length);
  check(std::strcmp(name, "wait") == 0, "a string is cut to its room");
  check_equal(length, 13, "length of a string that was cut");
  length = 1;
  get(name, &length);
  check(name[0] == '\0' && name[1] == 'a', "room for the end alone");
  length = 0;
  name[0] = 'x';
  get(name, &length);
  check(name[0] == 'x', "no room at all");
  check_equal(length, 13, "length without room");
  length = 99;
  get(nullptr, &length);
  check_equal(length, 13, "length without a place");
  get(name, nullptr);
  check(name[0] == 'x', "a place without a length");
  length = 13;
  get(name, &length);
  check(std::strcmp(name, "wait.spin_us") == 0, "exact room");
}

void test_wrong_indices() {
  for (const int index : {-1, garbage}) {
    MPI_T_cvar_handle cvar = MPI_T_CVAR_HANDLE_NULL;
    int number = 0;
    check_equal(MPI_T_cvar_get_info(index, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                    nullptr, nullptr, nullptr),
                MPI_T_ERR_INVALID_INDEX, "cvar_get_info");
    check_equal(MPI_T_cvar_handle_alloc(index, nullptr, &cvar, &number), MPI_T_ERR_INVALID_INDEX,
                "cvar_handle_alloc");
    check_equal(MPI_T_pvar_get_info(index, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                    nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
                MPI_T_ERR_INVALID_INDEX, "pvar_get_info");
    check_equal(MPI_T_category_get_info(index, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                        nullptr),
                MPI_T_ERR_INVALID_INDEX, "category_get_info");
    check_equal(MPI_T_category_get_cvars(index, 1, &number), MPI_T_ERR_INVALID_INDEX, "get_cvars");
    check_equal(MPI_T_category_get_pvars(index, 1, &number), MPI_T_ERR_INVALID_INDEX, "get_pvars");
    check_equal(MPI_T_category_get_categories(index, 1, &number), MPI_T_ERR_INVALID_INDEX,
                "get_categories");
    check_equal(MPI_T_category_get_events(index, 1, &number), MPI_T_ERR_INVALID_INDEX,
                "get_events");
    check_equal(MPI_T_category_get_num_events(index, &number), MPI_T_ERR_INVALID_INDEX,
                "get_num_events");
  }
}

void test_wrong_names_and_places() {
  int number = 0;
  check_equal(MPI_T_cvar_get_index("shm", &number), MPI_T_ERR_INVALID_NAME, "cvar_get_index");
  check_equal(MPI_T_pvar_get_index("wait.sleeps", MPI_T_PVAR_CLASS_LEVEL, &number),
              MPI_T_ERR_INVALID_NAME, "another class");
  check_equal(MPI_T_category_get_index("", &number), MPI_T_ERR_INVALID_NAME, "category_get_index");
  check_equal(MPI_T_cvar_get_index(nullptr, &number), MPI_T_ERR_INVALID, "no name");
  check_equal(MPI_T_cvar_get_index("stats", nullptr), MPI_T_ERR_INVALID, "no place");
  check_equal(MPI_T_cvar_get_num(nullptr), MPI_T_ERR_INVALID, "no place");
  check_equal(MPI_T_pvar_get_num(nullptr), MPI_T_ERR_INVALID, "no place");
  check_equal(MPI_T_category_get_cvars(0, -1, &number), MPI_T_ERR_INVALID, "a negative length");
  check_equal(MPI_T_category_get_cvars(0, 1, nullptr), MPI_T_ERR_INVALID, "no array");
  check_equal(MPI_T_category_get_cvars(0, 0, nullptr), MPI_SUCCESS, "no array is wanted");
  check_equal(MPI_T_pvar_session_create(nullptr), MPI_T_ERR_INVALID, "no place");
  check_equal(MPI_T_cvar_handle_free(nullptr), MPI_T_ERR_INVALID, "no place");
}

void test_wrong_control_handles() {
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  char value[4096] = "";
  check_equal(MPI_T_cvar_handle_alloc(cvar_index("stats"), nullptr, &handle, &count), MPI_SUCCESS,
              "handle_alloc");
  check_equal(count, 4096, "room of a text");
  check_equal(MPI_T_cvar_read(handle, nullptr), MPI_T_ERR_INVALID, "no buffer");
  check_equal(MPI_T_cvar_write(handle, nullptr), MPI_T_ERR_INVALID, "no buffer");
  MPI_T_cvar_handle freed = handle;
  check_equal(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS, "handle_free");
  for (MPI_T_cvar_handle wrong :
       {freed, MPI_T_CVAR_HANDLE_NULL, never_given<MPI_T_cvar_handle>()}) {
    check_equal(MPI_T_cvar_read(wrong, value), MPI_T_ERR_INVALID_HANDLE, "read");
    check_equal(MPI_T_cvar_write(wrong, value), MPI_T_ERR_INVALID_HANDLE, "write");
    check_equal(MPI_T_cvar_handle_free(&wrong), MPI_T_ERR_INVALID_HANDLE, "free");
  }
  for (const MPI_T_enum wrong : {MPI_T_ENUM_NULL, never_given<MPI_T_enum>()}) {
    check_equal(MPI_T_enum_get_info(wrong, &count, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE,
                "enum_get_info");
    check_equal(MPI_T_enum_get_item(wrong, 0, &count, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE,
                "enum_get_item");
  }
}

/// What every function on a performance handle says of SESSION and HANDLE.
void check_refused(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int wanted,
                   const char* what) {
  std::uint64_t values[65] = {};
  check_equal(MPI_T_pvar_read(session, handle, values), wanted, what);
  check_equal(MPI_T_pvar_write(session, handle, values), wanted, what);
  check_equal(MPI_T_pvar_readreset(session, handle, values), wanted, what);
  if (handle != MPI_T_PVAR_ALL_HANDLES) {
    check_equal(MPI_T_pvar_start(session, handle), wanted, what);
    check_equal(MPI_T_pvar_stop(session, handle), wanted, what);
    check_equal(MPI_T_pvar_reset(session, handle), wanted, what);
  }
  check_equal(MPI_T_pvar_handle_free(session, &handle), wanted, what);
}

void test_wrong_performance_handles() {
  MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_session other = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  int count = 0;
  const int index = pvar_index("wait.sleeps", MPI_T_PVAR_CLASS_COUNTER);
  check_equal(MPI_T_pvar_session_create(&session), MPI_SUCCESS, "session_create");
  check_equal(MPI_T_pvar_session_create(&other), MPI_SUCCESS, "session_create");
  check_equal(MPI_T_pvar_handle_alloc(session, -1, nullptr, &handle, &count),
              MPI_T_ERR_INVALID_INDEX, "handle_alloc");
  check_equal(MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, index, nullptr, &handle, &count),
              MPI_T_ERR_INVALID_SESSION, "handle_alloc");
  check_equal(MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count), MPI_SUCCESS,
              "handle_alloc");
  check_equal(MPI_T_pvar_read(session, handle, nullptr), MPI_T_ERR_INVALID, "no buffer");
  check_refused(other, handle, MPI_T_ERR_INVALID_HANDLE, "a handle of another session");
  check_refused(MPI_T_PVAR_SESSION_NULL, handle, MPI_T_ERR_INVALID_SESSION, "no session");
  check_refused(session, MPI_T_PVAR_HANDLE_NULL, MPI_T_ERR_INVALID_HANDLE, "the null handle");
  check_refused(session, MPI_T_PVAR_ALL_HANDLES, MPI_T_ERR_INVALID_HANDLE, "all handles");
  check_refused(session, never_given<MPI_T_pvar_handle>(), MPI_T_ERR_INVALID_HANDLE, "garbage");
  MPI_T_pvar_handle freed = handle;
  check_equal(MPI_T_pvar_handle_free(session, &handle), MPI_SUCCESS, "handle_free");
  check_refused(session, freed, MPI_T_ERR_INVALID_HANDLE, "a freed handle");
  // A session that is freed takes its handles along.
  MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count);
  MPI_T_pvar_session stale = session;
  check_equal(MPI_T_pvar_session_free(&session), MPI_SUCCESS, "session_free");
  check_refused(stale, handle, MPI_T_ERR_INVALID_SESSION, "a freed session");
  check_refused(other, handle, MPI_T_ERR_INVALID_HANDLE, "a handle of a freed session");
  check_equal(MPI_T_pvar_session_free(&stale), MPI_T_ERR_INVALID_SESSION, "free it twice");
  check_equal(MPI_T_pvar_session_free(&other), MPI_SUCCESS, "session_free");
}

void test_what_can_not_be_done() {
  MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  MPI_T_pvar_handle level = MPI_T_PVAR_HANDLE_NULL;
  MPI_T_pvar_handle counter = MPI_T_PVAR_HANDLE_NULL;
  int count = 0;
  std::uint64_t value = 5;
  MPI_T_pvar_session_create(&session);
  check_equal(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "start none");
  MPI_T_pvar_handle_alloc(session, pvar_index("p2p.posted_queue", MPI_T_PVAR_CLASS_LEVEL), nullptr,
                          &level, &count);
  MPI_T_pvar_handle_alloc(session, pvar_index("wait.sleeps", MPI_T_PVAR_CLASS_COUNTER), nullptr,
                          &counter, &count);
  check_equal(MPI_T_pvar_start(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP, "start a level");
  check_equal(MPI_T_pvar_stop(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP, "stop a level");
  check_equal(MPI_T_pvar_write(session, level, &value), MPI_T_ERR_PVAR_NO_WRITE, "write a level");
  check_equal(MPI_T_pvar_reset(session, level), MPI_T_ERR_PVAR_NO_WRITE, "reset a level");
  check_equal(MPI_T_pvar_readreset(session, level, &value), MPI_T_ERR_PVAR_NO_ATOMIC,
              "read and reset a level");
  check_equal(MPI_T_pvar_write(session, counter, &value), MPI_SUCCESS, "write a counter");
  for (const auto all : {MPI_T_pvar_start, MPI_T_pvar_stop, MPI_T_pvar_reset})
    check_equal(all(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "all handles");
  check_equal(MPI_T_pvar_read(session, counter, &value), MPI_SUCCESS, "read a counter");
  check_equal(value, 0, "a counter that was reset with all others");
  check_equal(MPI_T_pvar_session_free(&session), MPI_SUCCESS, "session_free");
}

void test_no_events() {
  int number = garbage;
  MPI_Count ticks = 0;
  MPI_T_event_registration registration = never_given<MPI_T_event_registration>();
  MPI_T_event_instance instance = never_given<MPI_T_event_instance>();
  check_equal(MPI_T_event_get_num(&number), MPI_SUCCESS, "event_get_num");
  check_equal(number, 0, "events");
  check_equal(MPI_T_source_get_num(&number), MPI_SUCCESS, "source_get_num");
  check_equal(number, 0, "sources");
  check_equal(MPI_T_event_get_index("x", &number), MPI_T_ERR_INVALID_NAME, "event_get_index");
  check_equal(MPI_T_event_get_info(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                   nullptr, nullptr, nullptr, nullptr),
              MPI_T_ERR_INVALID_INDEX, "event_get_info");
  check_equal(MPI_T_event_handle_alloc(0, nullptr, MPI_INFO_NULL, &registration),
              MPI_T_ERR_INVALID_INDEX, "event_handle_alloc");
  check_equal(MPI_T_source_get_info(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                    nullptr, nullptr),
              MPI_T_ERR_INVALID_INDEX, "source_get_info");
  check_equal(MPI_T_source_get_timestamp(0, &ticks), MPI_T_ERR_INVALID_INDEX, "get_timestamp");
  check_equal(MPI_T_event_handle_free(registration, nullptr, nullptr), MPI_T_ERR_INVALID_HANDLE,
              "event_handle_free");
  check_equal(MPI_T_event_read(instance, 0, &number), MPI_T_ERR_INVALID_HANDLE, "event_read");
  check_equal(MPI_T_event_get_source(instance, &number), MPI_T_ERR_INVALID_HANDLE, "get_source");
}

void test_misuse() {
  test_strings();
  test_wrong_indices();
  test_wrong_names_and_places();
  test_wrong_control_handles();
  test_wrong_performance_handles();
  test_what_can_not_be_done();
  test_no_events();
}

}  // namespace

int main() {
  int provided = 0;
  check_equal(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS, "init");
  test_misuse();
  {
    const multirank::Mpi mpi;
    test_misuse();
    multirank::passed("tools_misuse");
  }
  test_misuse();
  check_equal(MPI_T_finalize(), MPI_SUCCESS, "finalize");
}
