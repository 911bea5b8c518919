// What the TCP transport puts on the wire. All fields are little-endian.
//
// A connection begins with a handshake. Who connects sends a Hello:
//    0                   1                   2                   3
//    0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//   +---------------------------------------------------------------+
//   | magic: the bytes H W S R                                      |
//   +---------------+---------------+---------------+---------------+
//   | version (3)   | flags         | 0                             |
//   +---------------+---------------+---------------+---------------+
//   | key id 64: under which key; 0: that of the job                |
//   | who it is:     job 64 | index 32 | epoch 32                   |
//   | whom it wants: job 64 | index 32 | epoch 32                   |
//   | its nonce 256                                                 |
//   +---------------------------------------------------------------+
// flags bit 0: all that follows the handshake is encrypted; both must want it or neither. Bit 1, of
// a Hello alone: one more connection, beside one that both have. Bit 2, likewise: it goes on with
// what earlier ones carried, which who accepts may not remember. Who accepts answers with a
// Challenge: magic, version and flags likewise, who it is, its nonce, and a tag of 256 bits. Who
// connects sends a Proof: a tag of 256 bits. Tags: keys.hpp.
//
// Records follow in both directions. The first one, of who accepts, says that the connection
// counts; before it comes, who connects sends nothing.
//   +---------------------------------------------------------------+
//   | bytes of the body 32                                          |
//   +---------------+---------------+---------------+---------------+
//   | type          | 0                                             |
//   +---------------+---------------+---------------+---------------+
//   | body                                                          |
//   | where encrypted: the tag of 128 bits                          |
//   | zeros up to a multiple of 8                                   |
//   +---------------------------------------------------------------+
// type: 1: the connection counts. 2: a frame. 3: the sender leaves. 4: it has come back. 5: it
// would do without a connection for now. 6: the same as an answer (rest.hpp). 7: read: who gets it
// shall send some of its memory. 8: data: the next bytes of that. 9: refused: there will be no more
// of it. Frames have a body of 1 to 65536 bytes, data one of 1 to 262144, reads the
// one below, and others none. With header and zeros every body begins at a multiple of 8 of the
// stream, so a receiver that reads to such a place finds it in alignment.
//
// Reads are answered one after another, in the order in which they came. A read:
//   +---------------------------------------------------------------+
//   | address 64: of what is wanted, where it is                    |
//   | bytes 64: of it                                               |
//   | key 32: under which it may be read                            |
//   | 0 (32)                                                        |
//   +---------------------------------------------------------------+
// Data goes straight from one program's memory to the other's; there is none where records are
// encrypted.
//
// Encrypted: the body is sealed with ChaCha20-Poly1305 (RFC 8439) under the key of its direction;
// the nonce is the number of the record in its direction, 64 bits behind 32 zeros; the header is
// the additional data: whoever changes it is found out.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/ids.hpp"

namespace hawser::transport::tcp {

static_assert(std::endian::native == std::endian::little,
              "wire fields are little-endian; a big-endian host needs conversions");

inline constexpr std::uint32_t handshake_magic = 0x52535748;  // "HWSR"
inline constexpr std::uint8_t wire_version = 3;
inline constexpr std::size_t nonce_bytes = 32;
inline constexpr std::size_t tag_bytes = 32;

struct Hello {
  static constexpr std::uint8_t encrypts = 1;
  static constexpr std::uint8_t is_further = 2;
  static constexpr std::uint8_t goes_on = 4;

  std::uint32_t magic = handshake_magic;
  std::uint8_t version = wire_version;
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
  std::uint64_t key_id = 0;
  base::Identity from;
  base::Identity to;
  std::byte nonce[nonce_bytes] = {};
};
static_assert(sizeof(Hello) == 80);

struct Challenge {
  std::uint32_t magic = handshake_magic;
  std::uint8_t version = wire_version;
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
  base::Identity from;
  std::byte nonce[nonce_bytes] = {};
  std::byte tag[tag_bytes] = {};
};
static_assert(sizeof(Challenge) == 88);

struct Proof {
  std::byte tag[tag_bytes] = {};
};
static_assert(sizeof(Proof) == 32);

enum class RecordType : std::uint8_t {
  accepted = 1,
  frame,
  leave,
  come_back,
  rest,
  rested,
  read,
  data,
  refused
};

inline constexpr std::size_t frame_bytes_max = 65536;
/// Long enough that headers cost nothing, short enough that a frame behind it need not wait for
/// long.
inline constexpr std::size_t data_bytes_max = std::size_t{256} * 1024;
inline constexpr std::size_t seal_bytes = 16;
inline constexpr std::size_t record_alignment = 8;

struct RecordHeader {
  std::uint32_t body_bytes = 0;
  RecordType type = RecordType::frame;
  std::uint8_t reserved[3] = {};
};
static_assert(sizeof(RecordHeader) == record_alignment);

/// The body of a read.
struct ReadRequest {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t key = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(ReadRequest) == 24);

/// Of a record with a body of BODY_BYTES, header and zeros included.
constexpr std::size_t record_bytes(std::size_t body_bytes, bool is_sealed) {
  const std::size_t content = body_bytes + (is_sealed ? seal_bytes : 0);
  return sizeof(RecordHeader) +
         (content + record_alignment - 1) / record_alignment * record_alignment;
}
/// Of a record that is read as a whole: all but data.
inline constexpr std::size_t record_bytes_max = record_bytes(frame_bytes_max, true);

/// A record of TYPE may have a body of so many BYTES.
constexpr bool is_body_size(RecordType type, std::size_t bytes) {
  switch (type) {
    case RecordType::frame:
      return bytes >= 1 && bytes <= frame_bytes_max;
    case RecordType::data:
      return bytes >= 1 && bytes <= data_bytes_max;
    case RecordType::read:
      return bytes == sizeof(ReadRequest);
    case RecordType::accepted:
    case RecordType::leave:
    case RecordType::come_back:
    case RecordType::rest:
    case RecordType::rested:
    case RecordType::refused:
      return bytes == 0;
  }
  return false;
}

/// The header at the front of BYTES; nothing if there can't be one like that.
inline std::optional<RecordHeader> parse_record_header(std::span<const std::byte> bytes) {
  RecordHeader header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (!is_body_size(header.type, header.body_bytes)) return std::nullopt;
  return header;
}

}  // namespace hawser::transport::tcp
