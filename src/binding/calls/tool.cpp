// The tools interface: initialization, enumerations and control variables (MPI-5.0 §15.3.4-6).
#include <fmt/format.h>

#include <algorithm>

#include "binding/calls/tool_names.hpp"
#include "binding/generated/tool.hpp"
#include "binding/instance.hpp"

namespace hawser::calls {

using base::Error;
using base::ErrorClass;
using tool::ControlHandle;
using tool::ControlVariable;
using tool::Enumeration;

namespace {

MPI_Datatype datatype_of(tool::ElementType type) {
  switch (type) {
    case tool::ElementType::int32:
      return MPI_INT;
    case tool::ElementType::uint32:
      return MPI_UNSIGNED;
    case tool::ElementType::int64:
      return MPI_COUNT;
    case tool::ElementType::uint64:
      return MPI_UNSIGNED_LONG_LONG;
    case tool::ElementType::real:
      return MPI_DOUBLE;
    case tool::ElementType::character:
      break;
  }
  return MPI_CHAR;
}

/// All of them can be written, most only before initialization.
int scope_of(base::ParameterScope scope) {
  return scope == base::ParameterScope::job ? MPI_T_SCOPE_ALL_EQ : MPI_T_SCOPE_LOCAL;
}

/// The one handle that an enumeration has; the null handle where there is none.
MPI_T_enum handle_of(const Ref<Enumeration>& enumeration) {
  if (!enumeration) return MPI_T_ENUM_NULL;
  if (enumeration->handle() != 0) return c_handle<Enumeration>(enumeration->handle());
  return Runtime::get().show<Enumeration>(enumeration);
}

bool is_thread_level(int level) {
  return level == MPI_THREAD_SINGLE || level == MPI_THREAD_FUNNELED ||
         level == MPI_THREAD_SERIALIZED || level == MPI_THREAD_MULTIPLE;
}

}  // namespace

// A profiling tool takes MPI_Pcontrol over; without one there is nothing to control.
Result<void> pcontrol(Runtime&, int) { return {}; }

Result<void> t_init_thread(Tools& tools, int required, int& provided) {
  if (!is_thread_level(required))
    return Error(ErrorClass::t_invalid, fmt::format("{} is no thread level", required));
  const Result<int> level = tools.begin(required);
  if (!level) return level.error();
  provided = *level;
  return {};
}

Result<void> t_finalize(Tools& tools) {
  if (!tools.is_initialized())
    return Error(ErrorClass::t_not_initialized, "finalized more often than initialized");
  tools.end();
  return {};
}

Result<void> t_enum_get_info(Tools&, Enumeration& enumtype, OptionalOut<int> num, ToolText name) {
  num.set(static_cast<int>(enumtype.items().size()));
  name.set(enumtype.name());
  return {};
}

Result<void> t_enum_get_item(Tools&, Enumeration& enumtype, int index, OptionalOut<int> value,
                             ToolText name) {
  const Result<const std::string*> item = element_of(enumtype.items(), index);
  if (!item) return item.error();
  value.set(index);
  name.set(**item);
  return {};
}

Result<void> t_cvar_get_num(Tools& tools, int& num_cvar) {
  num_cvar = static_cast<int>(tools.controls().size());
  return {};
}

Result<void> t_cvar_get_info(Tools& tools, int cvar_index, ToolText name,
                             OptionalOut<int> verbosity, OptionalOut<MPI_Datatype> datatype,
                             OptionalOut<MPI_T_enum> enumtype, ToolText desc, OptionalOut<int> bind,
                             OptionalOut<int> scope) {
  const Result<const ControlVariable*> found = element_of(tools.controls(), cvar_index);
  if (!found) return found.error();
  const ControlVariable& variable = **found;
  name.set(variable.description.name);
  verbosity.set(verbosity_of(variable.description.handling.verbosity));
  datatype.set(datatype_of(variable.type));
  enumtype.set(handle_of(variable.enumeration));
  desc.set(variable.description.sentence);
  bind.set(MPI_T_BIND_NO_OBJECT);
  scope.set(scope_of(variable.description.handling.scope));
  return {};
}

Result<void> t_cvar_get_index(Tools& tools, std::string_view name, int& cvar_index) {
  return find_index(
      tools.controls(),
      [&](const ControlVariable& variable) { return variable.description.name == name; },
      cvar_index);
}

Result<void> t_cvar_handle_alloc(Tools& tools, int cvar_index, void*, MPI_T_cvar_handle& handle,
                                 int& count) {
  const Result<const ControlVariable*> variable = element_of(tools.controls(), cvar_index);
  if (!variable) return variable.error();
  HAWSER_TRY(
      show_at(base::make_ref<ControlHandle>(**variable), handle, ErrorClass::t_out_of_handles));
  count = (*variable)->count;
  return {};
}

Result<void> t_cvar_handle_free(Tools&, HandleInOut<ControlHandle> handle) {
  handle.take();
  return {};
}

Result<void> t_cvar_read(Tools&, ControlHandle& handle, void* buf) {
  const ControlVariable& variable = handle.variable();
  variable.put(Instance::get().parameter(variable.description.name), buf);
  return {};
}

Result<void> t_cvar_write(Tools&, ControlHandle& handle, const void* buf) {
  const ControlVariable& variable = handle.variable();
  const Result<base::ParameterValue> value = variable.get(buf);
  if (!value) return value.error();
  const Result<void> set = Instance::get().set_parameter(variable.description.name, *value);
  if (set.ok() || set.error().code() == static_cast<int>(ErrorClass::t_cvar_set_not_now))
    return set.ok() ? Result<void>() : set.error();
  return Error(ErrorClass::t_invalid, set.error().sentence());
}

}  // namespace hawser::calls
