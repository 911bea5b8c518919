/* How heat spreads over a square plate: the 2-D heat equation, solved by Jacobi's method.
 *
 *     mpicc heat.c png.c -o heat -O2 -lm && mpirun -n 4 ./heat [OPTIONS]
 *
 * The plate is cut into one block per rank. A block has a rim one point wide: copies of its
 * neighbours' outermost points (the halo), or the plate's edges. A step replaces every point by the
 * mean of its four neighbours. While the halo is on its way, each rank computes the points that do
 * not need it. The numbers are the same on any number of ranks.
 */
#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "png.h"

typedef struct {
  int size; /* points along an edge of the plate */
  long steps;
  long every;       /* steps between two lines of the table */
  double tolerance; /* the largest change in one step at which we stop */
  const char* output;
} Options;

/* The part of one rank: rows x columns points of the plate, from (first_row, first_column) on. */
typedef struct {
  int rows, columns;
  int first_row, first_column;
  int up, down, left, right; /* ranks of the neighbours, MPI_PROC_NULL at an edge of the plate */
  MPI_Datatype row, column;  /* of a field: one row, one column of the block */
} Block;

static const double edge_hot = 100.0, edge_cold = 0.0; /* degrees */

/* ---------------------------------------------------------------- the command line */

static const char usage[] =
    "usage: heat [--size POINTS] [--steps STEPS] [--every STEPS] [--tolerance DEGREES] "
    "[--output FILE]\n";

static int parse_count(const char* text, long min, long max, long* value) {
  char* rest;
  errno = 0;
  *value = strtol(text, &rest, 10);
  return errno == 0 && rest != text && *rest == '\0' && *value >= min && *value <= max;
}

/* Fills *OPTIONS; if an argument is wrong, SENTENCE says so and the result is 0. */
static int parse_options(int argc, char** argv, Options* options, char* sentence, size_t room) {
  *options = (Options){
      .size = 128, .steps = 20000, .every = 1000, .tolerance = 1e-3, .output = "heat.png"};
  for (int i = 1; i < argc; i += 2) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    const char* wanted = NULL; /* set if VALUE is none */
    long number = 0;
    if (value == NULL) {
      wanted = "a value after it";
    } else if (strcmp(name, "--size") == 0) {
      if (!parse_count(value, 1, 16384, &number)) wanted = "a number from 1 to 16384";
      options->size = (int)number;
    } else if (strcmp(name, "--steps") == 0) {
      if (!parse_count(value, 1, 1000000000, &options->steps)) wanted = "a number from 1 to 10^9";
    } else if (strcmp(name, "--every") == 0) {
      if (!parse_count(value, 1, 1000000000, &options->every)) wanted = "a number from 1 to 10^9";
    } else if (strcmp(name, "--tolerance") == 0) {
      char* rest;
      options->tolerance = strtod(value, &rest);
      if (rest == value || *rest != '\0' || !(options->tolerance >= 0))
        wanted = "degrees, 0 or more";
    } else if (strcmp(name, "--output") == 0) {
      options->output = value;
    } else {
      snprintf(sentence, room, "there is no option '%s'", name);
      return 0;
    }
    if (wanted != NULL) {
      snprintf(sentence, room, "%s needs %s%s%s%s", name, wanted, value != NULL ? ", not '" : "",
               value != NULL ? value : "", value != NULL ? "'" : "");
      return 0;
    }
  }
  return 1;
}

/* ---------------------------------------------------------------- who computes what */

/* RANKS as rows times columns, as near to a square as it can be. */
static void choose_grid(int ranks, int* grid_rows, int* grid_columns) {
  int rows = (int)sqrt((double)ranks);
  while (ranks % rows != 0) --rows;
  *grid_rows = rows;
  *grid_columns = ranks / rows;
}

/* The share of part INDEX when SIZE points are dealt out to PARTS. */
static void share(int size, int parts, int index, int* first, int* count) {
  const int least = size / parts, larger = size % parts;
  *first = index * least + (index < larger ? index : larger);
  *count = least + (index < larger ? 1 : 0);
}

