// One program for all tests of processes that join and leave: what it does is its first argument.
// Every process checks what it sees; the first that is wrong ends its job.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "tests/multirank/check.hpp"
#include "tests/multirank/tool_checks.hpp"

namespace {

using multirank::check;
using multirank::check_equal;
using multirank::class_of;
using multirank::rank_in;
using multirank::size_of;

constexpr int long_bytes = 3 << 20;

int remote_size_of(MPI_Comm inter) {
  int size = -1;
  MPI_Comm_remote_size(inter, &size);
  return size;
}

/// Everybody with everybody of the other side, at once and both ways; then all as one.
void use(MPI_Comm inter, bool high) {
  const int others = remote_size_of(inter);
  const int mine = rank_in(inter) + (high ? 1000 : 0);
  std::vector<int> theirs(static_cast<std::size_t>(others), -1);
  MPI_Allgather(&mine, 1, MPI_INT, theirs.data(), 1, MPI_INT, inter);
  for (int rank = 0; rank < others; ++rank)
    check_equal(theirs[static_cast<std::size_t>(rank)], rank + (high ? 0 : 1000), "a remote rank");

  std::vector<unsigned char> out(long_bytes, static_cast<unsigned char>(mine));
  std::vector<unsigned char> in(long_bytes);
  for (int rank = 0; rank < others; ++rank) {
    MPI_Sendrecv(out.data(), long_bytes, MPI_BYTE, rank, 1, in.data(), long_bytes, MPI_BYTE, rank,
                 1, inter, MPI_STATUS_IGNORE);
    check_equal(in.back(), static_cast<unsigned char>(theirs[static_cast<std::size_t>(rank)]),
                "the last byte of a long message");
  }

  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Intercomm_merge(inter, high ? 1 : 0, &merged);
  int sum = 0;
  const int rank = rank_in(merged);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
  const int size = size_of(merged);
  check_equal(size, size_of(inter) + others, "the size of both groups together");
  check_equal(sum, size * (size - 1) / 2, "the sum of all ranks");
  MPI_Comm_free(&merged);
}

void be_a_child(MPI_Comm parent, int argc, char** argv) {
  check_equal(argc, 3, "the number of a child's arguments");
  check(std::strcmp(argv[2], "two words") == 0, "an argument with a space in it came apart");
  use(parent, true);
  MPI_Comm_disconnect(&parent);
  MPI_Comm_get_parent(&parent);
  check(parent == MPI_COMM_NULL, "there is a parent after MPI_Comm_disconnect");
}

void spawn(char** argv) {
  char* arguments[] = {const_cast<char*>("child"), const_cast<char*>("two words"), nullptr};
  for (int round = 0; round < 2; ++round) {
    MPI_Comm inter = MPI_COMM_NULL;
    int codes[3] = {-1, -1, -1};
    MPI_Comm_spawn(argv[0], arguments, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    for (const int code : codes) check_equal(code, MPI_SUCCESS, "the code of a new process");
    check_equal(remote_size_of(inter), 3, "the number of children");
    use(inter, false);
    MPI_Comm_disconnect(&inter);
  }
}

std::uint64_t bytes_for_peers() {
  return multirank::Counter("ledger.endpoints.current_bytes", MPI_T_PVAR_CLASS_LEVEL).read();
}

/// One child after another, each of which ends: what is known of them does not pile up.
void outlive_children(char** argv) {
  constexpr int rounds = 10;
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  char* arguments[] = {const_cast<char*>("child"), const_cast<char*>("two words"), nullptr};
  std::vector<std::uint64_t> bytes{bytes_for_peers()};
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    use(inter, false);
    bytes.push_back(bytes_for_peers());
    MPI_Comm_disconnect(&inter);
  }
  const std::uint64_t one = bytes[1] - bytes[0];
  check(one > 0, "a child costs no memory, says the ledger");
  // The one before may not have ended yet; others of this job cost something once.
  const std::uint64_t most = bytes[2] + 2 * one;
  check(bytes.back() <= most, "what is known of children that have ended piles up");
  MPI_T_finalize();
}

void spawn_multiple(char** argv) {
  char* commands[] = {argv[0], argv[0]};
  char* arguments[] = {const_cast<char*>("child"), const_cast<char*>("two words"), nullptr};
  char** both[] = {arguments, arguments};
  const int processes[] = {1, 2};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  const int root = size_of(MPI_COMM_WORLD) - 1;
  const bool is_root = rank_in(MPI_COMM_WORLD) == root;
  MPI_Comm inter = MPI_COMM_NULL;
  // What matters at the root alone may be anything elsewhere.
  MPI_Comm_spawn_multiple(is_root ? 2 : -1, is_root ? commands : nullptr, is_root ? both : nullptr,
                          is_root ? processes : nullptr, is_root ? infos : nullptr, root,
                          MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
  check_equal(remote_size_of(inter), 3, "the number of children of two programs");
  use(inter, false);
  MPI_Comm_disconnect(&inter);
}

/// Text that a line of a test's expectations is about.
void say(const char* what, const char* of) {
  std::printf("%s %s\n", what, of);
  std::fflush(stdout);
}

/// PROGRAMS that are not there or end without MPI: an error at all ranks, no hang.
void spawn_in_vain(const std::vector<const char*>& programs) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const char* program : programs) {
    MPI_Comm inter = MPI_COMM_WORLD;
    int codes[2] = {0, 0};
    const int code =
        MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
    check_equal(class_of(code), MPI_ERR_SPAWN, "the error of a spawn in vain");
    check_equal(class_of(codes[1]), MPI_ERR_SPAWN, "the code of a process that never was");
    check(inter == MPI_COMM_NULL, "a spawn in vain made a communicator");
    if (rank_in(MPI_COMM_WORLD) != 0) continue;
    char sentence[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, sentence, &length);
    say(program, sentence);
  }
}

