/* XRC between processes: a target queue pair that outlives the process that made it, and delivers
 * into receive queues of two others.
 *
 *     xrc one-host|two-hosts
 *
 * Four processes: the creator makes the target queue pair and is killed in the middle; the keeper
 * has it open too, and a receive queue; the guest has a receive queue alone; the sender sends to
 * both in turn. Says what went wrong and ends with 1, or says "done". */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { messages = 4000, bytes_max = 6000, depth = 64, receivers = 2, limit_s = 20 };

/* What they tell each other; 0: not yet. */
struct shared {
  atomic_uint target, target_lid, target_is_ready;
  atomic_uint sender, sender_lid, sent;
  atomic_uint queue[receivers];
  atomic_uint received[receivers];
};
static struct shared* shared;
static int domain_file; /* a descriptor that all inherit */

static void fail(const char* who, const char* what) {
  fprintf(stderr, "xrc: %s: %s\n", who, what);
  exit(1);
}

static void check(int is_right, const char* who, const char* what) {
  if (!is_right) fail(who, what);
}

static unsigned wait_for(atomic_uint* word, unsigned least, const char* who, const char* what) {
  for (int i = 0; i < limit_s * 1000; ++i) {
    const unsigned value = atomic_load(word);
    if (value >= least) return value;
    usleep(1000);
  }
  fail(who, what);
  return 0;
}

/* Message NUMBER: how long it is, what is in it, and whom it is for. */
static unsigned length_of(unsigned number) { return 4 + number * 97 % (bytes_max - 4); }
static unsigned receiver_of(unsigned number) { return number * number / 3 % receivers; }
static void fill(unsigned char* message, unsigned number) {
  for (unsigned i = 0; i < length_of(number); ++i) message[i] = (unsigned char)(number + i);
}

struct device {
  struct ibv_context* context;
  struct ibv_pd* domain;
  struct ibv_cq* completions;
  struct ibv_mr* region;
  unsigned char* memory;
  unsigned lid;
};

static struct device open_device(const char* who) {
  struct device device = {0};
  struct ibv_device** list = ibv_get_device_list(NULL);
  check(list != NULL && list[0] != NULL, who, "there is no device");
  device.context = ibv_open_device(list[0]);
  check(device.context != NULL, who, "the device can't be opened");
  struct ibv_port_attr port;
  check(ibv_query_port(device.context, 1, &port) == 0, who, "there is no port");
  device.lid = port.lid;
  device.domain = ibv_alloc_pd(device.context);
  device.completions = ibv_create_cq(device.context, 2 * depth, NULL, NULL, 0);
  const size_t bytes = (size_t)depth * bytes_max;
  device.memory = calloc(1, bytes);
  device.region = ibv_reg_mr(device.domain, device.memory, bytes,
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  check(device.region != NULL, who, "no memory region");
  return device;
}

static struct ibv_xrcd* open_domain(struct ibv_context* context, int flags, const char* who) {
  struct ibv_xrcd_init_attr attributes = {
      .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
      .fd = domain_file,
      .oflags = flags};
  struct ibv_xrcd* domain = ibv_open_xrcd(context, &attributes);
  check(domain != NULL, who, "no XRC domain");
  return domain;
}

static struct ibv_qp_attr address_of(unsigned lid, unsigned number) {
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_RTR,
                                   .path_mtu = IBV_MTU_1024,
                                   .dest_qp_num = number,
                                   .rq_psn = 11,
                                   .max_dest_rd_atomic = 1,
                                   .min_rnr_timer = 1,
                                   .ah_attr = {.dlid = (uint16_t)lid, .port_num = 1}};
  return attributes;
}

static void to_init(struct ibv_qp* qp, const char* who) {
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_INIT, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE, .port_num = 1};
  check(ibv_modify_qp(qp, &attributes,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
        who, "not to INIT");
}

