/* The empty job: what run.py times from start to end. */
#include "micro.h"

void run_empty(int argc, char** argv) {
  (void)argc;
  (void)argv;
}
