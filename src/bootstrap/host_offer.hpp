// HostOffer: how a process tells others of its host where the memory is that they shall share.
//
// The memory is a file without a name that the process holds open: others open it through
// /proc/PID/fd, which works on the same host alone, and only for the same user. So nothing listens,
// nobody waits, and nothing is left behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hawser::bootstrap {

struct HostOffer {
  std::int32_t pid = 0;
  std::int32_t descriptor = 0;
  std::uint64_t cookie = 0;         // random; stands in the memory as well
  std::uint64_t pid_space = 0;      // name spaces (platform::name_space): numbers of processes and
  std::uint64_t network_space = 0;  // abstract sockets mean the same within one alone

  friend bool operator==(const HostOffer&, const HostOffer&) = default;
};

/// Five hexadecimal numbers with dots between them.
std::string to_text(const HostOffer& offer);
/// Nothing unless TEXT is one.
std::optional<HostOffer> parse_offer(std::string_view text);

}  // namespace hawser::bootstrap
