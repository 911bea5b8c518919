#include "p2p/partitioned/handshake.hpp"

#include <fmt/format.h>

#include <limits>

namespace hawser::p2p {

base::Result<void> Handshake::check() const {
  if (request->error() != nullptr) return *request->error();
  base::Count total = 0;
  const bool fits =
      request->status().bytes == sizeof layout &&
      std::uint64_t{layout.first_tag} + layout.partitions <= std::numeric_limits<int>::max() &&
      !__builtin_mul_overflow(layout.partition_bytes, layout.partitions, &total);
  if (fits) return {};
  return base::Error(
      base::ErrorClass::intern,
      fmt::format("rank {} announced {} partitions of {} bytes from tag {} on in {} bytes, which "
                  "is no valid partitioned send",
                  request->status().source, layout.partitions, layout.partition_bytes,
                  layout.first_tag, request->status().bytes));
}

}  // namespace hawser::p2p