static void to_rtr(struct ibv_qp* qp, unsigned lid, unsigned number, const char* who) {
  struct ibv_qp_attr attributes = address_of(lid, number);
  check(ibv_modify_qp(qp, &attributes,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
        who, "not to RTR");
}

static void create(void) {
  const char* who = "creator";
  struct device device = open_device(who);
  struct ibv_qp_init_attr_ex attributes = {.qp_type = IBV_QPT_XRC_RECV,
                                           .comp_mask = IBV_QP_INIT_ATTR_XRCD,
                                           .xrcd = open_domain(device.context, O_CREAT, who)};
  struct ibv_qp* target = ibv_create_qp_ex(device.context, &attributes);
  check(target != NULL, who, "no target queue pair");
  to_init(target, who);
  atomic_store(&shared->target_lid, device.lid);
  atomic_store(&shared->target, target->qp_num);
  for (;;) pause();
}

static void post_receive(struct device* device, struct ibv_srq* queue, unsigned place,
                         const char* who) {
  struct ibv_sge entry = {.addr = (uintptr_t)(device->memory + (size_t)place * bytes_max),
                          .length = bytes_max,
                          .lkey = device->region->lkey};
  struct ibv_recv_wr work = {.wr_id = place, .sg_list = &entry, .num_sge = 1};
  struct ibv_recv_wr* bad;
  check(ibv_post_srq_recv(queue, &work, &bad) == 0, who, "no receive posted");
}

static void receive(unsigned self) {
  const char* who = self == 0 ? "keeper" : "guest";
  const unsigned number = wait_for(&shared->target, 1, who, "no target queue pair came to be");
  struct device device = open_device(who);
  struct ibv_xrcd* domain = open_domain(device.context, 0, who);
  struct ibv_srq_init_attr_ex wanted = {.attr = {.max_wr = depth, .max_sge = 1},
                                        .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
                                                     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
                                        .srq_type = IBV_SRQT_XRC,
                                        .pd = device.domain,
                                        .xrcd = domain,
                                        .cq = device.completions};
  struct ibv_srq* queue = ibv_create_srq_ex(device.context, &wanted);
  check(queue != NULL, who, "no receive queue");
  for (unsigned i = 0; i < depth; ++i) post_receive(&device, queue, i, who);
  uint32_t queue_number = 0;
  check(ibv_get_srq_num(queue, &queue_number) == 0, who, "the receive queue has no number");
  if (self == 0) {
    struct ibv_qp_open_attr opened = {
        .comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
        .qp_num = number,
        .xrcd = domain,
        .qp_type = IBV_QPT_XRC_RECV};
    struct ibv_qp* target = ibv_open_qp(device.context, &opened);
    check(target != NULL, who, "the target queue pair can't be opened");
    /* The creator brought it to INIT; here it goes on. */
    const unsigned sender = wait_for(&shared->sender, 1, who, "there is no sender");
    to_rtr(target, atomic_load(&shared->sender_lid), sender, who);
    atomic_store(&shared->target_is_ready, 1);
  }
  atomic_store(&shared->queue[self], queue_number);

  static unsigned char expected[bytes_max];
  unsigned number_of_next = 0;
  const time_t end = time(NULL) + limit_s;
  while (time(NULL) < end) {
    while (number_of_next < messages && receiver_of(number_of_next) != self) ++number_of_next;
    if (number_of_next == messages) return;
    struct ibv_wc wc;
    const int count = ibv_poll_cq(device.completions, 1, &wc);
    if (count == 0) continue;
    check(count == 1 && wc.status == IBV_WC_SUCCESS, who, "a receive failed");
    fill(expected, number_of_next);
    check(wc.byte_len == length_of(number_of_next) &&
              memcmp(device.memory + wc.wr_id * bytes_max, expected, wc.byte_len) == 0,
          who, "a message is not what was sent, or not in its turn");
    post_receive(&device, queue, (unsigned)wc.wr_id, who);
    atomic_fetch_add(&shared->received[self], 1);
    ++number_of_next;
  }
  fail(who, "messages are missing");
}

static void post_message(struct device* device, struct ibv_qp* qp, unsigned number,
                         const char* who) {
  unsigned char* message = device->memory + (size_t)(number % depth) * bytes_max;
  fill(message, number);
  struct ibv_sge entry = {
      .addr = (uintptr_t)message, .length = length_of(number), .lkey = device->region->lkey};
  struct ibv_send_wr work = {.wr_id = number,
                             .sg_list = &entry,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED};
  work.qp_type.xrc.remote_srqn = atomic_load(&shared->queue[receiver_of(number)]);
  struct ibv_send_wr* bad;
  check(ibv_post_send(qp, &work, &bad) == 0, who, "no message posted");
}

static void send_all(void) {
  const char* who = "sender";
  struct device device = open_device(who);
  struct ibv_qp_init_attr_ex attributes = {.send_cq = device.completions,
                                           .cap = {.max_send_wr = depth, .max_send_sge = 1},
                                           .qp_type = IBV_QPT_XRC_SEND,
                                           .comp_mask = IBV_QP_INIT_ATTR_PD,
                                           .pd = device.domain};
  struct ibv_qp* qp = ibv_create_qp_ex(device.context, &attributes);
  check(qp != NULL, who, "no queue pair");
  to_init(qp, who);
  const unsigned target = wait_for(&shared->target, 1, who, "no target queue pair came to be");
  to_rtr(qp, atomic_load(&shared->target_lid), target, who);
  struct ibv_qp_attr ready = {.qp_state = IBV_QPS_RTS,
                              .sq_psn = 11,
                              .timeout = 14,
                              .retry_cnt = 7,
                              .rnr_retry = 7,
                              .max_rd_atomic = 1};
  check(ibv_modify_qp(qp, &ready,
                      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                          IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
        who, "not to RTS");
  atomic_store(&shared->sender_lid, device.lid);
  atomic_store(&shared->sender, qp->qp_num);
  wait_for(&shared->target_is_ready, 1, who, "the target queue pair did not get ready");
  for (int i = 0; i < receivers; ++i)
    wait_for(&shared->queue[i], 1, who, "a receive queue is missing");
  unsigned posted = 0;
  unsigned done = 0;
  const time_t end = time(NULL) + limit_s;
  while (time(NULL) < end) {
    if (done == messages) return;
    if (posted < messages && posted - done < 8) post_message(&device, qp, posted++, who);
    struct ibv_wc wc;
    const int count = ibv_poll_cq(device.completions, 1, &wc);
    if (count == 0) continue;
    if (count < 0 || wc.status != IBV_WC_SUCCESS) fail(who, ibv_wc_status_str(wc.status));
    atomic_store(&shared->sent, ++done);
  }
  fail(who, "messages were not answered");
}

/* In a process of its own; of two hosts, on the one with ADDRESS. */
static pid_t start(void (*run)(void), const char* fabric, const char* address) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (address != NULL) {
    setenv("SOFTRDMA_FABRIC", fabric, 1);
    setenv("SOFTRDMA_ADDRESS", address, 1);
  }
  run();
  exit(0);
}

static void keep(void) { receive(0); }
static void visit(void) { receive(1); }

int main(int count, char** arguments) {
  const int has_two = count == 2 && strcmp(arguments[1], "two-hosts") == 0;
  FILE* file = tmpfile();
  if (file == NULL) return 1;
  domain_file = fileno(file);
  shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  char here[64];
  char there[64];
  snprintf(here, sizeof(here), "xrc.%d.a", getpid());
  snprintf(there, sizeof(there), "xrc.%d.b", getpid());
  const char* own = has_two ? "127.0.0.1" : NULL;
  const pid_t creator = start(create, here, own);
  const pid_t others[] = {start(keep, here, own), start(visit, here, own),
                          start(send_all, there, has_two ? "127.0.0.2" : NULL)};
  /* In the middle of it all. */
  for (int i = 0; i < limit_s * 1000 && atomic_load(&shared->sent) < messages / 3; ++i)
    usleep(1000);
  kill(creator, SIGKILL);
  waitpid(creator, NULL, 0);
  int failed = 0;
  for (int i = 0; i < 3; ++i) {
    int status;
    waitpid(others[i], &status, 0);
    failed |= status != 0;
  }
  fclose(file);
  if (failed) return 1;
  printf("done: %u and %u messages\n", atomic_load(&shared->received[0]),
         atomic_load(&shared->received[1]));
  return 0;
}
