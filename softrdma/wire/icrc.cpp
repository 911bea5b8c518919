#include "softrdma/wire/icrc.hpp"

#include <isa-l/crc.h>

#include <algorithm>

namespace softrdma::wire {
namespace {

constexpr std::size_t base_header_bytes = 12;
constexpr std::size_t udp_header_bytes = 8;
constexpr std::size_t ipv4_header_bytes = 20;
constexpr std::size_t ipv6_header_bytes = 40;
constexpr std::size_t ones_bytes = 8;
constexpr std::size_t congestion_offset = 4;  // in the base header: F, B and six reserved bits
constexpr std::uint8_t udp_protocol = 17;

/// What comes before the packet, and its base header.
class Front {
 public:
  void put(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i)
      bytes_[size_++] = static_cast<std::byte>(value >> (8 * (width - 1 - i)));
  }
  void put(std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += bytes.size();
  }
  /// What may change on the way counts as ones.
  void put_changing(std::size_t width) { put(~std::uint64_t{0}, width); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

 private:
  std::array<std::byte, ones_bytes + ipv6_header_bytes + udp_header_bytes + base_header_bytes>
      bytes_;
  std::size_t size_ = 0;
};

void put_ipv4(Front& front, const UdpPath& path, std::size_t udp_bytes) {
  constexpr std::uint8_t version_and_length = 0x45;
  constexpr std::uint16_t identification = 0;
  constexpr std::uint16_t dont_fragment = 0x4000;
  front.put(version_and_length, 1);
  front.put_changing(1);  // type of service
  front.put(ipv4_header_bytes + udp_bytes, 2);
  front.put(identification, 2);
  front.put(dont_fragment, 2);
  front.put_changing(1);  // time to live
  front.put(udp_protocol, 1);
  front.put_changing(2);  // checksum
  front.put(std::span(path.source).last<4>());
  front.put(std::span(path.destination).last<4>());
}

void put_ipv6(Front& front, const UdpPath& path, std::size_t udp_bytes) {
  constexpr std::uint32_t version_with_ones = 0x6fffffff;  // traffic class and flow label change
  front.put(version_with_ones, 4);
  front.put(udp_bytes, 2);
  front.put(udp_protocol, 1);
  front.put_changing(1);  // hop limit
  front.put(path.source);
  front.put(path.destination);
}

std::uint32_t crc(std::uint32_t before, std::span<const std::byte> bytes) {
  return crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

}  // namespace

bool is_ipv4(const Address& address) {
  constexpr std::array<std::byte, 12> prefix{
      {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, std::byte{0xff}, std::byte{0xff}}};
  return std::ranges::equal(std::span(address).first<12>(), prefix);
}

std::uint32_t icrc(const UdpPath& path, std::span<const std::span<const std::byte>> pieces) {
  std::size_t udp_bytes = udp_header_bytes + icrc_bytes;
  for (const std::span<const std::byte> piece : pieces) udp_bytes += piece.size();

  Front front;
  front.put_changing(ones_bytes);
  if (is_ipv4(path.destination)) {
    put_ipv4(front, path, udp_bytes);
  } else {
    put_ipv6(front, path, udp_bytes);
  }
  front.put(path.source_port, 2);
  front.put(roce_port, 2);
  front.put(udp_bytes, 2);
  front.put_changing(2);  // checksum
  const std::span<const std::byte> first = pieces.front();
  front.put(first.first(congestion_offset));
  front.put_changing(1);
  front.put(first.subspan(congestion_offset + 1, base_header_bytes - congestion_offset - 1));

  std::uint32_t sum = crc(0, front.bytes());
  sum = crc(sum, first.subspan(base_header_bytes));
  for (const std::span<const std::byte> piece : pieces.subspan(1)) sum = crc(sum, piece);
  return sum;
}

}  // namespace softrdma::wire
