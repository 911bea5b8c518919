#include "binding/generated/attributes.hpp"

#include <fmt/format.h>

#include <bit>

#include "binding/callback_handle.hpp"

namespace hawser::calls {

using core::KeyvalKind;

namespace {

// The ABI's numbers for MPI_*_NULL_COPY_FN, MPI_*_NULL_DELETE_FN, and MPI_*_DUP_FN.
constexpr std::uintptr_t null_function = 0;
constexpr std::uintptr_t dup_function = 1;

template <class T, class Function>
core::AttributeCopy copy_callback(Function* function, void* extra_state) {
  const auto number = std::bit_cast<std::uintptr_t>(function);
  if (number == null_function) return {};
  if (number == dup_function) {
    return [](core::Object&, int, void* value_in, void** value_out, bool* flag) {
      *value_out = value_in;
      *flag = true;
      return MPI_SUCCESS;
    };
  }
  return [=](core::Object& object, int keyval, void* value_in, void** value_out, bool* flag) {
    const CallbackHandle<T> handle(object);
    int copies = 0;
    const int code = function(handle.get(), keyval, extra_state, value_in, value_out, &copies);
    *flag = copies != 0;
    return code;
  };
}

template <class T, class Function>
core::AttributeDelete delete_callback(Function* function, void* extra_state) {
  if (std::bit_cast<std::uintptr_t>(function) == null_function) return {};
  return [=](core::Object& object, int keyval, void* value) {
    const CallbackHandle<T> handle(object);
    return function(handle.get(), keyval, value, extra_state);
  };
}

template <class T, class Copy, class Delete>
Result<void> create_keyval(Runtime& runtime, KeyvalKind kind, Copy* copy, Delete* destroy,
                           int& keyval, void* extra_state) {
  keyval = runtime.keyvals().create(kind, copy_callback<T>(copy, extra_state),
                                    delete_callback<T>(destroy, extra_state));
  return {};
}

Result<void> free_keyval(Runtime& runtime, KeyvalKind kind, int& keyval) {
  HAWSER_TRY(runtime.keyvals().free(kind, keyval));
  keyval = MPI_KEYVAL_INVALID;
  return {};
}

template <class T>
Result<void> set(Runtime& runtime, KeyvalKind kind, T& object, int keyval, void* value) {
  auto found = runtime.keyvals().find(kind, keyval);
  if (!found.ok()) return found.take_error();
  return object.attributes().set(object, std::move(found).value(), value);
}

template <class T>
Result<void> get(Runtime& runtime, KeyvalKind kind, T& object, int keyval, void** value,
                 int& flag) {
  HAWSER_TRY(runtime.keyvals().find(kind, keyval));
  flag = object.attributes().get(keyval, value) ? 1 : 0;
  return {};
}

template <class T>
Result<void> erase(Runtime& runtime, KeyvalKind kind, T& object, int keyval) {
  HAWSER_TRY(runtime.keyvals().find(kind, keyval));
  return object.attributes().erase(object, keyval);
}

/// Where a predefined attribute of communicators is kept; null for other keyvals.
int* predefined(Runtime& runtime, int keyval) {
  PredefinedAttributes& values = runtime.attributes();
  switch (keyval) {
    case MPI_TAG_UB:
      return &values.tag_ub;
    case MPI_IO:
      return &values.io;
    case MPI_HOST:
      return &values.host;
    case MPI_WTIME_IS_GLOBAL:
      return &values.wtime_is_global;
    case MPI_APPNUM:
      return &values.appnum;
    case MPI_UNIVERSE_SIZE:
      return &values.universe_size;
    case MPI_LASTUSEDCODE:
      values.last_used_code = runtime.errors().last_used_code();
      return &values.last_used_code;
    default:
      return nullptr;
  }
}

Result<void> check_changeable(Runtime& runtime, int keyval) {
  if (predefined(runtime, keyval) == nullptr) return {};
  return base::Error(
      base::ErrorClass::keyval,
      fmt::format("keyval {} is predefined; its attribute can't be changed", keyval));
}

}  // namespace

Result<void> comm_create_keyval(Runtime& runtime, MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                                MPI_Comm_delete_attr_function* comm_delete_attr_fn,
                                int& comm_keyval, void* extra_state) {
  return create_keyval<core::Comm>(runtime, KeyvalKind::comm, comm_copy_attr_fn,
                                   comm_delete_attr_fn, comm_keyval, extra_state);
}

Result<void> comm_free_keyval(Runtime& runtime, int& comm_keyval) {
  HAWSER_TRY(check_changeable(runtime, comm_keyval));
  return free_keyval(runtime, KeyvalKind::comm, comm_keyval);
}

Result<void> comm_set_attr(Runtime& runtime, core::Comm& comm, int comm_keyval,
                           void* attribute_val) {
  HAWSER_TRY(check_changeable(runtime, comm_keyval));
  return set(runtime, KeyvalKind::comm, comm, comm_keyval, attribute_val);
}

Result<void> comm_get_attr(Runtime& runtime, core::Comm& comm, int comm_keyval,
                           void** attribute_val, int& flag) {
  int* const value = predefined(runtime, comm_keyval);
  if (value == nullptr) {
    return get(runtime, KeyvalKind::comm, comm, comm_keyval, attribute_val, flag);
  }
  // Only MPI_APPNUM and MPI_UNIVERSE_SIZE may be unknown.
  flag = *value != MPI_UNDEFINED ? 1 : 0;
  if (flag != 0) *attribute_val = value;
  return {};
}

Result<void> comm_delete_attr(Runtime& runtime, core::Comm& comm, int comm_keyval) {
  HAWSER_TRY(check_changeable(runtime, comm_keyval));
  return erase(runtime, KeyvalKind::comm, comm, comm_keyval);
}

Result<void> type_create_keyval(Runtime& runtime, MPI_Type_copy_attr_function* type_copy_attr_fn,
                                MPI_Type_delete_attr_function* type_delete_attr_fn,
                                int& type_keyval, void* extra_state) {
  return create_keyval<core::Datatype>(runtime, KeyvalKind::type, type_copy_attr_fn,
                                       type_delete_attr_fn, type_keyval, extra_state);
}

Result<void> type_free_keyval(Runtime& runtime, int& type_keyval) {
  return free_keyval(runtime, KeyvalKind::type, type_keyval);
}

Result<void> type_set_attr(Runtime& runtime, core::Datatype& datatype, int type_keyval,
                           void* attribute_val) {
  return set(runtime, KeyvalKind::type, datatype, type_keyval, attribute_val);
}

Result<void> type_get_attr(Runtime& runtime, core::Datatype& datatype, int type_keyval,
                           void** attribute_val, int& flag) {
  return get(runtime, KeyvalKind::type, datatype, type_keyval, attribute_val, flag);
}

Result<void> type_delete_attr(Runtime& runtime, core::Datatype& datatype, int type_keyval) {
  return erase(runtime, KeyvalKind::type, datatype, type_keyval);
}

Result<void> win_create_keyval(Runtime& runtime, MPI_Win_copy_attr_function* win_copy_attr_fn,
                               MPI_Win_delete_attr_function* win_delete_attr_fn, int& win_keyval,
                               void* extra_state) {
  return create_keyval<Win>(runtime, KeyvalKind::win, win_copy_attr_fn, win_delete_attr_fn,
                            win_keyval, extra_state);
}

Result<void> win_free_keyval(Runtime& runtime, int& win_keyval) {
  return free_keyval(runtime, KeyvalKind::win, win_keyval);
}

}  // namespace hawser::calls
