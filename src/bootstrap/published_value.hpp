// PublishedValue: one named value in memory that processes of a host share.
//
// Ownership: lies in a ProcessEntry (job_segment.hpp).
// Threads:   one process writes, once; any reads meanwhile and sees nothing or all of it.
// Invariant: key and value are valid once `published` says so, which is stored with release. What a
//            reader finds was written by another process: lengths are checked.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace hawser::bootstrap {

struct PublishedValue {
  std::atomic<std::uint32_t> published;  // 0 free, 1 being written, 2 valid
  std::uint32_t value_bytes;
  char key[32];
  std::byte value[256];
};

/// KEY and VALUE may be published at all (Bootstrap::publish); MPI_ERR_ARG.
base::Result<void> check_publishable(std::string_view key, std::span<const std::byte> value);

/// Publishes VALUE under KEY in the first free slot of SLOTS, which are the caller's own.
/// MPI_ERR_ARG for what can't be published, MPI_ERR_NO_MEM if all slots are taken.
base::Result<void> publish_value(std::span<PublishedValue> slots, std::string_view key,
                                 std::span<const std::byte> value);

/// What stands under KEY in SLOTS; nothing if it was not published yet. MPI_ERR_INTERN for a value
/// that was damaged.
base::Result<std::optional<std::vector<std::byte>>> find_value(
    std::span<const PublishedValue> slots, std::string_view key);

}  // namespace hawser::bootstrap
