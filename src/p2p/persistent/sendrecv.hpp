// A send and a receive as one operation (MPI-5.0 §3.10), blocking or not.
//
// The receive is posted first, so that two processes that exchange messages need no buffering. The
// status is that of the receive; so is the error, unless only the send has one.
// Threads: all calls are thread-safe.
#pragma once

#include "p2p/engine.hpp"
#include "p2p/persistent/orphans.hpp"

namespace hawser::p2p {

/// *status may be null.
Result<void> sendrecv(Engine& engine, const ConstBuffer& from, const Envelope& destination,
                      const Buffer& to, const Envelope& source, Status* status);
Result<Ref<Request>> isendrecv(Engine& engine, const ConstBuffer& from, const Envelope& destination,
                               const Buffer& to, const Envelope& source);

// What is received replaces what is sent, from a packed copy. BYTE_TYPE: one uninterpreted byte;
// outlives the operation.
Result<void> sendrecv_replace(Engine& engine, Datatype& byte_type, const Buffer& buffer,
                              const Envelope& destination, const Envelope& source, Status* status);
/// ORPHANS keeps the copy if the request is freed before its end.
Result<Ref<Request>> isendrecv_replace(Engine& engine, Datatype& byte_type, Orphans& orphans,
                                       const Buffer& buffer, const Envelope& destination,
                                       const Envelope& source);

}  // namespace hawser::p2p
