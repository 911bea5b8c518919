/* Who talks to whom in the NAS kernel CG: a conjugate gradient on a matrix that is cut into rows
 * and columns of processes.
 *
 * The product of matrix and vector is summed over the processes of a row, by exchanges with
 * partners at distances 1, 2, 4 and so on in the row, and then changes places across the diagonal;
 * sums of scalars go over the row likewise. Class S: 1400 unknowns.
 */
#include "patterns.h"

enum { unknowns = 1400, inner_iterations = 5, rounds_usual = 2 };

/* Columns and rows are powers of two; there are as many columns as rows, or twice as many. */
typedef struct {
  int rows, columns, row, column;
} Grid;

static Grid make_grid(const Job* job) {
  Grid grid = {1, 1, 0, 0};
  while (grid.rows * grid.columns < job->size)
    if (grid.columns > grid.rows)
      grid.rows *= 2;
    else
      grid.columns *= 2;
  if (grid.rows * grid.columns != job->size) give_up("cg needs a power of two of ranks");
  grid.row = job->rank / grid.columns;
  grid.column = job->rank % grid.columns;
  return grid;
}

/* With whom a part of the vector changes places. With twice as many columns as rows, two
 * neighbours in a row are one place on the diagonal. */
static int transposed(const Job* job, const Grid* grid) {
  const int width = grid->columns / grid->rows;
  const int place = job->rank / width;
  return width * (place % grid->rows * grid->rows + place / grid->rows) + job->rank % width;
}

static void sum_over_row(Job* job, const Grid* grid, int bytes) {
  for (int distance = 1; distance < grid->columns; distance *= 2)
    exchange(job, grid->row * grid->columns + (grid->column ^ distance), bytes, next_step(job));
}

void run_cg(Job* job) {
  const Grid grid = make_grid(job);
  const int scalar = (int)sizeof(double);
  MPI_Barrier(MPI_COMM_WORLD);
  for (long round = 0; round < given(job->rounds, rounds_usual); ++round)
    for (int inner = 0; inner < inner_iterations; ++inner) {
      sum_over_row(job, &grid, unknowns / grid.rows * scalar);
      exchange(job, transposed(job, &grid), unknowns / grid.columns * scalar, next_step(job));
      sum_over_row(job, &grid, scalar);
      sum_over_row(job, &grid, scalar);
    }
  const double mine = job->rank;
  double most = -1;
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (job->rank == 0) require(job, most == job->size - 1, "the largest rank is another one");
}
