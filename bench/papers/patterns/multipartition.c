/* Who talks to whom in the NAS kernels SP and BT: implicit solvers on a cube that is cut into q*q*q
 * cells for q*q processes, each with q cells on a diagonal, so that a sweep along any axis has work
 * for all of them at each of its q stages.
 *
 * A process has a successor and a predecessor for each axis. In an iteration all faces are
 * exchanged with those six, and then each axis is swept forth and back: a cell waits for what the
 * cell before it has found. SP sends scalars of a pentadiagonal system, BT blocks of 5 by 5.
 */
#include "patterns.h"

enum { axes = 3, variables = 5, rounds_usual = 3, face_layers = 2 };

typedef struct {
  const char* complaint;
  int points;                          /* an axis, class W */
  int forth_per_point, back_per_point; /* doubles of a sweep */
} Solver;

typedef struct {
  int side; /* q */
  int successors[axes], predecessors[axes];
} Neighbours;

static Neighbours make_neighbours(const Job* job, const char* complaint) {
  Neighbours made = {.side = 1};
  while (made.side * made.side < job->size) ++made.side;
  if (made.side * made.side != job->size) give_up(complaint);
  const int q = made.side, i = job->rank % q, j = job->rank / q;
  const int right = (i + 1) % q, left = (i + q - 1) % q;
  const int up = (j + 1) % q, down = (j + q - 1) % q;
  made.successors[0] = right + q * j;
  made.predecessors[0] = left + q * j;
  made.successors[1] = i + q * up;
  made.predecessors[1] = i + q * down;
  made.successors[2] = left + q * up;
  made.predecessors[2] = right + q * down;
  return made;
}

/* All cells have an inner face to each side but the one at the border of the cube. */
static void exchange_faces(Job* job, const Neighbours* all, int cell) {
  const int bytes = variables * face_layers * cell * cell * (all->side - 1) * (int)sizeof(double);
  const int first = job->step;
  job->step += 2 * axes;
  Flight flight = {.count = 0};
  for (int axis = 0; axis < axes; ++axis) {
    post_receive(job, &flight, all->predecessors[axis], bytes, first + 2 * axis);
    post_receive(job, &flight, all->successors[axis], bytes, first + 2 * axis + 1);
  }
  for (int axis = 0; axis < axes; ++axis) {
    post_send(job, &flight, all->successors[axis], bytes, first + 2 * axis);
    post_send(job, &flight, all->predecessors[axis], bytes, first + 2 * axis + 1);
  }
  finish(job, &flight);
}

/* From one border of the cube to the other. What is sent is waited for at the end: the receiver
 * looks for it at its next stage only. */
static void sweep(Job* job, int stages, int from, int to, int bytes) {
  Flight sent = {.count = 0};
  const int first = job->step;
  job->step += stages;
  for (int stage = 0; stage < stages; ++stage) {
    Flight came = {.count = 0};
    if (stage > 0) post_receive(job, &came, from, bytes, first + stage - 1);
    finish(job, &came);
    if (stage < stages - 1) post_send(job, &sent, to, bytes, first + stage);
  }
  finish(job, &sent);
}

static void start(Job* job) {
  int settings[variables] = {0};
  for (int i = 0; i < variables && job->rank == 0; ++i) settings[i] = i + 1;
  MPI_Bcast(settings, variables, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < variables; ++i) require(job, settings[i] == i + 1, "the settings are wrong");
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Norms of the solution, and the time of the slowest. */
static void verify(Job* job) {
  double mine[variables], sums[variables];
  for (int i = 0; i < variables; ++i) mine[i] = i;
  MPI_Allreduce(mine, sums, variables, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < variables; ++i)
    require(job, sums[i] == (double)i * job->size, "a norm is wrong");
  const double own = job->rank;
  double most = -1;
  MPI_Reduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (job->rank == 0) require(job, most == job->size - 1, "the largest rank is another one");
}

static void solve(Job* job, const Solver* solver) {
  const Neighbours all = make_neighbours(job, solver->complaint);
  const int cell = (solver->points + all.side - 1) / all.side;
  const int plane = cell * cell * (int)sizeof(double);
  start(job);
  for (long round = 0; round < given(job->rounds, rounds_usual) && all.side > 1; ++round) {
    exchange_faces(job, &all, cell);
    for (int axis = 0; axis < axes; ++axis) {
      const int before = all.predecessors[axis], after = all.successors[axis];
      sweep(job, all.side, before, after, plane * solver->forth_per_point);
      sweep(job, all.side, after, before, plane * solver->back_per_point);
    }
  }
  verify(job);
}

void run_sp(Job* job) { solve(job, &(Solver){"sp needs a square number of ranks", 36, 22, 10}); }

void run_bt(Job* job) {
  solve(job, &(Solver){"bt needs a square number of ranks", 24, 30, variables});
}