static Block make_block(int size, int rank, int grid_rows, int grid_columns) {
  const int grid_row = rank / grid_columns, grid_column = rank % grid_columns;
  Block block;
  share(size, grid_rows, grid_row, &block.first_row, &block.rows);
  share(size, grid_columns, grid_column, &block.first_column, &block.columns);
  block.up = grid_row > 0 ? rank - grid_columns : MPI_PROC_NULL;
  block.down = grid_row + 1 < grid_rows ? rank + grid_columns : MPI_PROC_NULL;
  block.left = grid_column > 0 ? rank - 1 : MPI_PROC_NULL;
  block.right = grid_column + 1 < grid_columns ? rank + 1 : MPI_PROC_NULL;
  block.row = block.column = MPI_DATATYPE_NULL;
  return block;
}

/* ---------------------------------------------------------------- fields */

/* A field has rows + 2 rows of columns + 2 points; (0, 0) is the corner of the rim. */
static size_t at(const Block* block, int row, int column) {
  return (size_t)row * (size_t)(block->columns + 2) + (size_t)column;
}

/* What the plate's edges are held at: hot above, and in the middle third below. */
static double edge_temperature(int size, int row, int column) {
  if (row < 0) return edge_hot;
  if (row >= size && column >= size / 3 && column < size - size / 3) return edge_hot;
  return edge_cold;
}

static double* make_field(const Block* block, int size) {
  double* field = calloc((size_t)(block->rows + 2) * (size_t)(block->columns + 2), sizeof *field);
  if (field == NULL) {
    fprintf(stderr, "heat: there is no memory for a block of %d x %d points\n", block->rows,
            block->columns);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int row = 0; row < block->rows + 2; ++row)
    for (int column = 0; column < block->columns + 2; ++column)
      field[at(block, row, column)] =
          edge_temperature(size, block->first_row + row - 1, block->first_column + column - 1);
  return field;
}

/* ---------------------------------------------------------------- one step */

static void start_halo(double* field, const Block* block, MPI_Request requests[8]) {
  enum { downwards, upwards, rightwards, leftwards }; /* tags: the way that the data goes */
  const int last_row = block->rows, last_column = block->columns;
  const MPI_Comm world = MPI_COMM_WORLD;
  double* const f = field;

  MPI_Irecv(f + at(block, 0, 1), 1, block->row, block->up, downwards, world, &requests[0]);
  MPI_Irecv(f + at(block, last_row + 1, 1), 1, block->row, block->down, upwards, world,
            &requests[1]);
  MPI_Irecv(f + at(block, 1, 0), 1, block->column, block->left, rightwards, world, &requests[2]);
  MPI_Irecv(f + at(block, 1, last_column + 1), 1, block->column, block->right, leftwards, world,
            &requests[3]);

  MPI_Isend(f + at(block, last_row, 1), 1, block->row, block->down, downwards, world, &requests[4]);
  MPI_Isend(f + at(block, 1, 1), 1, block->row, block->up, upwards, world, &requests[5]);
  MPI_Isend(f + at(block, 1, last_column), 1, block->column, block->right, rightwards, world,
            &requests[6]);
  MPI_Isend(f + at(block, 1, 1), 1, block->column, block->left, leftwards, world, &requests[7]);
}

/* Computes rows ROW to LAST_ROW, columns COLUMN to LAST_COLUMN of TO; returns the largest change.
 */
