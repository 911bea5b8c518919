// What the leaders of two jobs tell each other when these connect, and a leader its group. All
// fields are little-endian.
//
// A process and where it is to be reached:
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +---------------------------------------------------------------+
//   | who it is: job 64 | index 32 | epoch 32                       |
//   +---------------+-----------------------------------------------+
//   | addresses     | of each: bytes 8, the transport's name;       |
//   +---------------+          bytes 8, the address                 |
//   +---------------------------------------------------------------+
//
// Call, of who wants to be let in by a port, an active message:
//   | magic: the bytes H W S C | version 32 (2) | port 64 | nonce 256 | the process that calls |
// Refusal, of a call at a port that is closed or has too many, an active message:
//   | magic | version | nonce 256: the call's |
// Answer, of who has accepted the call:
//   | magic | version | nonce 256 |
// Directory, both ways: the members of a group by rank, or why there are none.
//   | magic | version | code 32 | members 32 | that many processes |
// Notice, of a leader to each member of its group: the directory of the other group, and the key of
// the connection, sealed (secret.hpp).
//   | magic | version | code 32 | 0 | key id 64 | sealed under key id 64 | nonce 256 | key 256 |
//   | the directory, unless code says why there is none |
//
// Everything comes from elsewhere: every length is checked.
// Errors: MPI_ERR_INTERN: that is not what it should be.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "bootstrap/address_book.hpp"
#include "bootstrap/keyring.hpp"

namespace hawser::dynamic {

using base::Error;
using base::ErrorClass;
using base::Identity;
using base::Result;
using bootstrap::Addresses;
using bootstrap::Admission;
using bootstrap::JobKey;

static_assert(std::endian::native == std::endian::little,
              "wire fields are little-endian; a big-endian host needs conversions");

using Bytes = std::vector<std::byte>;
using Nonce = std::array<std::byte, 32>;

inline constexpr std::uint32_t wire_magic = 0x43535748;  // "HWSC"
inline constexpr std::uint32_t wire_version = 2;
/// Of a directory; room for a million processes.
inline constexpr std::size_t message_bytes_max = std::size_t{256} << 20;
/// Addresses of one process.
inline constexpr std::size_t addresses_max = 8;

/// A process and where it is to be reached.
struct Member {
  Identity identity;
  Addresses addresses;
};

void write_member(const Member& member, Bytes& out);
/// Takes one from the front of REST.
Result<Member> read_member(std::span<const std::byte>& rest);

struct Call {
  std::uint64_t port = 0;  // its admission
  Nonce nonce{};
  Member caller;
};
Bytes write(const Call& call);
Result<Call> read_call(std::span<const std::byte> bytes);

/// A refusal or an answer.
Bytes write(const Nonce& nonce);
Result<Nonce> read_nonce(std::span<const std::byte> bytes);

struct Directory {
  int code = 0;
  std::vector<Member> members;  // by rank
};
Bytes write(const Directory& directory);
Result<Directory> read_directory(std::span<const std::byte> bytes);

struct SealedKey {
  std::uint64_t under = 0;  // the admission whose key seals it; 0: that of the job
  Nonce nonce{};
  JobKey key{};
};
struct Notice {
  int code = 0;
  std::uint64_t admission = 0;
  SealedKey key;
  Bytes directory;  // as the other leader wrote it
};
Bytes write(const Notice& notice);
Result<Notice> read_notice(std::span<const std::byte> bytes);

}  // namespace hawser::dynamic
