// perform(executor, arguments): the algorithm that the tables choose, on any executor.
//
// What the public functions are made of, and how comm_ops builds plans with steps of its own:
//
//   PlanBuilder builder = runner.builder();
//   RecordingExecutor ex(builder, comm);
//   perform(ex, AllreduceArguments{…});
//   ex.call([…] { … });
//   return runner.start(builder.finish());
#pragma once

#include "collective/executor/direct.hpp"
#include "collective/executor/plan.hpp"

namespace hawser::collective {

/// Defined for DirectExecutor and RecordingExecutor, and every …Arguments of arguments.hpp.
template <class Executor, class Arguments>
void perform(Executor ex, const Arguments& arguments);

}  // namespace hawser::collective
