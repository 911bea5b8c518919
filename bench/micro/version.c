/* "version TEXT": which library the program runs with. */
#include "micro.h"

void run_version(int argc, char** argv) {
  (void)argc;
  (void)argv;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(text, &length);
  text[strcspn(text, "\n")] = '\0';
  if (world_rank() == 0) printf("version %s\n", text);
}