/// Children that know only their parent become one side; all of its parents' job and of the other
/// children are the other. Only the leaders know each other: by the parent.
void be_a_child_among_strangers(MPI_Comm parent, bool is_first) {
  MPI_Comm all = MPI_COMM_NULL;
  if (is_first) {
    MPI_Comm family = MPI_COMM_NULL;
    MPI_Intercomm_merge(parent, 1, &family);
    MPI_Intercomm_create(family, 0, MPI_COMM_NULL, 0, 7, &all);
    use(all, false);
    MPI_Comm_free(&family);
  } else {
    MPI_Intercomm_create(MPI_COMM_WORLD, 1, parent, 0, 7, &all);
    use(all, true);
  }
  MPI_Comm_disconnect(&all);
  MPI_Comm_disconnect(&parent);
}

void introduce_strangers(char** argv) {
  MPI_Comm children[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
  char which[2][8] = {"first", "second"};
  for (int i = 0; i < 2; ++i) {
    char* arguments[] = {which[i], nullptr};
    MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children[i],
                   MPI_ERRCODES_IGNORE);
  }
  MPI_Comm family = MPI_COMM_NULL, all = MPI_COMM_NULL;
  MPI_Intercomm_merge(children[0], 0, &family);
  MPI_Intercomm_create(family, 0, children[1], 1, 7, &all);
  check_equal(remote_size_of(all), 2, "the number of strangers");
  use(all, false);
  MPI_Comm_free(&family);
  MPI_Comm_disconnect(&all);
  for (MPI_Comm& each : children) MPI_Comm_disconnect(&each);
}

/// Children of one parent become one side, all of its job the other. Its rank 0 and that of the
/// children know everybody, the others nobody of the other side.
void be_a_child_of_groups(MPI_Comm parent) {
  const bool leads = rank_in(MPI_COMM_WORLD) == 0;
  MPI_Comm parents = MPI_COMM_NULL, all = MPI_COMM_NULL;
  MPI_Group ours = MPI_GROUP_NULL, theirs = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &ours);
  if (leads) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, parent);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &parents);
    MPI_Close_port(port);
    MPI_Comm_remote_group(parents, &theirs);
  }
  // What stands for the other side matters at the leader only.
  MPI_Intercomm_create_from_groups(ours, 0, theirs, leads ? 0 : -7, "groups", MPI_INFO_NULL,
                                   MPI_ERRORS_ARE_FATAL, &all);
  use(all, true);
  MPI_Comm_disconnect(&all);
  if (leads) {
    MPI_Comm_disconnect(&parents);
    MPI_Group_free(&theirs);
  }
  MPI_Group_free(&ours);
  MPI_Comm_disconnect(&parent);
}

