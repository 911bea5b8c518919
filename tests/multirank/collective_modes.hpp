// Calls one collective in one of its two forms and completes it.
#pragma once

#include <type_traits>

#include "check.hpp"

namespace multirank {

enum class Mode { blocking, nonblocking };

template <typename... Arguments, typename Nonblocking>
void run(Mode mode, int (*blocking)(Arguments...), Nonblocking nonblocking,
         std::type_identity_t<Arguments>... arguments) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (mode) {
    case Mode::blocking:
      blocking(arguments...);
      return;
    case Mode::nonblocking:
      nonblocking(arguments..., &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      check(request == MPI_REQUEST_NULL, "a completed request is not MPI_REQUEST_NULL");
      return;
  }
}

}  // namespace multirank
