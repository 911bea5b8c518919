#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace hawser::base {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "hawser: %s:%d: '%s' does not hold; this is a bug in Hawser\n", file, line,
               condition);
  std::abort();
}

}  // namespace hawser::base