void introduce_groups(char** argv) {
  const bool leads = rank_in(MPI_COMM_WORLD) == 0;
  MPI_Comm children = MPI_COMM_NULL, child = MPI_COMM_NULL, all = MPI_COMM_NULL;
  MPI_Group ours = MPI_GROUP_NULL, theirs = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &ours);
  char port[MPI_MAX_PORT_NAME] = "";
  if (leads) {
    char* arguments[] = {const_cast<char*>("child_of_groups"), nullptr};
    MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Comm_remote_group(children, &theirs);
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, children, MPI_STATUS_IGNORE);
  }
  MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Intercomm_create_from_groups(ours, 0, theirs, leads ? 0 : -7, "groups", info,
                                   MPI_ERRORS_ARE_FATAL, &all);
  MPI_Info_free(&info);
  MPI_Comm_get_info(all, &info);
  int room = 8, found = 0;
  char value[8] = "";
  MPI_Info_get_string(info, "mpi_assert_no_any_tag", &room, value, &found);
  check(found != 0 && std::strcmp(value, "true") == 0, "the hints have got lost");
  MPI_Info_free(&info);
  check_equal(remote_size_of(all), 2, "the number of children");
  use(all, false);
  MPI_Comm_disconnect(&all);
  MPI_Comm_disconnect(&child);
  if (leads) {
    MPI_Comm_disconnect(&children);
    MPI_Group_free(&theirs);
  }
  MPI_Group_free(&ours);
}

/// BEFORE is called once the name is published.
void serve(
    const char* service, int clients, const std::function<void()>& before = [] {}) {
  char port[MPI_MAX_PORT_NAME] = "";
  const bool is_root = rank_in(MPI_COMM_WORLD) == 0;
  if (is_root) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(service, MPI_INFO_NULL, port);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    check_equal(class_of(MPI_Publish_name(service, MPI_INFO_NULL, port)), MPI_ERR_SERVICE,
                "the error of publishing a name twice");
    std::puts("published");
    std::fflush(stdout);
  }
  before();
  for (int client = 0; client < clients; ++client) {
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm_accept(is_root ? port : nullptr, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    use(inter, false);
    MPI_Comm_disconnect(&inter);
  }
  if (!is_root) return;
  MPI_Unpublish_name(service, MPI_INFO_NULL, port);
  check_equal(class_of(MPI_Unpublish_name(service, MPI_INFO_NULL, port)), MPI_ERR_SERVICE,
              "the error of a name that is not published any more");
  MPI_Close_port(port);
  check_equal(class_of(MPI_Close_port(port)), MPI_ERR_PORT, "the error of a port closed twice");
}

/// Says its port's name, and takes one call there.
void answer() {
  char port[MPI_MAX_PORT_NAME] = "";
  const bool is_root = rank_in(MPI_COMM_WORLD) == 0;
  if (is_root) {
    MPI_Open_port(MPI_INFO_NULL, port);
    std::puts(port);
    std::fflush(stdout);
  }
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_accept(is_root ? port : nullptr, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  use(inter, false);
  MPI_Comm_disconnect(&inter);
  if (is_root) MPI_Close_port(port);
}

/// PORT matters at rank 0.
void dial(const char* port) {
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  use(inter, true);
  MPI_Comm_disconnect(&inter);
}

void call(const char* service) {
  char port[MPI_MAX_PORT_NAME] = "";
  const bool is_root = rank_in(MPI_COMM_WORLD) == 0;
  if (is_root) MPI_Lookup_name(service, MPI_INFO_NULL, port);
  dial(is_root ? port : nullptr);
}

/// Children that call at a name, as other jobs of the same launcher.
void be_called_by_children(char** argv) {
  const char* const service = "of the family";
  char* arguments[] = {const_cast<char*>("calling_child"), const_cast<char*>(service), nullptr};
  MPI_Comm children = MPI_COMM_NULL;
  serve(service, 1, [&] {
    MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
  });
  MPI_Comm_disconnect(&children);
}

void be_a_calling_child(MPI_Comm parent, const char* service) {
  call(service);
  MPI_Comm_disconnect(&parent);
}

/// Under a launcher that offers neither further processes nor names.
void be_refused(char** argv) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm inter = MPI_COMM_NULL;
  check_equal(class_of(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                      &inter, MPI_ERRCODES_IGNORE)),
              MPI_ERR_SPAWN, "the error of a spawn that is not offered");
  char port[MPI_MAX_PORT_NAME] = "a port";
  check_equal(class_of(MPI_Publish_name("name", MPI_INFO_NULL, port)), MPI_ERR_SERVICE,
              "the error of names that are not offered");
  check_equal(class_of(MPI_Unpublish_name("name", MPI_INFO_NULL, port)), MPI_ERR_SERVICE,
              "the error of a name that was never published");
  check_equal(class_of(MPI_Lookup_name("name", MPI_INFO_NULL, port)), MPI_ERR_NAME,
              "the error of looking up where no names are offered");
}

