#include "base/checksum.hpp"

#include <array>
#include <cstring>

namespace hawser::base {

namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // the first bit to be sent is the lowest

constexpr std::array<std::uint32_t, 256> table = [] {
  std::array<std::uint32_t, 256> remainders{};
  for (std::uint32_t byte = 0; byte < remainders.size(); ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? polynomial : 0);
    remainders[byte] = remainder;
  }
  return remainders;
}();

/// Of a processor without an instruction for it.
std::uint32_t by_table(std::uint32_t state, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes)
    state = state >> 8 ^ table[(state ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return state;
}

#if defined(__x86_64__)

bool has_instruction() { return __builtin_cpu_supports("sse4.2") != 0; }

[[gnu::target("sse4.2")]] std::uint32_t by_instruction(std::uint32_t state,
                                                       std::span<const std::byte> bytes) {
  std::uint64_t wide = state;
  for (; bytes.size() >= sizeof(wide); bytes = bytes.subspan(sizeof(wide))) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof(word));
    wide = __builtin_ia32_crc32di(wide, word);
  }
  state = static_cast<std::uint32_t>(wide);
  for (const std::byte byte : bytes)
    state = __builtin_ia32_crc32qi(state, std::to_integer<unsigned char>(byte));
  return state;
}

#else

bool has_instruction() { return false; }
std::uint32_t by_instruction(std::uint32_t state, std::span<const std::byte> bytes) {
  return by_table(state, bytes);
}

#endif

}  // namespace

std::uint32_t checksum_of(std::span<const std::byte> bytes, std::uint32_t before) {
  return ~(has_instruction() ? by_instruction(~before, bytes) : by_table(~before, bytes));
}

}  // namespace hawser::base
