// The bytes that a list of scatter/gather entries names, read and written a part at a time.
//
// Threads: the adapter's lock. Errors: the status that the work's completion gets.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "softrdma/memory/region_table.hpp"
#include "softrdma/wire/payload.hpp"

namespace softrdma::memory {

/// Most entries of a work request; what the device says as max_sge.
inline constexpr std::size_t entries_max = 32;

/// Contiguous bytes that make up a payload.
class Pieces {
 public:
  void clear() { count_ = bytes_ = 0; }
  /// Not more than entries_max.
  void add(std::span<const std::byte> piece) {
    if (piece.empty()) return;
    pieces_[count_++] = piece;
    bytes_ += piece.size();
  }
  [[nodiscard]] std::span<const std::span<const std::byte>> all() const {
    return {pieces_.data(), count_};
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void append_to(std::vector<std::byte>* out) const {
    out->reserve(out->size() + bytes_);
    for (const std::span<const std::byte> piece : all())
      out->insert(out->end(), piece.begin(), piece.end());
  }

 private:
  std::array<std::span<const std::byte>, entries_max> pieces_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

/// The same to be written; not more than entries_max, and a header before them.
struct Parts {
  std::array<std::span<std::byte>, entries_max + 1> memory;
  std::size_t count = 0;

  [[nodiscard]] std::span<const std::span<std::byte>> all() const { return {memory.data(), count}; }
};

/// Who reads or writes by local keys.
struct Owner {
  const RegionTable& regions;
  std::uint32_t domain;
  std::uint32_t queue_pair;
};

std::uint64_t total_bytes(std::span<const ibv_sge> entries);

/// Finds the BYTES from OFFSET on of what ENTRIES name, for which RIGHTS (ibv_access_flags; 0 to
/// read) are needed: IBV_WC_LOC_LEN_ERR if there are fewer, IBV_WC_LOC_PROT_ERR if a key does not
/// open its part.
ibv_wc_status open_parts(const Owner& owner, std::span<const ibv_sge> entries, std::uint64_t offset,
                         std::size_t bytes, unsigned rights, Parts* out);

/// Adds the BYTES from OFFSET on of what ENTRIES name, which must hold them, to *out.
ibv_wc_status gather(const Owner& owner, std::span<const ibv_sge> entries, std::uint64_t offset,
                     std::size_t bytes, Pieces* out);

/// Stores PAYLOAD at OFFSET of what ENTRIES name; but its first bytes, which it must have, go to
/// HEADER. Nothing is stored if it does not fit (IBV_WC_LOC_LEN_ERR) or a key does not open its
/// part (IBV_WC_LOC_PROT_ERR). No status: the payload is not there any more, as if its packet had
/// been lost.
std::optional<ibv_wc_status> scatter(const Owner& owner, std::span<const ibv_sge> entries,
                                     std::uint64_t offset, const wire::Payload& payload,
                                     std::span<std::byte> header = {});

}  // namespace softrdma::memory
