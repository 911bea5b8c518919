#include "session/version.hpp"

namespace hawser::session {

std::string_view version() { return HAWSER_VERSION; }

}  // namespace hawser::session
