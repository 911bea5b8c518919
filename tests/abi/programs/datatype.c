/* A column of a matrix goes to the next rank, as a struct with a resized vector and a label. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

#define ROWS 5
#define COLUMNS 4

struct record {
  char label;
  double matrix[ROWS][COLUMNS];
};

int main(int argc, char** argv) {
  int rank, size, i, wrong = 0, all_wrong = 0, elements;
  struct record sent, got = {0};
  int lengths[2] = {1, 1};
  MPI_Aint offsets[2];
  MPI_Datatype types[2] = {MPI_CHAR, MPI_DATATYPE_NULL}, column;
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &types[1]);
  offsets[0] = offsetof(struct record, label);
  offsets[1] = offsetof(struct record, matrix) + 2 * (MPI_Aint)sizeof(double);
  MPI_Type_create_struct(2, lengths, offsets, types, &column);
  MPI_Type_commit(&column);
  sent.label = (char)('a' + rank);
  for (i = 0; i < ROWS * COLUMNS; ++i) (&sent.matrix[0][0])[i] = 100.0 * rank + i;
  MPI_Sendrecv(&sent, 1, column, (rank + 1) % size, 0, &got, 1, column, (rank + size - 1) % size, 0,
               MPI_COMM_WORLD, &status);
  rank = (rank + size - 1) % size;
  for (i = 0; i < ROWS; ++i) {
    wrong += got.matrix[i][2] != 100.0 * rank + i * COLUMNS + 2;
    wrong += got.matrix[i][1] != 0;
  }
  MPI_Get_elements(&status, column, &elements);
  wrong += got.label != 'a' + rank || elements != ROWS + 1;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Type_free(&types[1]);
  MPI_Type_free(&column);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf(all_wrong == 0 ? "passed\n" : "%d wrong\n", all_wrong);
  MPI_Finalize();
  return all_wrong != 0;
}
