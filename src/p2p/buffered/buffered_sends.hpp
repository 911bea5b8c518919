// BufferedSends: sends whose data is copied at once into a buffer that the user attached
// (MPI-5.0 §3.6).
//
// An owner is whatever a buffer can be attached to: a communicator, a session, or the process
// (null). A send looks for a buffer in this order. With MPI_BUFFER_AUTOMATIC each message gets heap
// memory of its own instead.
// Ownership: one per Process, outlived by its Engine. Attached memory is the user's. Owners are
//            compared by address only: drop() them before they go.
// Threads:   all calls are thread-safe; guarded by the lane lock.
// Errors:    a message that fails after its send has returned has no one to tell; its room is
//            free again.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "p2p/buffered/ring_space.hpp"
#include "p2p/engine.hpp"

namespace hawser::p2p {

/// MPI_BSEND_OVERHEAD: what users add to the packed size of each message.
inline constexpr Count bsend_overhead_bytes = 512;
/// MPI_BUFFER_AUTOMATIC.
inline void* const buffer_automatic = reinterpret_cast<void*>(2);

class BufferedSends {
 public:
  using Owner = const core::Object*;
  struct Attached {
    void* data = nullptr;
    Count bytes = 0;
  };

  /// BYTE_TYPE: one uninterpreted byte (MPI_BYTE); outlives this.
  BufferedSends(Engine& engine, Datatype& byte_type) : engine_(engine), byte_type_(byte_type) {}
  BufferedSends(const BufferedSends&) = delete;
  BufferedSends& operator=(const BufferedSends&) = delete;

  /// MPI_ERR_BUFFER if OWNER has one already. BYTES is ignored with buffer_automatic.
  Result<void> attach(Owner owner, void* data, Count bytes);
  /// Waits until all messages have left the buffer; MPI_ERR_BUFFER if OWNER has none.
  Result<Attached> detach(Owner owner);
  /// Waits until the messages that are in the buffer now have left it.
  Result<void> flush(Owner owner);
  Result<Ref<Request>> iflush(Owner owner);
  /// Detaches, if there is something; for owners that are about to go.
  void drop(Owner owner);

  /// MPI_Bsend; never waits. MPI_ERR_BUFFER if no buffer is attached or it has no room.
  Result<void> send(const ConstBuffer& buffer, const Envelope& envelope);
  /// MPI_Ibsend: as send(), with a request that is complete.
  Result<Ref<Request>> isend(const ConstBuffer& buffer, const Envelope& envelope);

 private:
  struct HeapCopy {
    std::unique_ptr<std::byte[]> data;
    Ref<Request> request;
  };
  /// Either in `space`, or in `heap` if automatic.
  struct Pool {
    explicit Pool(Attached memory) : attached(memory), space(memory.bytes) {}
    [[nodiscard]] bool is_automatic() const { return attached.data == buffer_automatic; }

    Attached attached;
    RingSpace<Ref<Request>> space;
    std::deque<HeapCopy> heap;
  };

  [[nodiscard]] Pool* find(Owner owner);
  [[nodiscard]] Pool* find_for(const Comm& comm);
  /// False if there is no room.
  Result<bool> try_send(Pool& pool, const ConstBuffer& buffer, const Envelope& envelope);
  Result<bool> send_from_space(Pool& pool, const ConstBuffer& buffer, const Envelope& envelope);
  Result<void> send_from_heap(Pool& pool, const ConstBuffer& buffer, const Envelope& envelope);
  Result<Ref<Request>> send_packed(std::byte* copy, const ConstBuffer& buffer,
                                   const Envelope& envelope);

  Engine& engine_;
  Datatype& byte_type_;
  std::unordered_map<Owner, Pool> pools_;
};

}  // namespace hawser::p2p
