/* One end of an RC connection: a device with a queue pair, for the programs beside this file. What
 * fails ends the program with a sentence. */
#ifndef SOFTRDMA_TESTS_END_H
#define SOFTRDMA_TESTS_END_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

struct end {
  struct ibv_context* context;
  struct ibv_pd* domain;
  struct ibv_cq* completions;
  struct ibv_mr* region;
  struct ibv_qp* qp;
  uint16_t lid;
};

void die(const char* what);

/* DEVICE, with a queue pair for DEPTH requests each way and a key to the BYTES at MEMORY. */
struct end open_end(struct ibv_device* device, uint32_t depth, void* memory, size_t bytes);
void connect_to(struct end* end, const struct end* peer);
/* The device stays. */
void close_end(struct end* end);

#endif
