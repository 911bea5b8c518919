// The tools interface: performance variables (MPI-5.0 §15.3.7). All of them have elements of 64
// bits and are bound to no object.
#include <cstring>

#include "binding/calls/tool_names.hpp"
#include "binding/generated/tool.hpp"

namespace hawser::calls {

using base::ErrorClass;
using tool::PerformanceHandle;
using tool::PerformanceSession;
using tool::PerformanceVariable;
using Numbers = std::vector<std::uint64_t>;

namespace {

int class_of(const PerformanceVariable& variable) {
  switch (variable.variable_class) {
    case tool::VariableClass::level:
      return MPI_T_PVAR_CLASS_LEVEL;
    case tool::VariableClass::high_watermark:
      return MPI_T_PVAR_CLASS_HIGHWATERMARK;
    case tool::VariableClass::counter:
      return MPI_T_PVAR_CLASS_COUNTER;
    case tool::VariableClass::aggregate:
      break;
  }
  return MPI_T_PVAR_CLASS_AGGREGATE;
}

// The user's buffers have no type, and need not be aligned as ours.
void copy_out(const Numbers& numbers, void* to) {
  std::memcpy(to, numbers.data(), numbers.size() * sizeof(std::uint64_t));
}
Numbers copy_in(const void* from, std::size_t length) {
  Numbers numbers(length);
  std::memcpy(numbers.data(), from, length * sizeof(std::uint64_t));
  return numbers;
}

Numbers now_of(const PerformanceHandle& handle) { return Tools::read(handle.variable()); }

/// DOES to each of HANDLES, with its numbers of now; the first error is returned.
template <class Does>
Result<void> for_each(const PerformanceHandles& handles, Does&& does) {
  for (PerformanceHandle* const handle : handles) HAWSER_TRY(does(*handle, now_of(*handle)));
  return {};
}

}  // namespace

Result<void> t_pvar_get_num(Tools& tools, int& num_pvar) {
  num_pvar = static_cast<int>(tools.performances().size());
  return {};
}

Result<void> t_pvar_get_info(Tools& tools, int pvar_index, ToolText name,
                             OptionalOut<int> verbosity, OptionalOut<int> var_class,
                             OptionalOut<MPI_Datatype> datatype, OptionalOut<MPI_T_enum> enumtype,
                             ToolText desc, OptionalOut<int> bind, OptionalOut<int> readonly,
                             OptionalOut<int> continuous, OptionalOut<int> atomic) {
  const Result<const PerformanceVariable*> found = element_of(tools.performances(), pvar_index);
  if (!found) return found.error();
  const PerformanceVariable& variable = **found;
  name.set(variable.name);
  verbosity.set(verbosity_of(variable.verbosity));
  var_class.set(class_of(variable));
  datatype.set(MPI_UNSIGNED_LONG_LONG);
  enumtype.set(MPI_T_ENUM_NULL);
  desc.set(variable.sentence);
  bind.set(MPI_T_BIND_NO_OBJECT);
  readonly.set(variable.is_sum() ? 0 : 1);
  continuous.set(variable.is_sum() ? 0 : 1);
  atomic.set(variable.is_sum() ? 1 : 0);
  return {};
}

Result<void> t_pvar_get_index(Tools& tools, std::string_view name, int var_class, int& pvar_index) {
  return find_index(
      tools.performances(),
      [&](const PerformanceVariable& variable) {
        return variable.name == name && class_of(variable) == var_class;
      },
      pvar_index);
}

Result<void> t_pvar_session_create(Tools&, MPI_T_pvar_session& pe_session) {
  return show_at(base::make_ref<PerformanceSession>(), pe_session, ErrorClass::t_out_of_sessions);
}

Result<void> t_pvar_session_free(Tools&, HandleInOut<PerformanceSession> pe_session) {
  // Handles that the tool left in it end with it.
  Runtime& runtime = Runtime::get();
  while (!pe_session->handles().empty()) {
    PerformanceHandle* const handle = pe_session->handles().back();
    handle->leave();
    runtime.table<PerformanceHandle>().erase(handle->handle());
  }
  pe_session.take();
  return {};
}

Result<void> t_pvar_handle_alloc(Tools& tools, PerformanceSession& pe_session, int pvar_index,
                                 void*, MPI_T_pvar_handle& handle, int& count) {
  const Result<const PerformanceVariable*> variable = element_of(tools.performances(), pvar_index);
  if (!variable) return variable.error();
  HAWSER_TRY(show_at(base::make_ref<PerformanceHandle>(**variable, pe_session), handle,
                     ErrorClass::t_out_of_handles));
  count = static_cast<int>((*variable)->length);
  return {};
}

Result<void> t_pvar_handle_free(Tools&, PerformanceSession&,
                                HandleInOut<PerformanceHandle> handle) {
  handle.take();
  return {};
}

Result<void> t_pvar_start(Tools&, PerformanceSession&, const PerformanceHandles& handles) {
  return for_each(handles,
                  [](PerformanceHandle& handle, const Numbers& now) { return handle.start(now); });
}

Result<void> t_pvar_stop(Tools&, PerformanceSession&, const PerformanceHandles& handles) {
  return for_each(handles,
                  [](PerformanceHandle& handle, const Numbers& now) { return handle.stop(now); });
}

Result<void> t_pvar_reset(Tools&, PerformanceSession&, const PerformanceHandles& handles) {
  return for_each(handles,
                  [](PerformanceHandle& handle, const Numbers& now) { return handle.reset(now); });
}

Result<void> t_pvar_read(Tools&, PerformanceSession&, PerformanceHandle& handle, void* buf) {
  Numbers value(handle.variable().length);
  handle.read(now_of(handle), value);
  copy_out(value, buf);
  return {};
}

Result<void> t_pvar_write(Tools&, PerformanceSession&, PerformanceHandle& handle, const void* buf) {
  return handle.write(now_of(handle), copy_in(buf, handle.variable().length));
}

Result<void> t_pvar_readreset(Tools&, PerformanceSession&, PerformanceHandle& handle, void* buf) {
  Numbers value(handle.variable().length);
  HAWSER_TRY(handle.read_and_reset(now_of(handle), value));
  copy_out(value, buf);
  return {};
}

}  // namespace hawser::calls
