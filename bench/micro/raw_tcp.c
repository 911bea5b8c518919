/* What bare sockets do, for comparison with an MPI library over TCP: two ranks, and a connection of
 * their own over the loopback interface, or to ADDRESS (the last argument) of rank 0's host. The
 * same exchanges as `latency` and `stream`, or as one of them if it is named: "raw_latency BYTES
 * MICROSECONDS" one way, polled; "raw_bandwidth BYTES MEGABYTES-PER-SECOND". With `line` likewise.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "line.h"
#include "micro.h"

enum { raw_window = 64 };

static void require(bool holds, const char* call) {
  if (holds) return;
  perror(call);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static struct sockaddr_in place_of(const char* host, int port) {
  struct sockaddr_in address = {0};
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)port);
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
    give_up("raw_tcp takes an address of rank 0's host, of IP version 4");
  return address;
}

/* The connection between both ranks, by address HOST of rank 0's. */
static int connected_socket(int rank, const char* host) {
  const int one = 1;
  int port = 0, connection = socket(AF_INET, SOCK_STREAM, 0), listener = -1;
  require(connection >= 0, "socket");
  if (rank == 0) {
    struct sockaddr_in address = place_of(host, 0);
    socklen_t bytes = sizeof address;
    listener = connection;
    require(bind(listener, (struct sockaddr*)&address, bytes) == 0, "bind");
    require(listen(listener, 1) == 0, "listen");
    require(getsockname(listener, (struct sockaddr*)&address, &bytes) == 0, "getsockname");
    port = ntohs(address.sin_port);
  }
  MPI_Bcast(&port, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    connection = accept(listener, NULL, NULL);
    require(connection >= 0, "accept");
    close(listener);
  } else {
    const struct sockaddr_in address = place_of(host, port);
    require(connect(connection, (const struct sockaddr*)&address, sizeof address) == 0, "connect");
  }
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return connection;
}

static void send_all(int connection, const char* from, size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(connection, from, bytes, 0);
    require(sent > 0, "send");
    from += sent;
    bytes -= (size_t)sent;
  }
}

/* Polls for a while, then sleeps, as MPI libraries do. */
static void receive_all(int connection, char* to, size_t bytes) {
  const int polls = 1000;
  int left = polls;
  while (bytes > 0) {
    const ssize_t got = recv(connection, to, bytes, left > 0 ? MSG_DONTWAIT : 0);
    if (got < 0 && errno == EAGAIN) {
      --left;
      continue;
    }
    require(got > 0, "recv");
    left = polls;
    to += got;
    bytes -= (size_t)got;
  }
}

static double raw_one_way(int connection, char* memory, size_t bytes, long rounds, int rank) {
  const double began = MPI_Wtime();
  for (long i = 0; i < rounds; ++i) {
    if (rank == 0) send_all(connection, memory, bytes);
    receive_all(connection, memory, bytes);
    if (rank == 1) send_all(connection, memory, bytes);
  }
  return (MPI_Wtime() - began) / (double)rounds / 2;
}

static double raw_per_message(int connection, char* memory, size_t bytes, long windows, int rank) {
  char answer = 0;
  const double began = MPI_Wtime();
  for (long w = 0; w < windows; ++w) {
    for (int i = 0; i < raw_window; ++i) {
      if (rank == 0) send_all(connection, memory, bytes);
      if (rank == 1) receive_all(connection, memory, bytes);
    }
    if (rank == 0) receive_all(connection, &answer, 1);
    if (rank == 1) send_all(connection, &answer, 1);
  }
  return (MPI_Wtime() - began) / (double)windows / raw_window;
}

static void print_latency(int connection, char* memory, size_t bytes, int rank, Line* line) {
  const long trial = 20, rounds_min = 4, rounds_max = 20000;
  const double batch_seconds = 0.01;
  raw_one_way(connection, memory, bytes, trial, rank);
  const long rounds =
      repetitions(batch_seconds, 2 * raw_one_way(connection, memory, bytes, trial, rank),
                  rounds_min, rounds_max);
  Batches all;
  begin_batches(&all, line);
  for (int i = 0; i < batches; ++i)
    add_batch(&all, 1e6 * raw_one_way(connection, memory, bytes, rounds, rank));
  print_batches(&all, "raw_latency", (int)bytes, 4);
}

static void print_bandwidth(int connection, char* memory, size_t bytes, int rank, Line* line) {
  const long windows_min = 1, windows_max = 1000;
  const double batch_seconds = 0.02;
  raw_per_message(connection, memory, bytes, 1, rank);
  const double once = raw_window * raw_per_message(connection, memory, bytes, 2, rank);
  const long windows = repetitions(batch_seconds, once, windows_min, windows_max);
  Batches all;
  begin_batches(&all, line);
  for (int i = 0; i < batches; ++i)
    add_batch(&all,
              1e-6 * (double)bytes / raw_per_message(connection, memory, bytes, windows, rank));
  print_batches(&all, "raw_bandwidth", (int)bytes, 2);
}

void run_raw_tcp(int argc, char** argv) {
  require_ranks(2);
  const bool only_latency = has_argument(argc, argv, "latency");
  const bool only_stream = has_argument(argc, argv, "stream");
  const int words = only_latency + only_stream + has_argument(argc, argv, "line");
  const size_t bytes_max = 4 << 20;
  const int rank = world_rank();
  const int connection = connected_socket(rank, argc > words ? argv[argc - 1] : "127.0.0.1");
  Line* line = line_if_named(argc, argv);
  char* memory = allocate(bytes_max);
  memset(memory, 1, bytes_max);
  for (size_t bytes = 1; bytes <= bytes_max; bytes = (size_t)next_length((int)bytes)) {
    if (!only_stream) print_latency(connection, memory, bytes, rank, line);
    if (!only_latency) print_bandwidth(connection, memory, bytes, rank, line);
  }
  free_line(line);
  close(connection);
  free(memory);
}
