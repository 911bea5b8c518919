// Weak and strong progress: what a program may expect of a message that was begun and is left alone
// while the program computes, without a call of MPI (docs/architecture/threads-and-waiting.md).
//
// With HAWSER_WAIT_PROGRESS=thread or two_threads it gets there meanwhile; otherwise it gets there
// once the program waits for it. Ranks 0 and 1 do all; they tell each other what they see by a word
// of shared memory, which is no MPI.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <thread>

#include "check.hpp"

namespace {

using namespace multirank;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// How long the ranks compute at most: far more than anything here takes where progress is strong.
constexpr auto strong_limit = 30s;
constexpr auto weak_limit = 20ms;

std::string_view mode() {
  const char* const set = std::getenv("HAWSER_WAIT_PROGRESS");
  return set == nullptr ? "polling" : set;
}
bool is_strong() { return mode() == "thread" || mode() == "two_threads"; }

/// A word that ranks 0 and 1 share.
class Flag {
 public:
  Flag() {
    // lint: allow(every Linux has it, and it is gone at once)
    char path[] = "/tmp/hawser-progress-XXXXXX";
    int file = rank_in(MPI_COMM_WORLD) == 0 ? ::mkstemp(path) : -1;
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (file < 0) file = ::open(path, O_RDWR);
    check(file >= 0 && ::ftruncate(file, sizeof(Word)) == 0, "there is no file to share");
    void* const memory = ::mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check(memory != MAP_FAILED, "a file cannot be mapped");
    word_ = static_cast<Word*>(memory);
    ::close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) == 0) ::unlink(path);
  }
  ~Flag() { ::munmap(word_, sizeof(Word)); }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

  void set(std::uint32_t step) { word_->store(step); }
  [[nodiscard]] bool is(std::uint32_t step) const { return word_->load() == step; }

 private:
  using Word = std::atomic<std::uint32_t>;
  Word* word_;
};

/// Computes until the other rank has set FLAG to STEP. Where progress is weak it may not do so
/// before we call MPI again.
void compute_until(const Flag& flag, std::uint32_t step, const char* what) {
  const auto until = Clock::now() + (is_strong() ? strong_limit : weak_limit);
  volatile double x = 1;
  while (!flag.is(step) && Clock::now() < until)
    for (int i = 0; i < 1000; ++i) x = x * 0.999999 + 1e-6;
  if (is_strong() && !flag.is(step)) fail(what, std::source_location::current());
}

/// Pairs of ranks that talk a lot earn the channels that are to be tested.
void warm_up(int rank) {
  Bytes bytes(64);
  for (int i = 0; i < 200; ++i)
    MPI_Sendrecv_replace(bytes.data(), 64, MPI_BYTE, 1 - rank, 1, 1 - rank, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
}

void sender_computes(Flag& flag, int rank, int size, std::uint32_t step) {
  if (rank == 0) {
    const Bytes sent = patterned(size, size);
    MPI_Request request;
    MPI_Isend(sent.data(), size, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request);
    compute_until(flag, step, "a message did not arrive while its sender computed");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    Bytes received(static_cast<std::size_t>(size));
    MPI_Recv(received.data(), size, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_pattern(received, size, size, "the message");
    flag.set(step);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The send is synchronous: it ends when the receiver has answered.
void receiver_computes(Flag& flag, int rank, int size, std::uint32_t step) {
  if (rank == 0) {
    const Bytes sent = patterned(size, size);
    MPI_Recv(nullptr, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ssend(sent.data(), size, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
    flag.set(step);
  } else {
    Bytes received(static_cast<std::size_t>(size));
    MPI_Request request;
    MPI_Irecv(received.data(), size, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &request);
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    compute_until(flag, step, "a message was not taken while its receiver computed");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_pattern(received, size, size, "the message");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void collective_goes_on(Flag& flag, int rank, std::uint32_t step, MPI_Comm pair) {
  const int mine = rank + 1;
  int sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, pair, &request);
  if (rank == 0) compute_until(flag, step, "a collective waited for a rank that computed");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == 1) flag.set(step);
  check_equal(sum, 3, "the sum");
  MPI_Barrier(MPI_COMM_WORLD);
}

std::atomic<bool> was_called_elsewhere{false};
const std::thread::id main_thread = std::this_thread::get_id();

void user_sum(void* in, void* inout, int* count, MPI_Datatype*) {
  if (std::this_thread::get_id() != main_thread) was_called_elsewhere = true;
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

/// A program that did not ask for threads is called back by its own thread only.
void user_code_stays(MPI_Comm pair, int rank) {
  MPI_Op op;
  MPI_Op_create(user_sum, 1, &op);
  for (int round = 0; round < 50; ++round) {
    const int mine = rank + 1;
    int sum = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, op, pair, &request);
    std::this_thread::sleep_for(round % 10 == 0 ? 2ms : 0ms);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_equal(sum, 3, "the sum by a user's operation");
  }
  check(!was_called_elsewhere, "a user's operation ran in a thread of the library");
  MPI_Op_free(&op);
}

int progress_threads() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "hawser-progress" ? 1 : 0;
  }
  return count;
}

/// One that has just begun may not have its name yet.
void check_progress_threads(int wanted, const char* what) {
  const auto until = Clock::now() + strong_limit;
  while (progress_threads() != wanted && Clock::now() < until) std::this_thread::sleep_for(1ms);
  check_equal(progress_threads(), wanted, what);
}

int threads_wanted() {
  if (!is_strong()) return 0;
  const char* const transport = std::getenv("HAWSER_TRANSPORT");
  const bool has_network = transport != nullptr && std::string_view(transport) == "verbs";
  return mode() == "two_threads" && has_network ? 2 : 1;
}

void child_ends() {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(progress_threads());
  int status = -1;
  check(::waitpid(child, &status, 0) == child && WIFEXITED(status), "a forked child hangs or dies");
  check_equal(WEXITSTATUS(status), 0, "progress threads of a forked child");
}

void world() {
  const Mpi mpi;
  const int rank = rank_in(MPI_COMM_WORLD);
  int level = -1;
  MPI_Query_thread(&level);
  check_equal(level, MPI_THREAD_SINGLE, "the level of thread support");
  check_progress_threads(threads_wanted(), "progress threads");
  Flag flag;
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, 0, &pair);
  if (rank < 2) warm_up(rank);
  std::uint32_t step = 0;
  for (int round = 0; round < 3; ++round) {
    for (const int size : {8, 100'000, 1 << 20, 4 << 20}) {
      for (const auto& test : {sender_computes, receiver_computes}) {
        ++step;
        if (rank < 2) {
          test(flag, rank, size, step);
        } else {
          MPI_Barrier(MPI_COMM_WORLD);
        }
      }
    }
    ++step;
    if (rank < 2) {
      collective_goes_on(flag, rank, step, pair);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  if (rank < 2) {
    user_code_stays(pair, rank);
    MPI_Comm_free(&pair);
  }
  child_ends();
  passed("progress");
}

/// What ended with MPI_Finalize begins again with a session, and ends with it.
void session() {
  check_progress_threads(0, "progress threads after MPI_Finalize");
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  check_progress_threads(threads_wanted(), "progress threads of a session");
  MPI_Session_finalize(&session);
  check_progress_threads(0, "progress threads after the session");
}

}  // namespace

int main() {
  world();
  session();
}
