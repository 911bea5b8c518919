#include "bootstrap/not_offered.hpp"

#include <fmt/format.h>

namespace hawser::bootstrap {

base::Error not_offered(base::ErrorClass error_class, std::string_view launcher,
                        std::string_view what) {
  return {error_class,
          fmt::format("the launcher of this job ({}) offers no way to {}", launcher, what)};
}

}  // namespace hawser::bootstrap
