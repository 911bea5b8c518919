// What creating communicators needs of groups beyond core/group/.
#pragma once

#include "core/comm/comm.hpp"

namespace hawser::comm_ops {

/// Groups are immutable, so whoever may read one may keep it.
core::Ref<core::Group> share(const core::Group& group);
/// The members of FIRST, then those of SECOND, which has none of them.
core::Ref<core::Group> concatenate(const core::Group& first, const core::Group& second);
/// MPI_ERR_GROUP unless all members of GROUP are in the (local) group of PARENT.
core::Result<void> check_members(const core::Group& group, const core::Comm& parent);

}  // namespace hawser::comm_ops
