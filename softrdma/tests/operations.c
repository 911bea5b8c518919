/* The operations that perftest lacks, short and long: immediate data and invalidation.
 *
 *     operations -c RC|UC|UD|XRC -p PORT [SERVER]
 *
 * A server, and with SERVER its client, which sends one message of each kind; the server compares
 * all that a completion says and every byte. Says what went wrong and ends with 1. */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { port_number = 1, grh_bytes = 40, slot_bytes = 8192, messages_max = 8, limit_s = 20 };
enum { first_packet = 77, first_immediate = 1000, queue_key = 0x5555 };

struct message {
  enum ibv_wr_opcode opcode;
  uint32_t bytes;
};

static const struct message all[] = {
    {IBV_WR_SEND_WITH_IMM, 64},       {IBV_WR_SEND_WITH_IMM, 4000},
    {IBV_WR_RDMA_WRITE_WITH_IMM, 64}, {IBV_WR_RDMA_WRITE_WITH_IMM, 4000},
    {IBV_WR_SEND_WITH_INV, 64},       {IBV_WR_SEND_WITH_INV, 4000},
};

struct kind {
  const char* name;
  enum ibv_qp_type sends, receives;
  int messages; /* of all, from the first on */
};

/* A window is its queue pair's: XRC has none that receives and binds. */
static const struct kind kinds[] = {
    {"RC", IBV_QPT_RC, IBV_QPT_RC, 6},
    {"UC", IBV_QPT_UC, IBV_QPT_UC, 4},
    {"UD", IBV_QPT_UD, IBV_QPT_UD, 1},
    {"XRC", IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, 4},
};

/* What the ends tell each other. */
struct card {
  union ibv_gid gid;
  uint64_t address;
  uint32_t lid, queue_pair, receive_queue, key;
  uint32_t windows[messages_max]; /* by message; their keys */
};

struct end {
  struct ibv_context* context;
  struct ibv_port_attr port;
  struct ibv_pd* domain;
  struct ibv_cq* completions;
  struct ibv_mr* region;
  struct ibv_srq* receives;
  struct ibv_qp* qp;
  unsigned char* memory; /* a slot for each message */
};

static void fail(const char* what) {
  fprintf(stderr, "operations: %s\n", what);
  exit(1);
}

static void check(int is_right, const char* what) {
  if (!is_right) fail(what);
}

static void fill(unsigned char* slot, int number) {
  for (uint32_t i = 0; i < all[number].bytes; ++i) slot[i] = (unsigned char)(number * 31 + i);
}

static struct end open_end(const struct kind* kind, int is_server) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  struct end end = {.context = list == NULL || list[0] == NULL ? NULL : ibv_open_device(list[0])};
  check(end.context != NULL && ibv_query_port(end.context, port_number, &end.port) == 0,
        "there is no device");
  end.domain = ibv_alloc_pd(end.context);
  end.completions = ibv_create_cq(end.context, 64, NULL, NULL, 0);
  end.memory = calloc(messages_max, slot_bytes);
  end.region = ibv_reg_mr(end.domain, end.memory, messages_max * slot_bytes,
                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
  check(end.region != NULL, "no memory region");
  struct ibv_qp_init_attr_ex made = {.send_cq = end.completions,
                                     .recv_cq = end.completions,
                                     .cap = {messages_max, messages_max, 1, 1, 0},
                                     .qp_type = is_server ? kind->receives : kind->sends,
                                     .comp_mask = IBV_QP_INIT_ATTR_PD,
                                     .pd = end.domain};
  if (made.qp_type == IBV_QPT_XRC_RECV) {
    struct ibv_xrcd_init_attr whole = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = 0100};
    made.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    made.xrcd = ibv_open_xrcd(end.context, &whole);
    struct ibv_srq_init_attr_ex wanted = {
        .attr = {.max_wr = messages_max, .max_sge = 1},
        .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                     IBV_SRQ_INIT_ATTR_CQ,
        .srq_type = IBV_SRQT_XRC,
        .pd = end.domain,
        .xrcd = made.xrcd,
        .cq = end.completions};
    end.receives = made.xrcd == NULL ? NULL : ibv_create_srq_ex(end.context, &wanted);
    check(end.receives != NULL, "no receive queue of XRC");
  }
  end.qp = ibv_create_qp_ex(end.context, &made);
  check(end.qp != NULL, "no queue pair");
  return end;
}

