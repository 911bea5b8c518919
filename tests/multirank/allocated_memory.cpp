// Memory of MPI_Alloc_mem: messages in it are right, and where adapters register memory, it is
// registered once, however much other memory is used in between (verbs.pinned_bytes_max is small,
// channel.connect=static).
#include <cstdint>
#include <cstdlib>

#include "check.hpp"
#include "tool_checks.hpp"

namespace {

using namespace multirank;

constexpr int message_bytes = 256 << 10;
constexpr int messages = 8;  // that fit into the memory

/// A message from rank 0 to rank 1; both have it at DATA.
void transfer(unsigned char* data, int rank, int seed) {
  if (rank == 0) {
    for (int i = 0; i < message_bytes; ++i) data[i] = pattern(seed, static_cast<std::size_t>(i));
    MPI_Send(data, message_bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(data, message_bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < message_bytes; ++i)
      check_equal(data[i], pattern(seed, static_cast<std::size_t>(i)), "a byte of the message");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

unsigned char* allocate() {
  unsigned char* memory = nullptr;
  MPI_Alloc_mem(messages * message_bytes, MPI_INFO_NULL, &memory);
  check(memory != nullptr, "MPI_Alloc_mem gives memory");
  return memory;
}

/// Uses so much other memory that the cache of registrations would give up everything.
void use_other_memory(int rank) {
  for (int i = 0; i < 40; ++i) {
    auto* const other = static_cast<unsigned char*>(std::malloc(message_bytes));
    transfer(other, rank, 100 + i);
    std::free(other);
  }
}

void check_stays_registered(int rank) {
  Counter registrations("ledger.registrations", MPI_T_PVAR_CLASS_COUNTER);
  registrations.start();
  unsigned char* const memory = allocate();
  transfer(memory, rank, 0);
  const std::uint64_t once = registrations.read();
  check(once <= 1, "it is registered as one");
  for (int i = 0; i < messages; ++i) transfer(memory + i * message_bytes, rank, i);
  check_equal(registrations.read(), once, "registrations once all of it was used");
  use_other_memory(rank);
  const std::uint64_t others = registrations.read();
  for (int i = 0; i < messages; ++i) transfer(memory + i * message_bytes, rank, i);
  check_equal(registrations.read(), others, "registrations after other memory was used");
  MPI_Free_mem(memory);
}

void check_freed_memory_is_given_back() {
  Counter registered("ledger.registered.current_bytes", MPI_T_PVAR_CLASS_LEVEL);
  const std::uint64_t before = registered.read();
  unsigned char* const memory = allocate();
  const std::uint64_t with = registered.read();
  check(with == before || with == before + messages * message_bytes, "all of it is registered");
  MPI_Free_mem(memory);
  check_equal(registered.read(), before, "registered bytes after MPI_Free_mem");
}

void check_sizes() {
  for (const int bytes : {0, 1, 4095, 4096, 4097}) {
    char* memory = nullptr;
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
    for (int i = 0; i < bytes; ++i) memory[i] = 1;
    MPI_Free_mem(memory);
  }
}

}  // namespace

int main() {
  int provided = 0;
  check_equal(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS, "MPI_T_init_thread");
  {
    const Mpi mpi;
    check_sizes();
    check_stays_registered(rank_in(MPI_COMM_WORLD));
    check_freed_memory_is_given_back();
    passed("allocated_memory");
  }
  MPI_T_finalize();
}
