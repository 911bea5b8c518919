// Builds datatypes from the input and compares the engine with a plain list (random_type.hpp).
#include <cstdio>
#include <cstdlib>

#include "core/datatype/random_type.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const hawser::core::TypeTable table;
  const std::string wrong = hawser::core::testing::check_random_type({data, size}, table);
  if (!wrong.empty()) {
    std::fprintf(stderr, "differs from the model: %s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
