// Point-to-point data: every size and protocol, order, wildcards, send modes, derived datatypes.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "check.hpp"

namespace {

using namespace multirank;

const MPI_Comm world = MPI_COMM_WORLD;
constexpr int size_max = 1 << 20;
constexpr std::array sizes{
    0,       1,    7,    8,    63,    64,    65,    447,   448,    449,           4095,
    4096,    8191, 8192, 8193, 32768, 65535, 65536, 65537, 262144, (1 << 18) + 1, size_max - 1,
    size_max};

void ring() {
  const int rank = rank_in(world), size = size_of(world);
  int token = 0;
  MPI_Status status;
  if (rank != 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 3, world, MPI_STATUS_IGNORE);
  token += rank;
  MPI_Request request;
  MPI_Isend(&token, 1, MPI_INT, (rank + 1) % size, 3, world, &request);
  if (rank == 0) {
    int sum = -1;
    MPI_Recv(&sum, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    check_equal(sum, size * (size - 1) / 2, "the token of the ring");
    check_status(status, size - 1, 3, sizeof(int), "the token of the ring");
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Receives are posted before the sends (LATE = false) or after they have begun.
void every_pair(int bytes, bool late) {
  const int rank = rank_in(world), size = size_of(world);
  std::vector<MPI_Request> sends(size), receives(size);
  std::vector<Bytes> out, in;
  for (int peer = 0; peer < size; ++peer) {
    out.push_back(patterned(rank * 64 + peer, bytes));
    in.emplace_back(bytes + 16, 0xee);
  }
  const auto receive = [&] {
    for (int peer = 0; peer < size; ++peer) {
      MPI_Irecv(in[peer].data(), bytes + 16, MPI_BYTE, peer, bytes, world, &receives[peer]);
    }
  };
  if (!late) receive();
  for (int peer = 0; peer < size; ++peer) {
    MPI_Isend(out[peer].data(), bytes, MPI_BYTE, peer, bytes, world, &sends[peer]);
  }
  if (late) receive();
  std::vector<MPI_Status> statuses(size);
  MPI_Waitall(size, receives.data(), statuses.data());
  MPI_Waitall(size, sends.data(), MPI_STATUSES_IGNORE);
  for (int peer = 0; peer < size; ++peer) {
    check_status(statuses[peer], peer, bytes, bytes, "every pair");
    check_pattern(in[peer], peer * 64 + rank, bytes, "every pair");
    for (int i = bytes; i < bytes + 16; ++i) {
      check_equal(in[peer][i], 0xee, "a byte behind the message");
    }
  }
}

void every_pair_and_size() {
  for (int bytes : sizes) {
    every_pair(bytes, false);
    every_pair(bytes, true);
  }
}

// Into memory that nobody has touched: on one host it is written past the caches.
void longer_than_caches() {
  const int rank = rank_in(world), partner = rank ^ 1;
  constexpr int messages = 2, bytes = (4 << 20) + 3;
  for (int i = 0; i < messages && partner < size_of(world); ++i) {
    const Bytes out = patterned(rank + i, bytes);
    constexpr std::size_t mapped = bytes + 4096;
    void* const fresh =
        ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(fresh != MAP_FAILED, "there is memory");
    auto* const in = static_cast<unsigned char*>(fresh) + 5;
    MPI_Status status;
    MPI_Sendrecv(out.data(), bytes, MPI_BYTE, partner, i, in, bytes, MPI_BYTE, partner, i, world,
                 &status);
    check_status(status, partner, i, bytes, "a message longer than caches");
    check_pattern(Bytes(in, in + bytes), partner + i, bytes, "a message longer than caches");
    check_equal(in[-1] + in[bytes], 0, "the bytes around a message longer than caches");
    ::munmap(fresh, mapped);
  }
}

void truncation() {
  MPI_Comm comm;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int rank = rank_in(comm), size = size_of(comm), next = (rank + 1) % size,
            previous = (rank + size - 1) % size;
  for (int bytes : {100, 5000, 20000, 300000}) {
    const Bytes out = patterned(rank, bytes), after = patterned(rank + 1, 10);
    Bytes in(bytes, 0xee), good(10);
    std::array<MPI_Request, 2> sends;
    MPI_Isend(out.data(), bytes, MPI_BYTE, next, 1, comm, &sends[0]);
    MPI_Isend(after.data(), 10, MPI_BYTE, next, 1, comm, &sends[1]);
    const int error =
        MPI_Recv(in.data(), bytes / 2, MPI_BYTE, previous, 1, comm, MPI_STATUS_IGNORE);
    check_class(error, MPI_ERR_TRUNCATE, "the error class of a message that is too long");
    for (int i = bytes / 2; i < bytes; ++i) {
      check_equal(in[i], 0xee, "a byte behind a buffer that is too short");
    }
    MPI_Status status;
    MPI_Recv(good.data(), 10, MPI_BYTE, previous, 1, comm, &status);
    check_status(status, previous, 1, 10, "the message after one that was too long");
    check_pattern(good, previous + 1, 10, "the message after one that was too long");
    MPI_Waitall(2, sends.data(), MPI_STATUSES_IGNORE);
  }
  MPI_Comm_free(&comm);
}

int mixed_size(int index) {
  constexpr std::array mixed{4, 40, 500, 5000, 70000, 8, 9000, 16, 300, 30000, 4};
  return mixed[index % mixed.size()];
}

// Blocking receives between partners who talk enough to have earned a ring, in every way that a
// message can be, or not be, the next one there.
void blocking_receives() {
  MPI_Comm comm;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int rank = rank_in(comm), size = size_of(comm), partner = rank ^ 1;
  constexpr int rounds = 600;
  for (int round = 0; round < rounds && partner < size; ++round) {
    const int bytes = round % 7 == 0 ? 0 : round * 13 % 4200, ways = 6, way = round % ways;
    const Bytes out = patterned(rank + round, bytes);
    Bytes in(bytes + 1, 0xee), early(4, 0xee);
    const auto send = [&] { MPI_Send(out.data(), bytes, MPI_BYTE, partner, round, comm); };
    const auto send_other = [&] { MPI_Send(&round, 1, MPI_INT, partner, rounds + 1, comm); };
    if (way == 3) send_other();
    if (rank % 2 == 0) send();
    if (way == 4) send_other();
    MPI_Request posted = MPI_REQUEST_NULL;
    if (way == 3 || way == 4) {
      MPI_Irecv(early.data(), 4, MPI_BYTE, partner, way == 3 ? MPI_ANY_TAG : rounds + 1, comm,
                &posted);
    }
    MPI_Status status;
    const int room = way == 5 ? bytes / 2 : bytes + 1;
    const int error = MPI_Recv(in.data(), room, MPI_BYTE, way == 1 ? MPI_ANY_SOURCE : partner,
                               way == 2 ? MPI_ANY_TAG : round, comm, &status);
    const bool fits = bytes <= room;
    check_class(error, fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE, "a blocking receive");
    check_status(status, partner, round, fits ? bytes : room, "a blocking receive");
    check_pattern(in, partner + round, fits ? bytes : room, "a blocking receive");
    check_equal(in[fits ? bytes : room], 0xee, "the byte behind a blocking receive");
    MPI_Wait(&posted, MPI_STATUS_IGNORE);
    if (way == 3 || way == 4) check_equal(early[0], round & 0xff, "the other message");
    if (rank % 2 != 0) send();
  }
  MPI_Comm_free(&comm);
}

// Rank 0 takes whatever comes; each sender's messages must come as they were sent.
void order_with_wildcards() {
  constexpr int messages = 220;
  const int rank = rank_in(world), size = size_of(world);
  if (rank != 0) {
    for (int i = 0; i < messages; ++i) {
      const Bytes out = patterned(rank + i, mixed_size(i));
      MPI_Send(out.data(), mixed_size(i), MPI_BYTE, 0, i, world);
    }
    return;
  }
  std::vector<int> next(size, 0);
  Bytes in(70000);
  for (int i = 0; i < messages * (size - 1); ++i) {
    MPI_Status status;
    MPI_Recv(in.data(), 70000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    const int source = status.MPI_SOURCE, index = next[source]++;
    check_status(status, source, index, mixed_size(index), "messages with wildcards");
    check_pattern(in, source + index, mixed_size(index), "messages with wildcards");
  }
}

// Receives that are posted first match in the order in which they were posted, wildcard or not.
void order_of_posted() {
  constexpr int messages = 66;
  const int rank = rank_in(world), size = size_of(world), next = (rank + 1) % size,
            previous = (rank + size - 1) % size;
  std::vector<Bytes> in(messages, Bytes(70000)), out;
  std::vector<MPI_Request> receives(messages), sends(messages);
  for (int i = 0; i < messages; ++i) {
    MPI_Irecv(in[i].data(), 70000, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : previous,
              i % 3 ? 5 : MPI_ANY_TAG, world, &receives[i]);
  }
  MPI_Barrier(world);
  for (int i = 0; i < messages; ++i) {
    out.push_back(patterned(rank + i, mixed_size(i)));
    MPI_Isend(out[i].data(), mixed_size(i), MPI_BYTE, next, 5, world, &sends[i]);
  }
  std::vector<MPI_Status> statuses(messages);
  MPI_Waitall(messages, receives.data(), statuses.data());
  MPI_Waitall(messages, sends.data(), MPI_STATUSES_IGNORE);
  for (int i = 0; i < messages; ++i) {
    check_status(statuses[i], previous, 5, mixed_size(i), "receives posted first");
    check_pattern(in[i], previous + i, mixed_size(i), "receives posted first");
  }
}

// A synchronous send must not complete before its receive exists.
void synchronous() {
  const int rank = rank_in(world), size = size_of(world), partner = rank ^ 1;
  if (partner >= size) return;
  for (int bytes : {0, 100, 100000}) {
    const Bytes out = patterned(rank, bytes);
    Bytes in(bytes);
    MPI_Request request;
    int done = 0;
    MPI_Issend(out.data(), bytes, MPI_BYTE, partner, 1, world, &request);
    for (int i = 0; i < 100; ++i) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      check(!done, "a synchronous send completed before its receive was posted");
    }
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, partner, 2, nullptr, 0, MPI_BYTE, partner, 2, world,
                 MPI_STATUS_IGNORE);
    MPI_Recv(in.data(), bytes, MPI_BYTE, partner, 1, world, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_pattern(in, partner, bytes, "a synchronous send");
  }
}

void buffered() {
  constexpr int messages = 20, bytes = 30000;
  const int rank = rank_in(world), size = size_of(world), next = (rank + 1) % size,
            previous = (rank + size - 1) % size;
  Bytes space(messages * (bytes + MPI_BSEND_OVERHEAD));
  MPI_Buffer_attach(space.data(), static_cast<int>(space.size()));
  for (int i = 0; i < messages; ++i) {
    Bytes out = patterned(rank + i, bytes);
    MPI_Bsend(out.data(), bytes, MPI_BYTE, next, i, world);
    out.assign(bytes, 0);
  }
  Bytes in(bytes);
  for (int i = messages - 1; i >= 0; --i) {
    MPI_Recv(in.data(), bytes, MPI_BYTE, previous, i, world, MPI_STATUS_IGNORE);
    check_pattern(in, previous + i, bytes, "a buffered send");
  }
  void* detached = nullptr;
  int detached_bytes = 0;
  MPI_Buffer_detach(&detached, &detached_bytes);
  check(detached == space.data(), "the buffer that is detached is not the one attached");
  check_equal(detached_bytes, space.size(), "the size of the buffer that is detached");
}

/// A communicator of a session sends from the session's buffer.
void buffered_in_session() {
  constexpr int bytes = 3000;
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group group;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm comm;
  MPI_Comm_create_from_group(group, "buffered_in_session", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  const int rank = rank_in(comm), size = size_of(comm), next = (rank + 1) % size,
            previous = (rank + size - 1) % size;
  const Bytes out = patterned(rank, bytes);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(MPI_Bsend(out.data(), bytes, MPI_BYTE, next, 0, comm), &error_class);
  check_equal(error_class, MPI_ERR_BUFFER, "the error class of MPI_Bsend without a buffer");
  Bytes space(bytes + MPI_BSEND_OVERHEAD);
  MPI_Session_attach_buffer(session, space.data(), static_cast<int>(space.size()));
  MPI_Bsend(out.data(), bytes, MPI_BYTE, next, 0, comm);
  Bytes in(bytes);
  MPI_Recv(in.data(), bytes, MPI_BYTE, previous, 0, comm, MPI_STATUS_IGNORE);
  check_pattern(in, previous, bytes, "a send from a session's buffer");
  MPI_Session_flush_buffer(session);
  void* detached = nullptr;
  int detached_bytes = 0;
  MPI_Session_detach_buffer(session, &detached, &detached_bytes);
  check(detached == space.data(), "the buffer that is detached is not the session's");
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}

void exchanges() {
  const int rank = rank_in(world), size = size_of(world), next = (rank + 1) % size,
            previous = (rank + size - 1) % size;
  for (int bytes : {0, 10, 1000, 50000, size_max}) {
    const Bytes out = patterned(rank, bytes);
    Bytes in(bytes), both = out;
    MPI_Status status;
    MPI_Sendrecv(out.data(), bytes, MPI_BYTE, next, 7, in.data(), bytes, MPI_BYTE, previous, 7,
                 world, &status);
    check_status(status, previous, 7, bytes, "MPI_Sendrecv");
    check_pattern(in, previous, bytes, "MPI_Sendrecv");
    MPI_Sendrecv_replace(both.data(), bytes, MPI_BYTE, next, 8, previous, 8, world, &status);
    check_status(status, previous, 8, bytes, "MPI_Sendrecv_replace");
    check_pattern(both, previous, bytes, "MPI_Sendrecv_replace");
  }
}

void no_process() {
  MPI_Status status;
  int value = 42;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, world, &status);
  check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "a receive from MPI_PROC_NULL");
  check_equal(value, 42, "the buffer of a receive from MPI_PROC_NULL");
  MPI_Probe(MPI_PROC_NULL, 1, world, &status);
  check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "a probe of MPI_PROC_NULL");
}

void to_itself() {
  const int rank = rank_in(world);
  for (int bytes : sizes) {
    const Bytes out = patterned(rank, bytes);
    Bytes in(bytes);
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(out.data(), bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, &request);
    MPI_Recv(in.data(), bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_status(status, 0, 1, bytes, "a message to oneself");
    check_pattern(in, rank, bytes, "a message to oneself");
  }
}

// A message of TYPE must hold what MPI_Pack finds in it, and scatter back to the same places.
void derived(MPI_Datatype type, int count, int extent_bytes) {
  const int rank = rank_in(world), size = size_of(world), next = (rank + 1) % size,
            previous = (rank + size - 1) % size, bytes = count * extent_bytes;
  const Bytes out = patterned(rank, bytes), theirs = patterned(previous, bytes);
  int packed_max = 0, packed = 0, position = 0;
  MPI_Type_commit(&type);
  MPI_Type_size(type, &packed);
  packed *= count;
  MPI_Pack_size(count, type, world, &packed_max);
  Bytes expected(packed_max), in(packed_max), scattered(bytes, 0), expected_scattered(bytes, 0);
  MPI_Pack(theirs.data(), count, type, expected.data(), packed_max, &position, world);
  check_equal(position, packed, "the packed size of a datatype");
  position = 0;
  MPI_Unpack(expected.data(), packed, &position, expected_scattered.data(), count, type, world);
  MPI_Status status;
  MPI_Sendrecv(out.data(), count, type, next, 1, in.data(), packed, MPI_BYTE, previous, 1, world,
               &status);
  check_status(status, previous, 1, packed, "a datatype received as bytes");
  check(in == expected, "a datatype received as bytes differs from MPI_Pack");
  MPI_Sendrecv(out.data(), count, type, next, 1, scattered.data(), count, type, previous, 1, world,
               &status);
  check_status(status, previous, 1, packed, "a datatype received as itself");
  check(scattered == expected_scattered, "a datatype received as itself differs from MPI_Unpack");
  MPI_Type_free(&type);
}

void vectors_by_hand() {
  const int rank = rank_in(world), size = size_of(world), next = (rank + 1) % size,
            previous = (rank + size - 1) % size;
  constexpr int rows = 300;
  std::vector<int> matrix(rows * rows), column(rows);
  for (int i = 0; i < rows * rows; ++i) matrix[i] = rank * 1000000 + i;
  MPI_Datatype type;
  MPI_Type_vector(rows, 1, rows, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(&matrix[5], 1, type, next, 1, column.data(), rows, MPI_INT, previous, 1, world,
               MPI_STATUS_IGNORE);
  for (int i = 0; i < rows; ++i) {
    check_equal(column[i], previous * 1000000 + i * rows + 5, "an element of a column");
  }
  MPI_Type_free(&type);
}

/// Neither end may touch what lies between two blocks: memory that nobody may read.
void forbidden_gaps() {
  const int rank = rank_in(world), size = size_of(world);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const std::size_t block : {24, 48, 200, 1500}) {
    const auto map = [&] {
      void* const memory =
          mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      check(memory != MAP_FAILED, "three pages");
      return static_cast<unsigned char*>(memory);
    };
    unsigned char *const out = map(), *const in = map();
    // At the end of the first page and the start of the last one.
    const Bytes pattern = patterned(rank, static_cast<int>(2 * block));
    std::copy_n(pattern.begin(), block, out + page - block);
    std::copy_n(pattern.begin() + static_cast<std::ptrdiff_t>(block), block, out + 2 * page);
    for (unsigned char* const memory : {out, in})
      check_equal(mprotect(memory + page, page, PROT_NONE), 0, "mprotect");
    MPI_Datatype type;
    MPI_Type_create_hvector(2, static_cast<int>(block), static_cast<MPI_Aint>(page + block),
                            MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(out + page - block, 1, type, next, 0, in + page - block, 1, type, previous, 0,
                 world, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    Bytes received(in + page - block, in + page);
    received.insert(received.end(), in + 2 * page, in + 2 * page + block);
    check_pattern(received, previous, static_cast<int>(2 * block),
                  "blocks around forbidden memory");
    munmap(out, 3 * page);
    munmap(in, 3 * page);
  }
}

void derived_types() {
  vectors_by_hand();
  forbidden_gaps();
  for (int count : {0, 1, 3, 2000}) {
    MPI_Datatype type, strided;
    MPI_Type_vector(3, 2, 4, MPI_INT, &strided);
    MPI_Type_create_resized(strided, 0, 48, &type);
    MPI_Type_free(&strided);
    derived(type, count, 48);

    const std::array lengths{1, 3, 2};
    const std::array displacements{4, 0, 6};
    MPI_Type_indexed(3, lengths.data(), displacements.data(), MPI_SHORT, &strided);
    MPI_Type_create_resized(strided, 0, 20, &type);
    MPI_Type_free(&strided);
    derived(type, count, 20);

    const std::array<MPI_Aint, 3> offsets{16, 0, 9};
    const std::array types{MPI_DOUBLE, MPI_CHAR, MPI_CHAR};
    const std::array blocks{1, 3, 2};
    MPI_Type_create_struct(3, blocks.data(), offsets.data(), types.data(), &type);
    derived(type, count, 24);
  }
}

}  // namespace

int main() {
  const Mpi mpi;
  // A barrier after each: its wildcards must not find messages of the next.
  for (const auto section :
       {ring, every_pair_and_size, longer_than_caches, truncation, blocking_receives,
        order_with_wildcards, order_of_posted, synchronous, buffered, buffered_in_session,
        exchanges, no_process, to_itself, derived_types}) {
    section();
    MPI_Barrier(world);
  }
  passed("p2p");
}
