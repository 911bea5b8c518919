// Steps that both executors carry out in the same way.
#pragma once

#include "collective/arguments.hpp"
#include "p2p/engine.hpp"

namespace hawser::collective {

/// Copies the items of FROM to TO: any two types of equal signature, which do not overlap.
/// MPI_ERR_TRUNCATE if TO is too small; it is then filled as far as it goes.
Result<void> copy_items(const ConstBuffer& from, const Buffer& to);

/// Starts a send. Null: it is complete already.
Result<Ref<Request>> start_send(p2p::Engine& engine, const ConstBuffer& buffer,
                                const p2p::Envelope& envelope);

}  // namespace hawser::collective
