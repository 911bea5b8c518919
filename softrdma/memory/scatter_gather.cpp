#include "softrdma/memory/scatter_gather.hpp"

#include <algorithm>

namespace softrdma::memory {

ibv_wc_status open_parts(const Owner& owner, std::span<const ibv_sge> entries, std::uint64_t offset,
                         std::size_t bytes, unsigned rights, Parts* out) {
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
    out->memory[out->count++] = {opened.memory, part};
    bytes -= part;
    offset = 0;
  }
  return bytes == 0 ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

std::uint64_t total_bytes(std::span<const ibv_sge> entries) {
  std::uint64_t total = 0;
  for (const ibv_sge& entry : entries) total += entry.length;
  return total;
}

ibv_wc_status gather(const Owner& owner, std::span<const ibv_sge> entries, std::uint64_t offset,
                     std::size_t bytes, Pieces* out) {
  Parts parts;
  const ibv_wc_status status = open_parts(owner, entries, offset, bytes, 0, &parts);
  if (status != IBV_WC_SUCCESS) return status;
  for (const std::span<std::byte> part : parts.all()) out->add(part);
  return IBV_WC_SUCCESS;
}

std::optional<ibv_wc_status> scatter(const Owner& owner, std::span<const ibv_sge> entries,
                                     std::uint64_t offset, const wire::Payload& payload,
                                     std::span<std::byte> header) {
  Parts parts;
  if (!header.empty()) parts.memory[parts.count++] = header;
  const ibv_wc_status status = open_parts(owner, entries, offset, payload.size() - header.size(),
                                          IBV_ACCESS_LOCAL_WRITE, &parts);
  if (status == IBV_WC_SUCCESS && !payload.read(parts.all())) return std::nullopt;
  return status;
}

}  // namespace softrdma::memory
