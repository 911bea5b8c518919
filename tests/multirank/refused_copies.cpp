// A host may refuse at any time that processes read and write each other's memory: here a filter of
// system calls that the last rank sets up in mid-job. What was copied so before comes by other ways
// then, and all of it is right; for collectives that read memory the refusal comes in the middle.
// `refused_copies COLLECTIVE`: which of them meets it first. Ends with 77 where no filter can be.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "check.hpp"

namespace {

using namespace multirank;

constexpr std::array<int, 3> sizes = {16'384, 100'001, 700'001};

int me() { return rank_in(MPI_COMM_WORLD); }
int members() { return size_of(MPI_COMM_WORLD); }

/// From the next system call on, for this process. False: the kernel takes no filter.
bool refuse_copies() {
  std::array program = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0)
    return false;
  char byte = 0, other = 1;
  const iovec to{&byte, 1}, from{&other, 1};
  check(process_vm_readv(getpid(), &to, 1, &from, 1, 0) == -1 && errno == EPERM,
        "it refuses to read memory");
  return true;
}

/// The last rank sets it up, and tells the others by messages: no collective has met it then.
bool does_last_refuse() {
  const int last = members() - 1;
  int is_refused = me() == last && refuse_copies() ? 1 : 0;
  if (me() == last) {
    for (int member = 0; member < last; ++member)
      MPI_Send(&is_refused, 1, MPI_INT, member, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&is_refused, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return is_refused == 1;
}

/// From every rank to the next one, both ways at once.
void exchange(int seed, int size) {
  const int next = (me() + 1) % members(), before = (me() + members() - 1) % members();
  const Bytes out = patterned(seed + me(), size);
  Bytes in(out.size());
  MPI_Sendrecv(out.data(), size, MPI_BYTE, next, 0, in.data(), size, MPI_BYTE, before, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  check_pattern(in, seed + before, size, "what the rank before sent");
}

/// From the first rank to the last one alone, and back.
void go_to_and_fro(int seed, int size) {
  const int last = members() - 1;
  Bytes in(static_cast<std::size_t>(size));
  if (me() == 0) {
    MPI_Send(patterned(seed, size).data(), size, MPI_BYTE, last, 0, MPI_COMM_WORLD);
    MPI_Recv(in.data(), size, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_pattern(in, seed + 1, size, "what comes back");
  } else if (me() == last) {
    MPI_Recv(in.data(), size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_pattern(in, seed, size, "what goes there");
    MPI_Send(patterned(seed + 1, size).data(), size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

void broadcast(int seed, int size) {
  const int root = seed % members();
  Bytes place = me() == root ? patterned(seed, size) : Bytes(static_cast<std::size_t>(size));
  MPI_Bcast(place.data(), size, MPI_BYTE, root, MPI_COMM_WORLD);
  check_pattern(place, seed, size, "what the root has");
}

void gather_all(int seed, int size) {
  const Bytes own = patterned(seed + me(), size);
  Bytes all(own.size() * static_cast<std::size_t>(members()));
  MPI_Allgather(own.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, MPI_COMM_WORLD);
  for (int member = 0; member < members(); ++member)
    check_pattern(Bytes(all.begin() + member * size, all.begin() + (member + 1) * size),
                  seed + member, size, "a block of an allgather");
}

void exchange_all(int seed, int size) {
  Bytes out, in(static_cast<std::size_t>(size) * members());
  for (int member = 0; member < members(); ++member) {
    const Bytes block = patterned(seed + me() * members() + member, size);
    out.insert(out.end(), block.begin(), block.end());
  }
  MPI_Alltoall(out.data(), size, MPI_BYTE, in.data(), size, MPI_BYTE, MPI_COMM_WORLD);
  for (int member = 0; member < members(); ++member)
    check_pattern(Bytes(in.begin() + member * size, in.begin() + (member + 1) * size),
                  seed + member * members() + me(), size, "a block of an alltoall");
}

/// The sum over all ranks of (rank + 1) * (seed + i), of SIZE bytes in all.
void reduce(int seed, int size) {
  const int count = size / static_cast<int>(sizeof(int)) / members() * members();
  const int root = seed % members(), ranks = members() * (members() + 1) / 2;
  std::vector<int> own(static_cast<std::size_t>(count)), sum(own.size());
  const auto check_sums = [&](int first, int sums, const char* what) {
    for (int i = 0; i < sums; ++i)
      check_equal(sum[static_cast<std::size_t>(i)], ranks * (seed + first + i), what);
  };
  for (int i = 0; i < count; ++i) own[static_cast<std::size_t>(i)] = (me() + 1) * (seed + i);
  MPI_Reduce(own.data(), sum.data(), count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  if (me() == root) check_sums(0, count, "a sum of a reduce");
  const int share = count / members();
  MPI_Reduce_scatter_block(own.data(), sum.data(), share, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check_sums(me() * share, share, "a sum of a reduce_scatter");
}

/// In all of these ways.
void move_data(int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (const int size : sizes) {
      exchange(round, size);
      go_to_and_fro(round, size);
      broadcast(round, size);
      gather_all(round, size);
      exchange_all(round, size);
      reduce(round, size);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const Mpi mpi;
  constexpr int rounds = 6;
  constexpr int skipped = 77;
  // What meets the refusal first: the collective of that number, or messages.
  constexpr std::array meet_refusal = {&broadcast, &gather_all, &exchange_all, &reduce};
  const std::size_t first = argc > 1 ? std::stoul(argv[1]) : meet_refusal.size();
  move_data(rounds);
  if (!does_last_refuse()) return skipped;
  if (first < meet_refusal.size()) meet_refusal[first](0, sizes.back());
  move_data(rounds);
  passed("refused copies");
  return 0;
}
