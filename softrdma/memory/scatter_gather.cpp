#include "softrdma/memory/scatter_gather.hpp"

#include <algorithm>
#include <cstring>

namespace softrdma::memory {
namespace {

/// VISIT(memory, bytes) for each contiguous part of [offset, offset + bytes); opens all of them
/// before it visits the first.
template <class Visit>
ibv_wc_status for_each_part(const Owner& owner, std::span<const ibv_sge> entries,
                            std::uint64_t offset, std::size_t bytes, unsigned rights,
                            Visit&& visit) {
  struct Part {
    std::byte* memory;
    std::size_t bytes;
  };
  std::array<Part, entries_max> parts;
  std::size_t count = 0;
  for (const ibv_sge& entry : entries) {
    if (bytes == 0) break;
    if (offset >= entry.length) {
      offset -= entry.length;
      continue;
    }
    const std::size_t part = std::min<std::uint64_t>(entry.length - offset, bytes);
    const Opened opened = owner.regions.open(entry.lkey, entry.addr + offset, part,
                                             {owner.domain, owner.queue_pair, rights});
    if (!opened.ok()) return IBV_WC_LOC_PROT_ERR;
    parts[count++] = {opened.memory, part};
    bytes -= part;
    offset = 0;
  }
  if (bytes != 0) return IBV_WC_LOC_LEN_ERR;
  for (std::size_t i = 0; i < count; ++i) visit(parts[i].memory, parts[i].bytes);
  return IBV_WC_SUCCESS;
}

}  // namespace

std::uint64_t total_bytes(std::span<const ibv_sge> entries) {
  std::uint64_t total = 0;
  for (const ibv_sge& entry : entries) total += entry.length;
  return total;
}

ibv_wc_status gather(const Owner& owner, std::span<const ibv_sge> entries, std::uint64_t offset,
                     std::size_t bytes, Pieces* out) {
  return for_each_part(owner, entries, offset, bytes, 0,
                       [&](const std::byte* memory, std::size_t part) {
                         out->add({memory, part});
                       });
}

ibv_wc_status scatter(const Owner& owner, std::span<const ibv_sge> entries, std::uint64_t offset,
                      std::span<const std::byte> payload) {
  return for_each_part(owner, entries, offset, payload.size(), IBV_ACCESS_LOCAL_WRITE,
                       [&](std::byte* memory, std::size_t part) {
                         std::memcpy(memory, payload.data(), part);
                         payload = payload.subspan(part);
                       });
}

}  // namespace softrdma::memory
