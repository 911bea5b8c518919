/* Plain UDP datagrams, to compare softrdma with:
 *     udp server latency|bandwidth BYTES      udp client latency|bandwidth BYTES ADDRESS
 * Both ends poll. The client prints microseconds one way, or the server megabytes a second. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { port = 5999, batch = 32, round_trips = 20000, datagrams = 320000, bytes_max = 9000 };

static char memory[batch][bytes_max];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void prepare(struct mmsghdr* messages, struct iovec* parts, size_t bytes,
                    struct sockaddr_in* to) {
  memset(messages, 0, batch * sizeof(*messages));
  for (int i = 0; i < batch; ++i) {
    parts[i] = (struct iovec){memory[i], bytes};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
    messages[i].msg_hdr.msg_name = to;
    messages[i].msg_hdr.msg_namelen = to == NULL ? 0 : sizeof(*to);
  }
}

static void serve_latency(int fd) {
  for (int answered = 0; answered < round_trips;) {
    struct sockaddr_in from;
    socklen_t length = sizeof(from);
    const ssize_t got =
        recvfrom(fd, memory[0], bytes_max, MSG_DONTWAIT, (struct sockaddr*)&from, &length);
    if (got < 0) continue;
    sendto(fd, memory[0], (size_t)got, 0, (struct sockaddr*)&from, length);
    ++answered;
  }
}

/* Until a datagram of one byte: the client has sent all. */
static void serve_bandwidth(int fd) {
  struct mmsghdr messages[batch];
  struct iovec parts[batch];
  double began = 0;
  double bytes = 0;
  for (;;) {
    prepare(messages, parts, bytes_max, NULL);
    const int got = recvmmsg(fd, messages, batch, MSG_DONTWAIT, NULL);
    for (int i = 0; i < got; ++i) {
      if (messages[i].msg_len == 1) {
        printf("%.1f\n", bytes / (now() - began) / 1e6);
        return;
      }
      if (bytes == 0) began = now();
      bytes += messages[i].msg_len;
    }
  }
}

static int compare(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return difference < 0 ? -1 : difference > 0;
}

/* The median, as perftest's typical latency is: a machine that does something else now and then
 * spoils the mean. */
static void measure_latency(int fd, size_t bytes, struct sockaddr_in* to) {
  static double took[round_trips];
  for (int i = 0; i < round_trips; ++i) {
    const double began = now();
    sendto(fd, memory[0], bytes, 0, (struct sockaddr*)to, sizeof(*to));
    while (recv(fd, memory[0], bytes_max, MSG_DONTWAIT) < 0) {
    }
    took[i] = now() - began;
  }
  qsort(took, round_trips, sizeof(took[0]), compare);
  printf("%.2f\n", took[round_trips / 2] / 2 * 1e6);
}

static void send_all(int fd, size_t bytes, struct sockaddr_in* to) {
  struct mmsghdr messages[batch];
  struct iovec parts[batch];
  prepare(messages, parts, bytes, to);
  for (int sent = 0; sent < datagrams; sent += batch) sendmmsg(fd, messages, batch, 0);
  const struct timespec pause = {0, 200000000};
  nanosleep(&pause, NULL);
  sendto(fd, memory[0], 1, 0, (struct sockaddr*)to, sizeof(*to));
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int is_server = strcmp(argv[1], "server") == 0;
  const int measures_latency = strcmp(argv[2], "latency") == 0;
  const size_t bytes = (size_t)atol(argv[3]);
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const int buffer_bytes = 4 << 20;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof(buffer_bytes));
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  if (is_server) {
    if (bind(fd, (struct sockaddr*)&address, sizeof(address)) != 0) return 1;
    puts("ready");
    fflush(stdout);
    if (measures_latency) serve_latency(fd);
    if (!measures_latency) serve_bandwidth(fd);
  } else {
    if (argc < 5 || inet_pton(AF_INET, argv[4], &address.sin_addr) != 1) return 2;
    if (measures_latency) measure_latency(fd, bytes, &address);
    if (!measures_latency) send_all(fd, bytes, &address);
  }
  return 0;
}