static double relax(const double* restrict from, double* restrict to, const Block* block, int row,
                    int last_row, int column, int last_column) {
  const size_t stride = (size_t)(block->columns + 2);
  double change = 0.0;
  for (; row <= last_row; ++row) {
    const size_t end = at(block, row, last_column);
    for (size_t i = at(block, row, column); i <= end; ++i) {
      to[i] = 0.25 * (from[i - stride] + from[i + stride] + from[i - 1] + from[i + 1]);
      const double difference = fabs(to[i] - from[i]);
      change = difference > change ? difference : change;
    }
  }
  return change;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* One step of this rank's block, from FROM to TO; returns the largest change in the block. */
static double step(double* from, double* to, const Block* block) {
  const int rows = block->rows, columns = block->columns;
  MPI_Request halo[8];
  start_halo(from, block, halo);
  double change = relax(from, to, block, 2, rows - 1, 2, columns - 1);
  MPI_Waitall(8, halo, MPI_STATUSES_IGNORE);

  /* The outermost points: rows above and below, then what is left of the columns. */
  change = larger(change, relax(from, to, block, 1, 1, 1, columns));
  if (rows > 1) change = larger(change, relax(from, to, block, rows, rows, 1, columns));
  change = larger(change, relax(from, to, block, 2, rows - 1, 1, 1));
  if (columns > 1) change = larger(change, relax(from, to, block, 2, rows - 1, columns, columns));
  return change;
}

/* The mean temperature of the plate; the same on all ranks. */
static double mean(const double* field, const Block* block, int size) {
  double sum = 0.0, total = 0.0;
  for (int row = 1; row <= block->rows; ++row)
    for (int column = 1; column <= block->columns; ++column) sum += field[at(block, row, column)];
  MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return total / ((double)size * size);
}

/* Steps until nothing changes any more, or the steps are used up; the fields change places with
 * every step, and *FIELD ends as the newest. */
static void solve(double** field, double** other, const Block* block, const Options* options,
                  int rank) {
  const double began = MPI_Wtime();
  if (rank == 0) printf("%10s %16s %12s %10s\n", "step", "largest change", "mean", "seconds");
  for (long n = 1; n <= options->steps; ++n) {
    const double change = step(*field, *other, block);
    double* const newest = *other;
    *other = *field;
    *field = newest;
    if (n % options->every != 0 && n != options->steps) continue;

    double largest = 0.0;
    MPI_Allreduce(&change, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const double temperature = mean(*field, block, options->size);
    if (rank == 0) {
      printf("%10ld %16.3e %12.4f %10.3f\n", n, largest, temperature, MPI_Wtime() - began);
      fflush(stdout);
    }
    if (largest <= options->tolerance) {
      if (rank == 0) printf("No point changes by more than %g degrees.\n", options->tolerance);
      return;
    }
  }
  if (rank == 0) printf("After %ld steps some points still change.\n", options->steps);
}

/* ---------------------------------------------------------------- the picture */

/* The block as a part of a field with SIZES points, from row ROW and column COLUMN on. */
static MPI_Datatype make_part(const Block* block, int rows, int columns, int row, int column) {
  const int sizes[2] = {rows, columns}, subsizes[2] = {block->rows, block->columns};
  const int starts[2] = {row, column};
  MPI_Datatype part;
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &part);
  MPI_Type_commit(&part);
  return part;
}

/* All blocks, put together on rank 0; null elsewhere, and if rank 0 has no memory. */
static double* gather(const double* field, const Block* block, int size, int grid_rows,
                      int grid_columns, int rank) {
  const int tag = 0;
  double* plate = NULL;
  MPI_Request sent;
  MPI_Datatype inner = make_part(block, block->rows + 2, block->columns + 2, 1, 1);
  MPI_Isend(field, 1, inner, 0, tag, MPI_COMM_WORLD, &sent);
  MPI_Type_free(&inner); /* once the send is complete */
  if (rank == 0) {
    plate = malloc((size_t)size * (size_t)size * sizeof *plate);
    if (plate == NULL) {
      fprintf(stderr, "heat: there is no memory for a picture of %d x %d points\n", size, size);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int source = 0; source < grid_rows * grid_columns; ++source) {
      const Block theirs = make_block(size, source, grid_rows, grid_columns);
      MPI_Datatype part = make_part(&theirs, size, size, theirs.first_row, theirs.first_column);
      MPI_Recv(plate, 1, part, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Type_free(&part);
    }
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  return plate;
}

/* From black over violet, red and yellow to white; a darker line every ten degrees. */
static void colour(double temperature, double step_to_neighbour, unsigned char rgb[3]) {
  static const double stops[][3] = {
      {8, 8, 32}, {84, 20, 110}, {187, 55, 84}, {249, 142, 9}, {252, 255, 190}};
  const int intervals = (int)(sizeof stops / sizeof stops[0]) - 1;
  double place = (temperature - edge_cold) / (edge_hot - edge_cold) * intervals;
  place = place < 0 ? 0 : place > intervals ? intervals : place;
  const int i = place < intervals ? (int)place : intervals - 1;

  const double line_degrees = 10.0;
  const double away = fabs(temperature - line_degrees * round(temperature / line_degrees));
  const double shade = away < step_to_neighbour / 2 ? 0.7 : 1.0;
  for (int c = 0; c < 3; ++c)
    rgb[c] = (unsigned char)(shade * (stops[i][c] + (place - i) * (stops[i + 1][c] - stops[i][c])));
}

/* The temperature at (X, Y), in points, between the four points around it. */
static double temperature_at(const double* plate, int size, double x, double y) {
  const double last = size - 1;
  x = x < 0 ? 0 : x > last ? last : x;
  y = y < 0 ? 0 : y > last ? last : y;
  const int column = (int)x, row = (int)y;
  const int right = column + 1 < size ? column + 1 : column, below = row + 1 < size ? row + 1 : row;
  const double* upper = plate + (size_t)row * (size_t)size;
  const double* lower = plate + (size_t)below * (size_t)size;
  const double above = upper[column] + (x - column) * (upper[right] - upper[column]);
  const double under = lower[column] + (x - column) * (lower[right] - lower[column]);
  return above + (y - row) * (under - above);
}

/* Small plates are magnified. 0, or -1 with errno set. */
static int write_picture(const char* path, const double* plate, int size) {
  const int pixels_wanted = 512;
  const int scale = size < pixels_wanted ? pixels_wanted / size : 1;
  const int pixels = size * scale;
  const double pixel = 1.0 / scale; /* in points */
  unsigned char* rgb = malloc((size_t)pixels * (size_t)pixels * 3);
  if (rgb == NULL) return -1;
  for (int i = 0; i < pixels; ++i)
    for (int j = 0; j < pixels; ++j) {
      const double x = (j + 0.5) * pixel - 0.5, y = (i + 0.5) * pixel - 0.5;
      const double here = temperature_at(plate, size, x, y);
      const double beside = temperature_at(plate, size, x + pixel, y);
      const double below = temperature_at(plate, size, x, y + pixel);
      const double slope = larger(fabs(beside - here), fabs(below - here));
      colour(here, slope, rgb + ((size_t)i * (size_t)pixels + (size_t)j) * 3);
    }
  const int result = png_write(path, pixels, pixels, rgb);
  free(rgb);
  return result;
}

/* ---------------------------------------------------------------- */

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, grid_rows, grid_columns;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  choose_grid(ranks, &grid_rows, &grid_columns);

  Options options;
  char sentence[200] = "";
  if (parse_options(argc, argv, &options, sentence, sizeof sentence) && options.size < grid_columns)
    snprintf(sentence, sizeof sentence, "%d ranks need --size %d at least, not %d", ranks,
             grid_columns, options.size);
  if (sentence[0] != '\0') { /* all ranks see the same arguments */
    if (rank == 0) fprintf(stderr, "heat: %s\n%s", sentence, usage);
    MPI_Finalize();
    return 2;
  }
  if (rank == 0)
    printf("A plate of %d x %d points on %d ranks, %d x %d.\n", options.size, options.size, ranks,
           grid_rows, grid_columns);

  Block block = make_block(options.size, rank, grid_rows, grid_columns);
  MPI_Type_contiguous(block.columns, MPI_DOUBLE, &block.row);
  MPI_Type_vector(block.rows, 1, block.columns + 2, MPI_DOUBLE, &block.column);
  MPI_Type_commit(&block.row);
  MPI_Type_commit(&block.column);

  double *field = make_field(&block, options.size), *other = make_field(&block, options.size);
  solve(&field, &other, &block, &options, rank);

  int code = 0;
  double* plate = gather(field, &block, options.size, grid_rows, grid_columns, rank);
  if (plate != NULL) {
    code = write_picture(options.output, plate, options.size) == 0 ? 0 : 1;
    if (code == 0)
      printf("The picture is %s.\n", options.output);
    else
      fprintf(stderr, "heat: the picture cannot be written to %s: %s\n", options.output,
              strerror(errno));
  }

  free(plate);
  free(other);
  free(field);
  MPI_Type_free(&block.column);
  MPI_Type_free(&block.row);
  MPI_Finalize();
  return code;
}
