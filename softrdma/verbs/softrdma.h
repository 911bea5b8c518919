/* softrdma, linked directly: devices that a program makes for itself, beside those that the
 * environment asks for (ibv_get_device_list), and simulations of many devices with a clock that the
 * program moves.
 *
 *   cc program.c $(pkg-config --cflags --libs softrdma)
 *
 * The library has the functions of <infiniband/verbs.h>, too: libibverbs is not needed, but its
 * header is. What is made here is an ibv_device like any other: ibv_open_device opens it, and no
 * list shows it.
 *
 * Attributes: each member that is 0 asks for what is usual, so begin with an initializer of {0}.
 * Threads: a function may be called by several, each with a device or simulation of its own.
 * In a child of fork() there is no device any more, as the verbs say (ENODEV). */
#ifndef SOFTRDMA_H
#define SOFTRDMA_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happens to packets on purpose: shares of them, from 0 to 1; how late all are; and what
 * happens to the device, so many times a second, on average, while it is driven. */
struct softrdma_faults {
  double loss;       /* they are lost */
  double duplicate;  /* they come twice */
  double reorder;    /* they are late, so that others overtake them */
  double flip;       /* a bit of their payload is wrong, and no checksum tells */
  uint32_t delay_us; /* at most 1000000 */
  double qp_errors;  /* softrdma_fail_queue_pair, of one that is in use; at most 1000 */
  double port_flaps; /* softrdma_set_port, down for 10 ms; at most 1000 */
};

struct softrdma_device_attributes {
  /* Devices of a host that name the same are one adapter, also those of one process, and the first
   * device of processes whose SOFTRDMA_FABRIC names it. NULL: "default"; "": this device alone. */
  const char* fabric;
  /* IP addresses by which others find it, with commas between them; NULL: all that the host has.
   * Whoever is the first in a fabric gives it its addresses. Fabrics of one host that are to reach
   * one another have addresses of their own, 127.0.0.1 and 127.0.0.2, say. */
  const char* addresses;
  /* IBV_LINK_LAYER_ETHERNET: RoCE; 0 or IBV_LINK_LAYER_INFINIBAND. */
  int link_layer;
  /* At most 16; usual: 1. */
  uint32_t ports;
  /* Usual, and at most: 8388608. */
  uint32_t queue_pairs_max;
  /* Queue pairs in the cache that an adapter would have; at most 16777216, usual: 1024. */
  uint32_t contexts;
  /* Of what this device sends. */
  struct softrdma_faults faults;
  /* Of what happens to which packet. */
  uint64_t seed;
  /* 1: an access to memory that has changed since it was registered fails, and a sentence on
   * standard error tells. Where the kernel has no userfaultfd, or refuses it, ibv_open_device fails
   * (ENOSYS).
   */
  int strict;
};

/* A device of the program's own, which it destroys in the end.
 * ATTRIBUTES: NULL, all as usual; what it points to is not used after the call.
 * On failure NULL, and errno: EINVAL, an attribute is out of its range; EADDRINUSE, the addresses
 * that it names can't be had; EIO, the fabric can't be joined; ENODEV, in a child of fork().
 * SENTENCE, if not NULL, then has a sentence for people, of at most SENTENCE_BYTES with the 0 at
 * its end. */
struct ibv_device* softrdma_create_device(const struct softrdma_device_attributes* attributes,
                                          char* sentence, size_t sentence_bytes);

/* DEVICE and its thread end. EBUSY: it is open; EINVAL: softrdma_create_device has not made it. */
int softrdma_destroy_device(struct ibv_device* device);

/* Faults of a device of this process, whoever made it, or of a simulated one. EINVAL: it has no
 * port, or no queue pair, of that number; ENODEV: in a child of fork(). */

/* A port that is down loses all packets of its queue pairs, and is IBV_PORT_DOWN. Programs get
 * IBV_EVENT_PORT_ERR, or IBV_EVENT_PORT_ACTIVE, if that is new. */
int softrdma_set_port(struct ibv_device* device, uint32_t port, int is_up);

/* The queue pair is in error; its work is flushed, and its program gets IBV_EVENT_QP_FATAL. */
int softrdma_fail_queue_pair(struct ibv_device* device, uint32_t number);

/* A simulation: devices of InfiniBand with one port each, the packets between them, and a clock.
 * Nothing in it runs by itself: no thread, no socket, no shared memory. What the same calls do with
 * the same attributes is the same each time, to the nanosecond.
 *
 * Posting and polling act at the time that it is; softrdma_simulation_step() lets it go on. What
 * waits does not: ibv_get_cq_event() and ibv_get_async_event() return an event that is there, else
 * -1 with errno EAGAIN. Time stamps of completions are of the simulation's clock, and so is the
 * wall's. Destroying an object waits for events that were fetched and not acknowledged; here, for
 * ever.
 *
 * Threads: one at a time for a simulation and all that belongs to it. */
struct softrdma_simulation;

struct softrdma_simulation_attributes {
  /* Of everything that is random in it, memory keys too. */
  uint64_t seed;
  /* Of each packet; usual: 1000. */
  uint64_t latency_ns;
  /* How much longer those take that are late, at most; usual: 100000. */
  uint64_t late_ns_max;
  /* Unanswered ones, of one queue pair; at most 1024, usual: 32. */
  uint32_t window_packets;
  /* Queue pairs in the cache of each device; at most 16777216, usual: 1024. */
  uint32_t contexts;
  /* What a queue pair waits that is not in it; usual: 0. */
  uint64_t context_miss_ns;
  struct softrdma_faults faults;
};

/* ATTRIBUTES: NULL, all as usual. NULL and errno EINVAL: an attribute is out of its range; ENODEV:
 * in a child of fork(). */
struct softrdma_simulation* softrdma_create_simulation(
    const struct softrdma_simulation_attributes* attributes);

/* With its devices. EBUSY: one of them is open. */
int softrdma_destroy_simulation(struct softrdma_simulation* simulation);

/* One more device, until the simulation is destroyed. LIDs are 1, 2, 3 and so on, as devices come;
 * packets find their way by them. A queue pair is connected to devices that are there already.
 * NULL and errno ENOSPC: it has 49151; ENODEV: in a child of fork(). */
struct ibv_device* softrdma_simulation_add_device(struct softrdma_simulation* simulation);

/* What time it is: nanoseconds, that begin with 1. */
uint64_t softrdma_simulation_now_ns(const struct softrdma_simulation* simulation);

/* Does what is to be done now, moves the clock to the next moment at which something can happen (a
 * packet arrives, a timer runs out), and does what is to be done then. 1; or 0 if nothing will ever
 * happen by itself: then the clock stays. */
int softrdma_simulation_step(struct softrdma_simulation* simulation);

#ifdef __cplusplus
}
#endif

#endif
