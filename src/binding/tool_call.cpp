#include "binding/tool_call.hpp"

namespace hawser::binding {

PerformanceHandles ToolCall::handles(MPI_T_pvar_handle handle,
                                     const tool::PerformanceSession* session) {
  if (session == nullptr) return {};
  if (handle != MPI_T_PVAR_ALL_HANDLES) {
    return {object<tool::PerformanceHandle>(handle, session)};
  }
  PerformanceHandles all;
  for (tool::PerformanceHandle* const each : session->handles())
    if (each->variable().is_sum()) all.push_back(each);
  return all;
}

}  // namespace hawser::binding
