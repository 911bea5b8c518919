/* Two devices of one process, in two fabrics with addresses of their own, as if they were two
 * hosts: messages go from one to the other and back, by UDP.
 *
 *   linked ADDRESS ADDRESS MESSAGES */
#include <infiniband/verbs.h>
#include <softrdma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"

enum { bytes = 4096, polls_max = 100000000 };

static char memory[2][bytes]; /* of both ends */

static struct ibv_device* create(const char* address) {
  char sentence[200];
  struct softrdma_device_attributes attributes = {.fabric = "", .addresses = address};
  struct ibv_device* const device = softrdma_create_device(&attributes, sentence, sizeof(sentence));
  if (device == NULL) die(sentence);
  return device;
}

static void post_receive(struct end* end) {
  struct ibv_sge entry = {(uintptr_t)end->region->addr, bytes, end->region->lkey};
  struct ibv_recv_wr work = {.sg_list = &entry, .num_sge = 1};
  struct ibv_recv_wr* bad;
  if (ibv_post_recv(end->qp, &work, &bad) != 0) die("posting a receive failed");
}

static void post_send(struct end* end) {
  struct ibv_sge entry = {(uintptr_t)end->region->addr, bytes, end->region->lkey};
  struct ibv_send_wr work = {
      .sg_list = &entry, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr* bad;
  if (ibv_post_send(end->qp, &work, &bad) != 0) die("posting a send failed");
}

static void wait_for(struct end* end, enum ibv_wc_opcode wanted) {
  struct ibv_wc completion;
  int polls = 0;
  while (ibv_poll_cq(end->completions, 1, &completion) == 0)
    if (++polls == polls_max) die("no completion comes");
  if (completion.status != IBV_WC_SUCCESS) die(ibv_wc_status_str(completion.status));
  if (completion.opcode != wanted) die("another completion came");
}

static void send_to(struct end* from, struct end* to, int number) {
  memset(from->region->addr, number, bytes);
  post_receive(to);
  post_send(from);
  wait_for(to, IBV_WC_RECV);
  wait_for(from, IBV_WC_SEND);
  if (memcmp(from->region->addr, to->region->addr, bytes) != 0) die("a message is wrong");
}

int main(int count, char** arguments) {
  if (count != 4) die("it takes two addresses and a number of messages");
  const int messages = atoi(arguments[3]);
  struct ibv_device* const devices[] = {create(arguments[1]), create(arguments[2])};
  struct end a = open_end(devices[0], 1, memory[0], bytes);
  struct end b = open_end(devices[1], 1, memory[1], bytes);
  connect_to(&a, &b);
  connect_to(&b, &a);
  for (int i = 0; i < messages; ++i) {
    send_to(&a, &b, i);
    send_to(&b, &a, i + 1);
  }
  printf("%d messages each way between LID %d and LID %d\n", messages, a.lid, b.lid);
  close_end(&a);
  close_end(&b);
  for (int i = 0; i < 2; ++i)
    if (softrdma_destroy_device(devices[i]) != 0) die("a device is in use still");
  return 0;
}
