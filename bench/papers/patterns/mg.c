/* Who talks to whom in the NAS kernel MG: V-cycles of a multigrid on a periodic cube that is cut
 * into blocks. Class S: 32 points an axis, five levels.
 *
 * At each level a block exchanges its faces with the two neighbours of each axis. It receives them
 * from MPI_ANY_SOURCE, as the kernel does: the tag tells axis, direction and exchange. At levels
 * with fewer points than processes along an axis, only every second (fourth, …) process goes on;
 * the others hand their points to it on the way down, and get them back on the way up.
 */
#include "patterns.h"

enum { axes = 3, levels = 5, points_max = 1 << levels, rounds_usual = 2, directions = 2 };

typedef struct {
  int sides[axes];  /* processes along each axis */
  int places[axes]; /* of this one */
} Grid;

static Grid make_grid(const Job* job) {
  int bits = 0;
  while (1 << bits < job->size) ++bits;
  if (1 << bits != job->size || bits > axes * levels) give_up("mg needs a power of two of ranks");
  Grid grid;
  const int first = bits / 3, second = (bits - first) / 2;
  grid.sides[0] = 1 << first;
  grid.sides[1] = 1 << second;
  grid.sides[2] = 1 << (bits - first - second);
  grid.places[0] = job->rank % grid.sides[0];
  grid.places[1] = job->rank / grid.sides[0] % grid.sides[1];
  grid.places[2] = job->rank / grid.sides[0] / grid.sides[1];
  return grid;
}

static int rank_at(const Grid* grid, const int places[axes]) {
  return (places[2] * grid->sides[1] + places[1]) * grid->sides[0] + places[0];
}

/* Of how many processes along AXIS one goes on at LEVEL. */
static int stride_of(const Grid* grid, int axis, int level) {
  const int points = 1 << level;
  return grid->sides[axis] > points ? grid->sides[axis] / points : 1;
}

/* Who has the points of this process at LEVEL. */
static int owner_at(const Grid* grid, int level) {
  int places[axes];
  for (int axis = 0; axis < axes; ++axis) {
    const int stride = stride_of(grid, axis, level);
    places[axis] = grid->places[axis] / stride * stride;
  }
  return rank_at(grid, places);
}

/* Points of a block along AXIS at LEVEL, with one of the neighbour's at each end. */
static int width_of(const Grid* grid, int axis, int level) {
  return (1 << level) * stride_of(grid, axis, level) / grid->sides[axis] + 2;
}

static int face_bytes(const Grid* grid, int axis, int level) {
  const int other = (axis + 1) % axes, third = (axis + 2) % axes;
  return width_of(grid, other, level) * width_of(grid, third, level) * (int)sizeof(double);
}

static int neighbour_of(const Grid* grid, int axis, int level, int direction) {
  int places[axes];
  memcpy(places, grid->places, sizeof places);
  const int stride = stride_of(grid, axis, level), side = grid->sides[axis];
  places[axis] = (places[axis] + (direction == 0 ? stride : side - stride)) % side;
  return rank_at(grid, places);
}

static void exchange_faces(Job* job, const Grid* grid, int level) {
  const bool takes_part = owner_at(grid, level) == job->rank;
  for (int axis = 0; axis < axes; ++axis) {
    const int first = job->step, bytes = face_bytes(grid, axis, level);
    job->step += directions;
    if (!takes_part || neighbour_of(grid, axis, level, 0) == job->rank) continue;
    Flight flight = {.count = 0};
    for (int direction = 0; direction < directions; ++direction)
      post_receive(job, &flight, MPI_ANY_SOURCE, bytes, first + direction);
    for (int direction = 0; direction < directions; ++direction)
      post_send(job, &flight, neighbour_of(grid, axis, level, direction), bytes, first + direction);
    finish(job, &flight);
  }
}

static int block_bytes(const Grid* grid, int level) {
  int bytes = (int)sizeof(double);
  for (int axis = 0; axis < axes; ++axis) bytes *= width_of(grid, axis, level);
  return bytes;
}

/* Between LEVEL and the coarser one below it: who does not go on and who goes on for it. The former
 * send on the way down and receive on the way up. */
static void hand_over(Job* job, const Grid* grid, int level, bool is_down) {
  const int step = next_step(job), owner = owner_at(grid, level - 1);
  const int bytes = block_bytes(grid, level - 1);
  if (owner_at(grid, level) != job->rank) return;
  Flight flight = {.count = 0};
  if (owner != job->rank) {
    if (is_down)
      post_send(job, &flight, owner, bytes, step);
    else
      post_receive(job, &flight, owner, bytes, step);
    finish(job, &flight);
    return;
  }
  for (int other = 0; other < 1 << axes; ++other) {
    int places[axes];
    bool is_there = other != 0;
    for (int axis = 0; axis < axes; ++axis) {
      const int fine = stride_of(grid, axis, level), coarse = stride_of(grid, axis, level - 1);
      const bool is_far = (other >> axis & 1) != 0;
      is_there = is_there && (!is_far || coarse > fine);
      places[axis] = grid->places[axis] + (is_far ? fine : 0);
    }
    if (!is_there) continue;
    if (is_down)
      post_receive(job, &flight, rank_at(grid, places), bytes, step);
    else
      post_send(job, &flight, rank_at(grid, places), bytes, step);
  }
  finish(job, &flight);
}

static void cycle(Job* job, const Grid* grid) {
  for (int level = levels; level > 1; --level) {
    hand_over(job, grid, level, true);
    exchange_faces(job, grid, level - 1);
  }
  exchange_faces(job, grid, 1);
  for (int level = 2; level <= levels; ++level) {
    hand_over(job, grid, level, false);
    exchange_faces(job, grid, level); /* after the interpolation, */
    exchange_faces(job, grid, level); /* after the residual */
    exchange_faces(job, grid, level); /* and after the smoother */
  }
}

void run_mg(Job* job) {
  const Grid grid = make_grid(job);
  int points = job->rank == 0 ? points_max : 0;
  MPI_Bcast(&points, 1, MPI_INT, 0, MPI_COMM_WORLD);
  require(job, points == points_max, "the number of points is another one");
  MPI_Barrier(MPI_COMM_WORLD);
  for (long round = 0; round < given(job->rounds, rounds_usual); ++round) {
    exchange_faces(job, &grid, levels);
    cycle(job, &grid);
    const double mine = 1;
    double sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    require(job, sum == job->size, "the norm is wrong");
  }
}
