#include "binding/generated/tool.hpp"

namespace hawser::calls {

// A profiling tool takes MPI_Pcontrol over; without one there is nothing to control.
Result<void> pcontrol(Runtime&, int) { return {}; }

}  // namespace hawser::calls
