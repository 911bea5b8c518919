#include "base/assert.hpp"
#include "core/op/kernels.hpp"

namespace hawser::core {

Kernel Op::kernel_for(const Datatype& type) const {
  if (!is_predefined()) return nullptr;
  const Basic& basic = describe(type);
  return basic.is_pair() ? nullptr : find_kernel(code_, basic.value);
}

void Op::apply(const void* in, void* inout, Count count, Datatype& type) const {
  if (!is_predefined()) {
    function_(in, inout, count, type);
  } else if (const Kernel kernel = kernel_for(type); kernel != nullptr) {
    kernel(in, inout, count);
  } else {
    const Basic& basic = describe(type);
    const PairKernel of_pairs = find_pair_kernel(code_, basic);
    HAWSER_DEBUG_ASSERT(of_pairs != nullptr);
    of_pairs(in, inout, count, basic);
  }
}

}  // namespace hawser::core