static struct card card_of(const struct end* end) {
  struct card card = {.address = (uintptr_t)end->memory,
                      .lid = end->port.lid,
                      .queue_pair = end->qp->qp_num,
                      .key = end->region->rkey};
  check(ibv_query_gid(end->context, port_number, 0, &card.gid) == 0, "there is no GID");
  if (end->receives != NULL) ibv_get_srq_num(end->receives, &card.receive_queue);
  return card;
}

static struct ibv_ah_attr address_of(const struct end* end, const struct card* peer) {
  struct ibv_ah_attr address = {.dlid = (uint16_t)peer->lid, .port_num = port_number};
  if (end->port.link_layer == IBV_LINK_LAYER_ETHERNET) {
    address.is_global = 1;
    address.grh.dgid = peer->gid;
    address.grh.hop_limit = 64;
  }
  return address;
}

static void connect_to(struct end* end, const struct card* peer) {
  const enum ibv_qp_type type = end->qp->qp_type;
  const int is_ud = type == IBV_QPT_UD;
  const int is_reliable = !is_ud && type != IBV_QPT_UC;
  struct ibv_qp_attr how = {.qp_state = IBV_QPS_INIT,
                            .port_num = port_number,
                            .qkey = queue_key,
                            .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = peer->queue_pair,
                            .rq_psn = first_packet,
                            .sq_psn = first_packet,
                            .ah_attr = address_of(end, peer),
                            .timeout = 14,
                            .retry_cnt = 7,
                            .rnr_retry = 7,
                            .min_rnr_timer = 1};
  int failed = ibv_modify_qp(
      end->qp, &how,
      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (is_ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
  how.qp_state = IBV_QPS_RTR;
  const int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  const int reliable = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  failed |= ibv_modify_qp(end->qp, &how,
                          IBV_QP_STATE | (is_ud ? 0 : connected) | (is_reliable ? reliable : 0));
  how.qp_state = IBV_QPS_RTS;
  const int repeats =
      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  if (type != IBV_QPT_XRC_RECV)
    failed |=
        ibv_modify_qp(end->qp, &how, IBV_QP_STATE | IBV_QP_SQ_PSN | (is_reliable ? repeats : 0));
  check(!failed, "the queue pair can't be connected");
}

static struct ibv_wc next_completion(struct end* end) {
  struct ibv_wc wc;
  for (const time_t late = time(NULL) + limit_s; time(NULL) < late;) {
    const int count = ibv_poll_cq(end->completions, 1, &wc);
    if (count == 0) continue;
    if (count < 0 || wc.status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(wc.status));
    return wc;
  }
  fail("a completion is missing");
  return wc;
}

/* A window on the slot of a message that ends it. Returns its key. */
static uint32_t bind_window(struct end* end, int number) {
  struct ibv_mw* window = ibv_alloc_mw(end->domain, IBV_MW_TYPE_2);
  check(window != NULL, "no memory window");
  struct ibv_send_wr work = {.wr_id = 1, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
  work.bind_mw.mw = window;
  work.bind_mw.rkey = ibv_inc_rkey(window->rkey);
  work.bind_mw.bind_info =
      (struct ibv_mw_bind_info){.mr = end->region,
                                .addr = (uintptr_t)end->memory + (uint64_t)number * slot_bytes,
                                .length = slot_bytes,
                                .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  struct ibv_send_wr* bad;
  check(ibv_post_send(end->qp, &work, &bad) == 0, "the window can't be bound");
  next_completion(end);
  return work.bind_mw.rkey;
}

static void post_receives(struct end* end, const struct kind* kind) {
  for (int i = 0; i < kind->messages; ++i) {
    struct ibv_sge slot = {(uintptr_t)end->memory + (uint64_t)i * slot_bytes, slot_bytes,
                           end->region->lkey};
    struct ibv_recv_wr work = {.wr_id = (uint64_t)i, .sg_list = &slot, .num_sge = 1};
    struct ibv_recv_wr* bad;
    check((end->receives != NULL ? ibv_post_srq_recv(end->receives, &work, &bad)
                                 : ibv_post_recv(end->qp, &work, &bad)) == 0,
          "no receive posted");
  }
}

/* Message NUMBER as it came. */
static void compare(struct end* end, const struct kind* kind, int number, const uint32_t* windows) {
  const struct ibv_wc wc = next_completion(end);
  const int is_ud = kind->receives == IBV_QPT_UD;
  const enum ibv_wr_opcode opcode = all[number].opcode;
  static unsigned char expected[slot_bytes];
  fill(expected, number);
  check(wc.wr_id == (uint64_t)number, "a message is not in its turn");
  check(
      wc.opcode == (opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV),
      "a completion has the wrong operation");
  check(wc.byte_len == all[number].bytes + (is_ud ? grh_bytes : 0),
        "a message has the wrong length");
  if (opcode == IBV_WR_SEND_WITH_INV) {
    check((wc.wc_flags & IBV_WC_WITH_INV) != 0 && wc.invalidated_rkey == windows[number],
          "another key was invalidated");
  } else {
    check((wc.wc_flags & IBV_WC_WITH_IMM) != 0 &&
              wc.imm_data == htonl((uint32_t)(first_immediate + number)),
          "the immediate data are wrong");
  }
  const unsigned char* slot = end->memory + (size_t)number * slot_bytes + (is_ud ? grh_bytes : 0);
  check(memcmp(slot, expected, all[number].bytes) == 0, "a message is not what was sent");
}

static void send_message(struct end* end, const struct card* peer, struct ibv_ah* way, int number) {
  unsigned char* message = end->memory + (size_t)number * slot_bytes;
  fill(message, number);
  struct ibv_sge entry = {(uintptr_t)message, all[number].bytes, end->region->lkey};
  struct ibv_send_wr work = {.wr_id = (uint64_t)number,
                             .sg_list = &entry,
                             .num_sge = 1,
                             .opcode = all[number].opcode,
                             .send_flags = IBV_SEND_SIGNALED,
                             .imm_data = htonl((uint32_t)(first_immediate + number))};
  if (work.opcode == IBV_WR_SEND_WITH_INV) work.invalidate_rkey = peer->windows[number];
  if (way != NULL) {
    work.wr.ud.ah = way;
    work.wr.ud.remote_qpn = peer->queue_pair;
    work.wr.ud.remote_qkey = queue_key;
  } else {
    work.wr.rdma.remote_addr = peer->address + (uint64_t)number * slot_bytes;
    work.wr.rdma.rkey = peer->key;
    work.qp_type.xrc.remote_srqn = peer->receive_queue;
  }
  struct ibv_send_wr* bad;
  check(ibv_post_send(end->qp, &work, &bad) == 0, "a message can't be posted");
  check(next_completion(end).wr_id == (uint64_t)number, "the wrong message is done");
}

/* The other end: waits for it, or goes to SERVER. */
static int meet(const char* server, const char* port) {
  struct addrinfo hints = {
      .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
  struct addrinfo* found = NULL;
  check(getaddrinfo(server, port, &hints, &found) == 0, "there is no such server");
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (server != NULL) {
    check(connect(fd, found->ai_addr, found->ai_addrlen) == 0, "the server can't be reached");
  } else {
    check(bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 1) == 0,
          "the port can't be listened to");
    fd = accept(fd, NULL, NULL);
  }
  freeaddrinfo(found);
  return fd;
}

static struct card exchange(int fd, const struct card* own) {
  struct card peer;
  check(write(fd, own, sizeof(*own)) == sizeof(*own) &&
            recv(fd, &peer, sizeof(peer), MSG_WAITALL) == sizeof(peer),
        "the other end has gone");
  return peer;
}

int main(int count, char** arguments) {
  const struct kind* kind = &kinds[0];
  const char* port = "18515";
  int option;
  while ((option = getopt(count, arguments, "c:p:")) != -1) {
    if (option == 'p') port = optarg;
    for (size_t i = 0; option == 'c' && i < sizeof(kinds) / sizeof(kinds[0]); ++i)
      if (strcmp(kinds[i].name, optarg) == 0) kind = &kinds[i];
  }
  const char* server = optind < count ? arguments[optind] : NULL;
  struct end end = open_end(kind, server == NULL);
  const int fd = meet(server, port);
  struct card own = card_of(&end);
  struct card peer = exchange(fd, &own);
  connect_to(&end, &peer);
  if (server == NULL) {
    for (int i = 0; i < kind->messages; ++i)
      if (all[i].opcode == IBV_WR_SEND_WITH_INV) own.windows[i] = bind_window(&end, i);
    post_receives(&end, kind);
  }
  peer = exchange(fd, &own);
  struct ibv_ah_attr way = address_of(&end, &peer);
  struct ibv_ah* handle = kind->sends == IBV_QPT_UD ? ibv_create_ah(end.domain, &way) : NULL;
  for (int i = 0; i < kind->messages; ++i) {
    if (server == NULL) compare(&end, kind, i, own.windows);
    if (server != NULL) send_message(&end, &peer, handle, i);
  }
  exchange(fd, &own);
  return 0;
}
