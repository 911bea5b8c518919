// HAWSER_INSTANTIATE(ALGORITHM, ARGUMENTS): the one text of an algorithm, for both executors.
#pragma once

#include "collective/executor/direct.hpp"
#include "collective/executor/plan.hpp"

#define HAWSER_INSTANTIATE(algorithm, Arguments)             \
  template void algorithm(DirectExecutor, const Arguments&); \
  template void algorithm(RecordingExecutor, const Arguments&);