/// Calls at a port that was written down once.
void call_in_vain(const char* port) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm inter = MPI_COMM_NULL;
  const int code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  check_equal(class_of(code), MPI_ERR_PORT, "the error of a call in vain");
  check_equal(class_of(MPI_Lookup_name("nobody has published this", MPI_INFO_NULL,
                                       std::vector<char>(MPI_MAX_PORT_NAME).data())),
              MPI_ERR_NAME, "the error of a name that nobody has published");
}

/// The two halves of one job, by a port.
void connect_halves() {
  const int rank = rank_in(MPI_COMM_WORLD);
  const bool is_upper = rank >= size_of(MPI_COMM_WORLD) / 2;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, is_upper ? 1 : 0, rank, &half);
  char port[MPI_MAX_PORT_NAME] = "";
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Comm inter = MPI_COMM_NULL;
  if (is_upper) {
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
  } else {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
  }
  use(inter, is_upper);
  MPI_Comm_disconnect(&inter);
  if (rank == 0) MPI_Close_port(port);
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_upper) {
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    const int code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
    check_equal(class_of(code), MPI_ERR_PORT, "the error of a call at a closed port");
  }
  MPI_Comm_free(&half);
}

/// By descriptor FD, whose other end another process has.
void join(int fd) {
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_join(fd, &inter);
  check_equal(remote_size_of(inter), 1, "the number of processes at the other end");
  int mine = 4711;
  int theirs = 0;
  MPI_Sendrecv(&mine, 1, MPI_INT, 0, 0, &theirs, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
  check_equal(theirs, 4711, "what the other end sent");
  MPI_Comm_disconnect(&inter);
}

/// Says its port's name and waits until it may go.
void show_port() {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Open_port(MPI_INFO_NULL, port);
  std::puts(port);
  std::fflush(stdout);
}

void run(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const char* const word = argc > 2 ? argv[2] : "";
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  const bool is_child = what == "child" || what == "calling_child" || what == "first" ||
                        what == "second" || what == "child_of_groups";
  check((parent != MPI_COMM_NULL) == is_child, "only who was spawned has a parent");
  if (what == "first" || what == "second")
    return be_a_child_among_strangers(parent, what == "first");
  if (what == "child") return be_a_child(parent, argc, argv);
  if (what == "calling_child") return be_a_calling_child(parent, word);
  if (what == "family") return be_called_by_children(argv);
  if (what == "refused") return be_refused(argv);
  if (what == "spawn") return spawn(argv);
  if (what == "outlive") return outlive_children(argv);
  if (what == "spawn_multiple") return spawn_multiple(argv);
  if (what == "spawn_in_vain") return spawn_in_vain({argv + 2, argv + argc});
  if (what == "serve") return serve(word, argc > 3 ? std::atoi(argv[3]) : 1);
  if (what == "call") return call(word);
  if (what == "answer") return answer();
  if (what == "dial") return dial(word);
  if (what == "groups") return introduce_groups(argv);
  if (what == "child_of_groups") return be_a_child_of_groups(parent);
  if (what == "strangers") return introduce_strangers(argv);
  if (what == "call_in_vain") return call_in_vain(word);
  if (what == "halves") return connect_halves();
  if (what == "join") return join(std::atoi(word));
  if (what == "show_port") return show_port();
  check(false, "the first argument names nothing that this program does");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  run(argc, argv);
  MPI_Finalize();
}
