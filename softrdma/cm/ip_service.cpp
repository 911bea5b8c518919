#include "softrdma/cm/ip_service.hpp"

#include <algorithm>

namespace softrdma::cm {
namespace {

constexpr std::byte version_of_both{0};
constexpr std::byte ipv4{0x40};
constexpr std::byte ipv6{0x60};
constexpr std::size_t source_at = 4;
constexpr std::size_t destination_at = 20;
constexpr std::size_t ipv4_at = 12;  // within an address
constexpr std::size_t ipv4_bytes = 4;

wire::Address read_address(std::span<const std::byte> bytes, bool is_ipv4) {
  wire::Address address{};
  std::ranges::copy(bytes.first(address.size()), address.begin());
  if (!is_ipv4) return address;
  std::fill_n(address.begin(), ipv4_at, std::byte{0});
  address[10] = address[11] = std::byte{0xff};
  return address;
}

void write_address(const wire::Address& address, std::span<std::byte> out) {
  std::ranges::fill(out.first(address.size()), std::byte{0});
  const std::size_t skipped = wire::is_ipv4(address) ? ipv4_at : 0;
  std::ranges::copy(std::span(address).subspan(skipped), out.subspan(skipped).begin());
}

}  // namespace

std::optional<IpHeader> parse_ip_header(std::span<const std::byte> private_data) {
  if (private_data.size() < ip_header_bytes || private_data[0] != version_of_both)
    return std::nullopt;
  const std::byte family = private_data[1] & std::byte{0xf0};
  if (family != ipv4 && family != ipv6) return std::nullopt;
  IpHeader header;
  header.source_port = static_cast<std::uint16_t>(std::to_integer<unsigned>(private_data[2]) << 8 |
                                                  std::to_integer<unsigned>(private_data[3]));
  header.source = read_address(private_data.subspan(source_at), family == ipv4);
  header.destination = read_address(private_data.subspan(destination_at), family == ipv4);
  return header;
}

void build_ip_header(const IpHeader& header, std::span<std::byte, ip_header_bytes> out) {
  static_assert(ipv4_at + ipv4_bytes == sizeof(wire::Address));
  out[0] = version_of_both;
  out[1] = wire::is_ipv4(header.destination) ? ipv4 : ipv6;
  out[2] = static_cast<std::byte>(header.source_port >> 8);
  out[3] = static_cast<std::byte>(header.source_port);
  write_address(header.source, out.subspan(source_at));
  write_address(header.destination, out.subspan(destination_at));
}

}  // namespace softrdma::cm
