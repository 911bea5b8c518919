// Memory that lies at the same address as before, but is other memory: `reused_memory [TIMES]`.
//
// Between two messages the buffers of both sides go and come back, by every way that memory goes:
// munmap, madvise, mremap, and free() by brk and by munmap. What the receiver gets must be right,
// and what was replaced must have been registered anew. Where the kernel allows it, softrdma is
// strict: an operation on what was registered before fails. For ranks that are connected when
// MPI_Init returns (channel.connect=static).
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "check.hpp"
#include "tool_checks.hpp"

namespace {

using namespace multirank;

constexpr std::size_t block_bytes = 64 << 10;  // long enough for operations on memory
constexpr std::size_t words = block_bytes / sizeof(std::uint64_t);
constexpr std::uint64_t mark = 0x1234567812345678;

void* map_block(void* wanted) {
  void* const block =
      ::mmap(wanted, block_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(block != MAP_FAILED, "there is memory");
  return block;
}

// Each gives BLOCK back and returns another one, at the same address if that is free.

void* unmap(void* block) {
  ::munmap(block, block_bytes);
  return map_block(block);
}

void* discard(void* block) {
  check_equal(::madvise(block, block_bytes, MADV_DONTNEED), 0, "madvise");
  return block;
}

void* move(void* block) {
  void* const elsewhere = ::mremap(block, block_bytes, 2 * block_bytes, MREMAP_MAYMOVE);
  // Strict mode may have split the mapping, where parts of it were registered.
  if (elsewhere == MAP_FAILED) return unmap(block);
  if (elsewhere == block) {
    ::munmap(static_cast<char*>(block) + block_bytes, block_bytes);
    return block;
  }
  ::munmap(elsewhere, 2 * block_bytes);
  return map_block(block);
}

void* free_and_allocate(void* block) {
  std::free(block);
  return std::malloc(block_bytes);
}

struct Way {
  const char* name;
  void* (*replace)(void*);
  bool is_heap;
  int mapped_bytes_min;  // by which the heap maps blocks by themselves
};

constexpr Way ways[] = {
    {"munmap", unmap, false, 0},
    {"madvise", discard, false, 0},
    {"mremap", move, false, 0},
    {"free by munmap", free_and_allocate, true, 32 << 10},
    {"free by brk", free_and_allocate, true, 32 << 20},
};

/// Other pages lie where BLOCK lay, if it is at the same place.
bool is_replaced(const void* block) {
  return static_cast<const volatile std::uint64_t*>(block)[words / 2] != mark;
}

void fill(void* block, std::uint64_t time) {
  auto* const word = static_cast<std::uint64_t*>(block);
  for (std::size_t i = 0; i < words; ++i) word[i] = time * words + i;
}

void check_block(const void* block, std::uint64_t time) {
  const auto* const word = static_cast<const std::uint64_t*>(block);
  for (std::size_t i = 0; i < words; ++i)
    check_equal(word[i], time * words + i, "a word of the message");
}

/// One message from rank 0 to rank 1, whose buffers are BLOCK.
void transfer(void* block, int rank, std::uint64_t time) {
  constexpr int bytes = block_bytes;
  if (rank == 0) {
    fill(block, time);
    MPI_Send(block, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(nullptr, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(block, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_block(block, time);
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}

void use_one_way(const Way& way, int rank, int times) {
  ::mallopt(M_MMAP_THRESHOLD, way.mapped_bytes_min);
  ::mallopt(M_TRIM_THRESHOLD, 32 << 10);
  void* block = way.is_heap ? std::malloc(block_bytes) : map_block(nullptr);
  Counter registrations("ledger.registrations", MPI_T_PVAR_CLASS_COUNTER);
  registrations.start();
  transfer(block, rank, 0);
  int replaced = 0;
  for (int time = 1; time <= times; ++time) {
    const void* const before = block;
    static_cast<volatile std::uint64_t*>(block)[words / 2] = mark;
    block = way.replace(block);
    const bool must_register = block == before && is_replaced(block);
    replaced += must_register ? 1 : 0;
    const std::uint64_t registered = registrations.read();
    transfer(block, rank, static_cast<std::uint64_t>(time));
    if (must_register && registrations.read() == registered)
      check(false, (std::string("a block is registered anew after ") + way.name).c_str());
  }
  // A sanitizer has a heap of its own; where others take the address in between, nothing is seen.
  if (!way.is_heap && replaced < times / 2)
    check(false, (std::string(way.name) + " seldom gave the same address").c_str());
  if (way.is_heap) {
    std::free(block);
  } else {
    ::munmap(block, block_bytes);
  }
}

bool kernel_tells_of_memory() {
  const auto descriptor =
      static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (descriptor < 0) return false;
  ::close(descriptor);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int times_by_default = 10'000;
  const int times = argc > 1 ? std::atoi(argv[1]) : times_by_default;
  if (kernel_tells_of_memory()) ::setenv("SOFTRDMA_STRICT", "1", 1);
  int provided = 0;
  check_equal(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS, "MPI_T_init_thread");
  {
    const Mpi mpi;
    const int rank = rank_in(MPI_COMM_WORLD);
    for (const Way& way : ways) use_one_way(way, rank, times / static_cast<int>(std::size(ways)));
    passed("reused_memory");
  }
  MPI_T_finalize();
}
