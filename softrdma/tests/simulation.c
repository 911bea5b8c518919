/* Writes from one device to another, of which 1 % of packets are lost, in simulated time: what it
 * prints follows from the seed.
 *
 *   simulation SEED */
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <softrdma.h>
#include <stdio.h>
#include <stdlib.h>

#include "end.h"

enum { bytes = 1 << 20, writes = 16 };

static char memory[2][bytes]; /* of both ends */

static void post_write(struct end* from, const struct end* to, int number) {
  struct ibv_sge entry = {(uintptr_t)from->region->addr, bytes, from->region->lkey};
  struct ibv_send_wr work = {
      .wr_id = (uint64_t)number,
      .sg_list = &entry,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = (uintptr_t)to->region->addr, .rkey = to->region->rkey}};
  struct ibv_send_wr* bad;
  if (ibv_post_send(from->qp, &work, &bad) != 0) die("posting a write failed");
}

int main(int count, char** arguments) {
  if (count != 2) die("it takes a seed");
  struct softrdma_simulation_attributes attributes = {.seed = strtoull(arguments[1], NULL, 10),
                                                      .faults = {.loss = 0.01}};
  struct softrdma_simulation* const simulation = softrdma_create_simulation(&attributes);
  if (simulation == NULL) die("making a simulation failed");
  struct end a = open_end(softrdma_simulation_add_device(simulation), writes, memory[0], bytes);
  struct end b = open_end(softrdma_simulation_add_device(simulation), writes, memory[1], bytes);
  connect_to(&a, &b);
  connect_to(&b, &a);
  for (int i = 0; i < writes; ++i) post_write(&a, &b, i);
  int steps = 0;
  do {
    struct ibv_wc completion;
    while (ibv_poll_cq(a.completions, 1, &completion) == 1)
      printf("%10" PRIu64 " ns  write %" PRIu64 ": %s\n", softrdma_simulation_now_ns(simulation),
             completion.wr_id, ibv_wc_status_str(completion.status));
    ++steps;
  } while (softrdma_simulation_step(simulation));
  printf("quiet after %d steps\n", steps);
  close_end(&a);
  close_end(&b);
  return softrdma_destroy_simulation(simulation);
}
