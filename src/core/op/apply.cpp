#include "base/assert.hpp"
#include "core/op/kernels.hpp"

namespace hawser::core {

void Op::apply(const void* in, void* inout, Count count, Datatype& type) const {
  if (!is_predefined()) {
    function_(in, inout, count, type);
    return;
  }
  const Basic& basic = describe(type);
  if (basic.is_pair()) {
    const PairKernel kernel = find_pair_kernel(code_, basic);
    HAWSER_DEBUG_ASSERT(kernel != nullptr);
    kernel(in, inout, count, basic);
  } else {
    const Kernel kernel = find_kernel(code_, basic.value);
    HAWSER_DEBUG_ASSERT(kernel != nullptr);
    kernel(in, inout, count);
  }
}

}  // namespace hawser::core
