// What a launcher does not offer, as an error.
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace hawser::bootstrap {

/// LAUNCHER offers no way to WHAT ("start further processes").
base::Error not_offered(base::ErrorClass error_class, std::string_view launcher,
                        std::string_view what);

}  // namespace hawser::bootstrap
