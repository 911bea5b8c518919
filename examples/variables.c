// What a library shows of itself by the tools interface (MPI_T): its control variables before MPI
// is initialised, and the performance variables that moved while messages went round the ranks.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { text_bytes = 256, rounds = 100, message_ints = 1000 };

typedef struct {
  MPI_T_pvar_handle handle;
  int count;
  char name[text_bytes];
} Counter;

static void print_control_variables(void) {
  int number = 0;
  MPI_T_cvar_get_num(&number);
  printf("%d control variables\n", number);
  for (int i = 0; i < number; ++i) {
    char name[text_bytes];
    char sentence[text_bytes];
    int name_bytes = text_bytes;
    int sentence_bytes = text_bytes;
    if (MPI_T_cvar_get_info(i, name, &name_bytes, NULL, NULL, NULL, sentence, &sentence_bytes, NULL,
                            NULL) == MPI_SUCCESS)
      printf("  %-34s %s\n", name, sentence);
  }
}

/// Handles for all counters of 64 bits that are bound to no object; returns how many there are.
static int make_counters(MPI_T_pvar_session session, Counter* counters, int number) {
  int made = 0;
  for (int i = 0; i < number; ++i) {
    Counter* counter = &counters[made];
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int bytes = text_bytes;
    int kind = 0;
    int bind = 0;
    if (MPI_T_pvar_get_info(i, counter->name, &bytes, NULL, &kind, &type, NULL, NULL, NULL, &bind,
                            NULL, NULL, NULL) != MPI_SUCCESS)
      continue;
    if (bind != MPI_T_BIND_NO_OBJECT || type != MPI_UNSIGNED_LONG_LONG ||
        (kind != MPI_T_PVAR_CLASS_COUNTER && kind != MPI_T_PVAR_CLASS_AGGREGATE))
      continue;
    if (MPI_T_pvar_handle_alloc(session, i, NULL, &counter->handle, &counter->count) == MPI_SUCCESS)
      ++made;
  }
  return made;
}

static void send_messages_round(void) {
  static int sent[message_ints];
  static int received[message_ints];
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < rounds; ++round)
    MPI_Sendrecv(sent, message_ints, MPI_INT, (rank + 1) % size, 0, received, message_ints, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void print_counter(MPI_T_pvar_session session, const Counter* counter) {
  unsigned long long* values = calloc((size_t)counter->count, sizeof *values);
  MPI_T_pvar_read(session, counter->handle, values);
  for (int i = 0; i < counter->count; ++i) {
    if (values[i] == 0) continue;
    if (counter->count > 1)
      printf("  %s[%d] = %llu\n", counter->name, i, values[i]);
    else
      printf("  %s = %llu\n", counter->name, values[i]);
  }
  free(values);
}

int main(int argc, char** argv) {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
    fprintf(stderr, "the tools interface cannot be initialised\n");
    return 1;
  }
  // The variables can be written here: MPI_Init takes them over.
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) print_control_variables();

  int number = 0;
  MPI_T_pvar_get_num(&number);
  Counter* counters = calloc((size_t)number + 1, sizeof *counters);
  MPI_T_pvar_session session;
  MPI_T_pvar_session_create(&session);
  const int made = make_counters(session, counters, number);
  MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
  send_messages_round();
  MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES);

  if (rank == 0) printf("%d rounds of %zu bytes\n", rounds, message_ints * sizeof(int));
  for (int i = 0; i < made; ++i) {
    if (rank == 0) print_counter(session, &counters[i]);
    MPI_T_pvar_handle_free(session, &counters[i].handle);
  }
  MPI_T_pvar_session_free(&session);
  free(counters);
  MPI_Finalize();
  MPI_T_finalize();
  return 0;
}
