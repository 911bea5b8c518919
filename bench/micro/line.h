/* How near the cores of ranks 0 and 1 are to each other: the time that a cache line takes from one
 * to the other, without MPI. On a virtual machine it changes under a running program, by a factor
 * of ten and with it every latency: figures can be compared only if they were taken with equal
 * lines. */
#ifndef HAWSER_BENCH_LINE_H
#define HAWSER_BENCH_LINE_H

#include <stdbool.h>

typedef struct Line Line;

/* If "line" is among the arguments and the job has two ranks or more, all on one machine; otherwise
 * null. Collective. */
Line* line_if_named(int argc, char** argv);
void free_line(Line* line);
/* Nanoseconds, one way; collective. Of more than two ranks, the others sleep meanwhile, and rank 1
 * leaves the core of rank 0. */
double line_ns(Line* line);

/* Batches of one figure, each with the line before and after it. Without a LINE only the values
 * count.
 */
typedef struct {
  Line* line; /* may be null */
  int count;
  double values[32], lines[32];
} Batches;

/* A figure begins. */
void begin_batches(Batches* all, Line* line);
/* VALUE is what a batch came to that began after the call before. */
void add_batch(Batches* all, double value);
/* On rank 0 prints "NAME X VALUE", of the median; or, with a line, "NAME X VALUE LINE-NS" for each
 * batch during which the line did not change. */
void print_batches(const Batches* all, const char* name, int x, int digits);

#endif
