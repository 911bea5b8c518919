#include "binding/runtime.hpp"

#include <initializer_list>

namespace hawser::binding {

Runtime& Runtime::create() {
  static Runtime* const runtime = new Runtime;
  instance_.store(runtime, std::memory_order_release);
  return *runtime;
}

Runtime::Runtime() {
  using core::ErrhandlerKind;
  using core::OpCode;
  // One reference of each predefined object stays here for ever; MPI_*_free refuses them.
  for (const OpCode code : {OpCode::sum, OpCode::min, OpCode::max, OpCode::prod, OpCode::band,
                            OpCode::bor, OpCode::bxor, OpCode::land, OpCode::lor, OpCode::lxor,
                            OpCode::minloc, OpCode::maxloc, OpCode::replace, OpCode::no_op}) {
    set_predefined(static_cast<std::uint64_t>(code), new core::Op(code));
  }
  const std::uint64_t errhandlers = raw_handle(MPI_ERRORS_ARE_FATAL);
  set_predefined(errhandlers, new core::Errhandler(ErrhandlerKind::errors_are_fatal));
  set_predefined(errhandlers + 1, new core::Errhandler(ErrhandlerKind::errors_abort));
  set_predefined(errhandlers + 2, new core::Errhandler(ErrhandlerKind::errors_return));
  initial_errhandler_ = Ref<core::Errhandler>::share(&errors_are_fatal());
  file_errhandler_ =
      Ref<core::Errhandler>::share(&predefined<core::Errhandler>(raw_handle(MPI_ERRORS_RETURN)));
  set_predefined(raw_handle(MPI_GROUP_EMPTY), core::Group::empty().leak());
  set_predefined(raw_handle(MPI_INFO_ENV), new core::Info);
  for (std::uint64_t handle = HandleTraits<core::Datatype>::first;
       handle <= HandleTraits<core::Datatype>::last; ++handle) {
    set_predefined(handle, types_.find(static_cast<std::uint32_t>(handle)));
  }
}

void Runtime::set_predefined(std::uint64_t handle, core::Object* object) {
  predefined_[handle] = object;
  if (object != nullptr) object->set_handle(handle);
}

}  // namespace hawser::binding
