// The verbs transport's component, opened with the RDMA device that is to stand behind it.
#pragma once

#include "base/result.hpp"
#include "transport/component.hpp"
#include "transport/verbs/settings.hpp"

namespace hawser::session {

using VerbsComponent = transport::Component<transport::verbs::Settings>;

/// The component, with an adapter of this machine or softrdma's behind it, as SETTINGS say; which
/// of them, is decided once for the life of the OS process. The error says what is missing.
base::Result<const VerbsComponent*> open_verbs_component(
    const transport::verbs::Settings& settings);

}  // namespace hawser::session
