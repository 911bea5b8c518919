/* patterns PATTERN [NAME=VALUE…] [spoil]: one communication pattern, on whatever MPI library the
 * program runs with. Results are lines: a name and numbers, separated by blanks. Every rank prints
 * "init MILLISECONDS", of MPI_Init, and "partners COUNT": with how many others the pattern itself
 * exchanged messages, those inside of collectives not counted; alltoall, ft and is also
 * "collectives MILLISECONDS", spent in those.
 *
 * hold=FILE: when a rank has done its part it writes a line into FILE, of its rank and process, and
 * stays until somebody adds another line to those of all ranks: meanwhile the job can be looked at.
 * It waits without messages, which would be seen as well.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "patterns.h"

typedef struct {
  const char* name;
  void (*run)(Job* job);
} Pattern;

static const Pattern patterns[] = {
    {"allgather", run_allgather},
    {"allreduce", run_allreduce},
    {"alltoall", run_alltoall},
    {"barrier", run_barrier},
    {"bcast", run_bcast},
    {"bt", run_bt},
    {"cg", run_cg},
    {"everyone", run_everyone},
    {"ft", run_ft},
    {"is", run_is},
    {"many_peers", run_many_peers},
    {"mg", run_mg},
    {"nearest_neighbour", run_nearest_neighbour},
    {"pairwise", run_pairwise},
    {"pingpong", run_pingpong},
    {"polled", run_polled},
    {"ring", run_ring},
    {"silent", run_silent},
    {"sp", run_sp},
    {"stream", run_stream},
    {"timed_allreduce", run_timed_allreduce},
};

static const Pattern* find(const char* name) {
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; ++i)
    if (strcmp(patterns[i].name, name) == 0) return &patterns[i];
  return NULL;
}

static int usage(void) {
  fputs(
      "usage: patterns PATTERN [rounds=N] [bytes=N] [bytes_max=N] [peers=N] [warm_up=N]\n"
      "                [hold=FILE] [reuse] [spoil]\n",
      stderr);
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; ++i)
    fprintf(stderr, "  %s\n", patterns[i].name);
  return 2;
}

/* What follows "NAME=", or null. */
static const char* text_of(int argc, char** argv, const char* name) {
  const size_t length = strlen(name);
  for (int i = 0; i < argc; ++i)
    if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') return argv[i] + length + 1;
  return NULL;
}

static long number_of(int argc, char** argv, const char* name, long otherwise) {
  const char* text = text_of(argc, argv, name);
  if (text == NULL) return otherwise;
  char* end = NULL;
  const long number = strtol(text, &end, 10);
  if (end == text || *end != '\0' || number < 0 || number > 1 << 30) {
    fprintf(stderr, "patterns: %s wants a number from 0 to 2^30, not '%s'\n", name, text);
    exit(2);
  }
  return number;
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* Messages still need this rank while it waits: frames that are to be sent again, acknowledgements.
 * A probe sees to them and sends nothing of its own. */
static void hold(const Job* job, const char* path) {
  enum { line_bytes = 24 };
  const struct timespec pause = {0, 2 * 1000 * 1000};
  char line[line_bytes + 1];
  snprintf(line, sizeof line, "%11d %11d\n", job->rank, (int)getpid());
  const int file = open(path, O_WRONLY | O_APPEND);
  if (file < 0 || write(file, line, line_bytes) != line_bytes) {
    fprintf(stderr, "patterns: rank %d cannot write into %s\n", job->rank, path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  struct stat state;
  while (fstat(file, &state) == 0 && state.st_size <= (off_t)job->size * line_bytes) {
    int is_there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    require(job, is_there == 0, "there is a message that the pattern has not received");
    nanosleep(&pause, NULL);
  }
  close(file);
}

static int partners_of(const Job* job) {
  int count = 0;
  for (int peer = 0; peer < job->size; ++peer) count += job->partners[peer] && peer != job->rank;
  return count;
}

int main(int argc, char** argv) {
  const Pattern* pattern = argc > 1 ? find(argv[1]) : NULL;
  if (pattern == NULL) return usage();
  Job job = {
      .rounds = number_of(argc, argv, "rounds", 0),
      .bytes = (int)number_of(argc, argv, "bytes", 0),
      .bytes_max = (int)number_of(argc, argv, "bytes_max", 0),
      .peers = (int)number_of(argc, argv, "peers", 0),
      .warm_up = number_of(argc, argv, "warm_up", -1),
      .reuse = has_argument(argc, argv, "reuse"),
      .spoil = has_argument(argc, argv, "spoil"),
  };
  const double began_ms = now_ms();
  MPI_Init(&argc, &argv);
  const double init_ms = now_ms() - began_ms;
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  job.rank = world_rank();
  job.size = world_size();
  job.partners = allocate((size_t)job.size * sizeof *job.partners);
  pattern->run(&job);
  const char* path = text_of(argc, argv, "hold");
  if (path != NULL) hold(&job, path);
  printf("init %.3f\n", init_ms);
  printf("partners %d\n", partners_of(&job));
  if (job.seconds > 0) printf("collectives %.3f\n", 1e3 * job.seconds);
  free(job.partners);
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
