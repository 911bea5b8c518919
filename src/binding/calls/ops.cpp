#include "binding/generated/ops.hpp"

#include <algorithm>
#include <limits>

#include "binding/callback_handle.hpp"

namespace hawser::calls {

using core::Datatype;
using core::Op;

namespace {

base::Error no_function() {
  return {base::ErrorClass::arg, "argument 'user_fn' is a null pointer"};
}

}  // namespace

Result<void> op_create(Runtime&, MPI_User_function* user_fn, bool commute, HandleOut<Op> op) {
  if (user_fn == nullptr) return no_function();
  const auto apply = [user_fn](const void* in, void* inout, Count count, Datatype& type) {
    const CallbackHandle<Datatype> handle(type);
    // The user's function counts with an int: more items come in several calls.
    constexpr Count most = std::numeric_limits<int>::max();
    for (Count done = 0; done < count; done += most) {
      int length = static_cast<int>(std::min(most, count - done));
      MPI_Datatype datatype = handle.get();
      const Count skip = done * type.extent();
      user_fn(const_cast<std::byte*>(static_cast<const std::byte*>(in)) + skip,
              static_cast<std::byte*>(inout) + skip, &length, &datatype);
    }
  };
  op.set(base::make_ref<Op>(Op::Function(apply), commute));
  return {};
}

Result<void> op_create(Runtime&, MPI_User_function_c* user_fn, bool commute, HandleOut<Op> op) {
  if (user_fn == nullptr) return no_function();
  const auto apply = [user_fn](const void* in, void* inout, Count count, Datatype& type) {
    const CallbackHandle<Datatype> handle(type);
    MPI_Count length = count;
    MPI_Datatype datatype = handle.get();
    user_fn(const_cast<void*>(in), inout, &length, &datatype);
  };
  op.set(base::make_ref<Op>(Op::Function(apply), commute));
  return {};
}

Result<void> op_free(Runtime&, HandleInOut<Op> op) {
  if (op.is_predefined()) {
    return base::Error(base::ErrorClass::op, "a predefined operation can't be freed");
  }
  static_cast<void>(op.take());
  return {};
}

Result<void> op_commutative(Runtime&, Op& op, int& commute) {
  commute = op.is_commutative() ? 1 : 0;
  return {};
}

Result<void> reduce_local(Runtime&, const void* inbuf, void* inoutbuf, Count count,
                          Datatype& datatype, Op& op) {
  HAWSER_TRY(op.check(datatype));
  if (count > 0) op.apply(inbuf, inoutbuf, count, datatype);
  return {};
}

}  // namespace hawser::calls
