// The syndrome of an acknowledgement, and the times that five bits stand for (InfiniBand
// Architecture Specification, volume 1, §9.7.5.1.2, §9.7.5.2.8, §9.9.2.4.1).
//
//    7 6   5 4               0
//   +-+-----+-----------------+
//   |0|type | value           |
//   +-+-----+-----------------+
#pragma once

#include <array>
#include <cstdint>

namespace softrdma::qp {

enum class AnswerType : std::uint8_t { ack = 0, receiver_not_ready = 1, nak = 3 };

enum class NakCode : std::uint8_t {
  sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operation_error = 3,
};

/// "No limit": we give no end-to-end credits.
inline constexpr std::uint8_t unlimited_credits = 0x1f;

constexpr std::uint8_t syndrome(AnswerType type, std::uint8_t value) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(type) << 5 | (value & 0x1f));
}
constexpr std::uint8_t ack_syndrome() { return syndrome(AnswerType::ack, unlimited_credits); }
constexpr std::uint8_t nak_syndrome(NakCode code) {
  return syndrome(AnswerType::nak, static_cast<std::uint8_t>(code));
}
constexpr AnswerType answer_type(std::uint8_t syndrome) {
  return static_cast<AnswerType>(syndrome >> 5 & 3);
}
constexpr std::uint8_t answer_value(std::uint8_t syndrome) { return syndrome & 0x1f; }

/// How long a requester waits after "receiver not ready" with timer VALUE.
constexpr std::uint64_t rnr_wait_ns(std::uint8_t value) {
  // In units of 10 us.
  constexpr std::array<std::uint32_t, 32> waits{
      65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return std::uint64_t{waits[value & 0x1f]} * 10000;
}

/// The local acknowledgement timeout; 0: none.
constexpr std::uint64_t ack_timeout_ns(std::uint8_t value) {
  return (value & 0x1f) == 0 ? 0 : std::uint64_t{4096} << (value & 0x1f);
}

}  // namespace softrdma::qp
