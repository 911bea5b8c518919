// For tests: the communicator that two processes of a fake network (channel/endpoint/fake_end.hpp)
// share, as the one of RANK sees it.
#pragma once

#include <utility>

#include "core/comm/comm.hpp"

namespace hawser::p2p {

inline base::Ref<core::Comm> comm_of_two(int rank) {
  core::Comm::Description description;
  description.group = core::Group::of_stride(1, 0, 1, 2);
  description.rank = rank;
  description.errhandler = base::make_ref<core::Errhandler>(core::ErrhandlerKind::errors_return);
  return base::make_ref<core::Comm>(std::move(description));
}

}  // namespace hawser::p2p
