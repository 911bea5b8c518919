#include "p2p/buffered/buffered_sends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/request/composite_request.hpp"

namespace hawser::p2p {
namespace {

using base::Error;
using base::ErrorClass;

// Keeps copies aligned as well as malloc would, which packing and the channels like. Far below
// bsend_overhead_bytes, so a buffer that is large enough by the standard's rule is so here.
constexpr Count block_alignment_bytes = 16;

Count block_bytes(Count message_bytes) {
  const Count rounded =
      (message_bytes + block_alignment_bytes - 1) / block_alignment_bytes * block_alignment_bytes;
  return std::max(rounded, block_alignment_bytes);
}

bool has_left(const Ref<Request>& request) { return request->is_complete(); }

Error no_buffer() {
  return {ErrorClass::buffer, "no buffer is attached; attach one first (MPI_Buffer_attach)"};
}

}  // namespace

BufferedSends::Pool* BufferedSends::find(Owner owner) {
  const auto found = pools_.find(owner);
  return found == pools_.end() ? nullptr : &found->second;
}

BufferedSends::Pool* BufferedSends::find_for(const Comm& comm) {
  if (Pool* own = find(&comm)) return own;
  if (comm.session() != nullptr) {
    if (Pool* of_session = find(comm.session())) return of_session;
  }
  return find(nullptr);
}

Result<void> BufferedSends::attach(Owner owner, void* data, Count bytes) {
  const LaneLock lock(engine_);
  if (find(owner) != nullptr) {
    return Error(ErrorClass::buffer, "a buffer is attached already; detach it first");
  }
  pools_.try_emplace(owner, Attached{data, data == buffer_automatic ? 0 : bytes});
  return {};
}

Result<Ref<Request>> BufferedSends::iflush(Owner owner) {
  const LaneLock lock(engine_);
  Pool* const pool = find(owner);
  if (pool == nullptr) return no_buffer();
  std::vector<Ref<Request>> pending;
  const auto add = [&](const Ref<Request>& request) {
    if (!has_left(request)) pending.push_back(request);
  };
  pool->space.for_each(add);
  for (const HeapCopy& copy : pool->heap) add(copy.request);
  return Ref<Request>(base::make_ref<core::CompositeRequest>(core::RequestKind::composite, nullptr,
                                                             std::move(pending)));
}

Result<void> BufferedSends::flush(Owner owner) {
  Result<Ref<Request>> request = iflush(owner);
  if (!request) return request.take_error();
  engine_.wait(**request);
  return {};
}

Result<BufferedSends::Attached> BufferedSends::detach(Owner owner) {
  HAWSER_TRY(flush(owner));
  const LaneLock lock(engine_);
  Pool* const pool = find(owner);
  if (pool == nullptr) return no_buffer();
  const Attached attached = pool->attached;
  pools_.erase(owner);
  return attached;
}

void BufferedSends::drop(Owner owner) { static_cast<void>(detach(owner)); }

Result<void> BufferedSends::send(const ConstBuffer& buffer, const Envelope& envelope) {
  if (envelope.peer == proc_null) return {};
  {
    const LaneLock lock(engine_);
    Pool* const pool = find_for(*envelope.comm);
    if (pool == nullptr) return no_buffer();
    Result<bool> sent = try_send(*pool, buffer, envelope);
    if (!sent) return sent.take_error();
    if (*sent) return {};
  }
  // One round of progress may end some of the messages that are in the way.
  engine_.progress();
  const LaneLock lock(engine_);
  Pool* const pool = find_for(*envelope.comm);
  if (pool == nullptr) return no_buffer();
  Result<bool> sent = try_send(*pool, buffer, envelope);
  if (!sent) return sent.take_error();
  if (*sent) return {};
  const Count bytes = bytes_of(buffer);
  return Error(
      ErrorClass::buffer,
      fmt::format("a message of {} bytes has no room in the attached buffer of {} bytes, of which "
                  "{} are in use; attach one with {} bytes (MPI_BSEND_OVERHEAD) plus the packed "
                  "size for every message that is under way",
                  bytes, pool->attached.bytes, pool->space.bytes_taken(), bsend_overhead_bytes));
}

Result<Ref<Request>> BufferedSends::isend(const ConstBuffer& buffer, const Envelope& envelope) {
  HAWSER_TRY(send(buffer, envelope));
  return Ref<Request>(base::make_ref<core::CompositeRequest>(
      core::RequestKind::send, Ref<core::Object>(Ref<Comm>::share(envelope.comm)),
      std::vector<Ref<Request>>()));
}

Result<bool> BufferedSends::try_send(Pool& pool, const ConstBuffer& buffer,
                                     const Envelope& envelope) {
  if (engine_.backend().try_send(buffer, envelope)) return true;
  if (!pool.is_automatic()) return send_from_space(pool, buffer, envelope);
  HAWSER_TRY(send_from_heap(pool, buffer, envelope));
  return true;
}

Result<bool> BufferedSends::send_from_space(Pool& pool, const ConstBuffer& buffer,
                                            const Envelope& envelope) {
  const Count bytes = block_bytes(bytes_of(buffer));
  pool.space.free_oldest(has_left);
  std::optional<Count> offset = pool.space.find(bytes);
  if (!offset) {
    pool.space.free_all(has_left);
    offset = pool.space.find(bytes);
  }
  if (!offset) return false;
  Result<Ref<Request>> request =
      send_packed(static_cast<std::byte*>(pool.attached.data) + *offset, buffer, envelope);
  if (!request) return request.take_error();
  pool.space.insert(*offset, bytes, std::move(*request));
  return true;
}

Result<void> BufferedSends::send_from_heap(Pool& pool, const ConstBuffer& buffer,
                                           const Envelope& envelope) {
  while (!pool.heap.empty() && has_left(pool.heap.front().request)) pool.heap.pop_front();
  const auto bytes = static_cast<std::size_t>(bytes_of(buffer));
  auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
  Result<Ref<Request>> request = send_packed(copy.get(), buffer, envelope);
  if (!request) return request.take_error();
  pool.heap.push_back({std::move(copy), std::move(*request)});
  return {};
}

Result<Ref<Request>> BufferedSends::send_packed(std::byte* copy, const ConstBuffer& buffer,
                                                const Envelope& envelope) {
  const Count bytes = bytes_of(buffer);
  if (bytes > 0) buffer.type->pack(buffer.data, buffer.count, 0, copy, bytes);
  return engine_.isend({copy, bytes, &byte_type_}, envelope, SendMode::standard);
}

}  // namespace hawser::p2p
