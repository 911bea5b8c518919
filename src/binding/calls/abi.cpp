#include "binding/generated/abi.hpp"

#include <fmt/format.h>

namespace hawser::calls {

namespace {

base::Error wrong_logical_size(int bytes) {
  return {base::ErrorClass::arg,
          fmt::format("argument 'logical_size' is {}; it must be 1, 2, 4, 8 or 16", bytes)};
}

base::Error already_set(const char* what) {
  return {base::ErrorClass::abi, fmt::format("{} been set already", what)};
}

}  // namespace

Result<void> abi_get_version(Runtime&, int& abi_major, int& abi_minor) {
  abi_major = MPI_ABI_VERSION;
  abi_minor = MPI_ABI_SUBVERSION;
  return {};
}

Result<void> abi_get_info(Runtime&, HandleOut<core::Info> info) {
  auto sizes = base::make_ref<core::Info>();
  HAWSER_TRY(sizes->set("mpi_aint_size", std::to_string(sizeof(MPI_Aint))));
  HAWSER_TRY(sizes->set("mpi_count_size", std::to_string(sizeof(MPI_Count))));
  HAWSER_TRY(sizes->set("mpi_offset_size", std::to_string(sizeof(MPI_Offset))));
  info.set(std::move(sizes));
  return {};
}

Result<void> abi_get_fortran_info(Runtime& runtime, HandleOut<core::Info> info) {
  info.set(runtime.fortran().info());
  return {};
}

Result<void> abi_set_fortran_info(Runtime& runtime, core::Info& info) {
  if (!runtime.fortran().set_info(info)) return already_set("the Fortran types have");
  return {};
}

Result<void> abi_get_fortran_booleans(Runtime& runtime, int logical_size, void* logical_true,
                                      void* logical_false, int& is_set) {
  if (!FortranAbi::is_logical_size(logical_size)) return wrong_logical_size(logical_size);
  is_set = runtime.fortran().booleans(logical_size, logical_true, logical_false) ? 1 : 0;
  return {};
}

Result<void> abi_set_fortran_booleans(Runtime& runtime, int logical_size, void* logical_true,
                                      void* logical_false) {
  if (!FortranAbi::is_logical_size(logical_size)) return wrong_logical_size(logical_size);
  if (!runtime.fortran().set_booleans(logical_size, logical_true, logical_false)) {
    return already_set("LOGICALs of this size have");
  }
  return {};
}

}  // namespace hawser::calls
