// HandleTraits of the tools interface's objects (MPI_T). Their null handles are null pointers.
#pragma once

#include "binding/handles.hpp"
#include "tool/control_variables.hpp"
#include "tool/performance_session.hpp"

namespace hawser::binding {

template <>
struct HandleTraits<tool::Enumeration>
    : HandleNumbers<MPI_T_enum, HandleKind::enumeration, 0, 0, ErrorClass::t_invalid_handle> {
  static constexpr const char* name = "MPI_T_enum";
};
template <>
struct HandleTraits<tool::ControlHandle>
    : HandleNumbers<MPI_T_cvar_handle, HandleKind::control_handle, 0, 0,
                    ErrorClass::t_invalid_handle> {
  static constexpr const char* name = "MPI_T_cvar_handle";
};
template <>
struct HandleTraits<tool::PerformanceHandle>
    : HandleNumbers<MPI_T_pvar_handle, HandleKind::performance_handle, 0, 0,
                    ErrorClass::t_invalid_handle> {
  static constexpr const char* name = "MPI_T_pvar_handle";
};
template <>
struct HandleTraits<tool::PerformanceSession>
    : HandleNumbers<MPI_T_pvar_session, HandleKind::performance_session, 0, 0,
                    ErrorClass::t_invalid_session> {
  static constexpr const char* name = "MPI_T_pvar_session";
};

}  // namespace hawser::binding
