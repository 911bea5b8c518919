// Memory of the device (ibv_alloc_dm(3)): of an adapter of software it is memory like any other,
// but a program reaches it by calls and by keys only.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/objects.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {
namespace {

constexpr std::size_t least_alignment = 64;
constexpr std::uint32_t log_alignment_max = 21;

DeviceMemory& memory_of(ibv_dm* dm) { return object_of<DeviceMemory>(dm); }

bool is_inside(const DeviceMemory& memory, std::uint64_t offset, std::size_t bytes) {
  return offset <= memory.bytes && bytes <= memory.bytes - offset;
}

/// As adapters ask for it whose memory is behind a bus.
bool is_aligned(std::uint64_t offset, std::size_t bytes) {
  constexpr std::uint64_t word_bytes = 4;
  return offset % word_bytes == 0 && bytes % word_bytes == 0;
}

int copy_to(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t bytes) {
  DeviceMemory& memory = memory_of(dm);
  if (!is_aligned(offset, bytes)) return EINVAL;
  if (!is_inside(memory, offset, bytes)) return EFAULT;
  std::memcpy(memory.data + offset, from, bytes);
  return 0;
}

int copy_from(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t bytes) {
  const DeviceMemory& memory = memory_of(dm);
  if (!is_aligned(offset, bytes)) return EINVAL;
  if (!is_inside(memory, offset, bytes)) return EFAULT;
  std::memcpy(to, memory.data + offset, bytes);
  return 0;
}

}  // namespace

/// A child of fork() may have some, too: it is memory.
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
  if (attributes->comp_mask != 0 || attributes->length == 0 ||
      attributes->log_align_req > log_alignment_max)
    return refuse(EINVAL);
  if (attributes->length > device_memory_bytes_max) return refuse(ENOMEM);
  const std::size_t alignment =
      std::max(std::size_t{1} << attributes->log_align_req, least_alignment);
  auto memory = std::make_unique<DeviceMemory>(attributes->length, std::align_val_t{alignment});
  memory->handle.visible = {.context = context,
                            .memcpy_to_dm = copy_to,
                            .memcpy_from_dm = copy_from,
                            .comp_mask = 0,
                            .handle = 0};
  memory->handle.object = memory.get();
  return &memory.release()->handle.visible;
}

int free_dm(ibv_dm* dm) {
  DeviceMemory& memory = memory_of(dm);
  const auto lock = Context::of(dm->context).adapter->lock();
  if (memory.users > 0) return EBUSY;
  delete &memory;
  return 0;
}

/// Its addresses count from 0.
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t bytes,
                  unsigned access) {
  DeviceMemory& memory = memory_of(dm);
  if ((access & IBV_ACCESS_ZERO_BASED) == 0 || !is_inside(memory, offset, bytes))
    return refuse(EINVAL);
  ibv_mr* const mr = register_region(pd, memory.data + offset, bytes, 0,
                                     access & ~unsigned{IBV_ACCESS_ZERO_BASED});
  if (mr == nullptr) return nullptr;
  mr->addr = nullptr;
  const auto lock = Context::of(pd->context).adapter->lock();
  object_of<Region>(mr).device_memory = &memory;
  ++memory.users;
  return mr;
}

}  // namespace softrdma::verbs
