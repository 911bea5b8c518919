// byte_type(): uninterpreted bytes as a datatype, for the packed blocks that algorithms forward.
//
// One object for all: immutable but for its reference count, never deleted.
#pragma once

#include "core/datatype/datatype.hpp"

namespace hawser::collective {

core::Datatype& byte_type();

}  // namespace hawser::collective
