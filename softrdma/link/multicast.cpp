#include "softrdma/link/multicast.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "softrdma/link/numbers.hpp"

namespace softrdma::link {

using wire::Address;

namespace {

constexpr std::byte ipv6_multicast{0xff};
constexpr std::byte ipv4_multicast{0xe0};  // of the first of its four bytes, the upper half
constexpr std::byte upper_half{0xf0};
constexpr std::byte ipv6_version{0x60};

}  // namespace

bool is_multicast(const Address& gid) {
  if (wire::is_ipv4(gid)) return (gid[12] & upper_half) == ipv4_multicast;
  return gid[0] == ipv6_multicast;
}

bool is_multicast(const ibv_ah_attr& address) {
  return address.is_global != 0 && is_multicast(address_of(address.grh.dgid));
}

bool is_for_group(const wire::Headers& headers) {
  return headers.destination_qp == multicast_number &&
         headers.opcode.service == wire::Service::unreliable_datagram;
}

Address address_of(const ibv_gid& gid) {
  Address out;
  std::memcpy(out.data(), gid.raw, out.size());
  return out;
}

Address destination_of(const std::array<std::byte, qp::grh_bytes>& grh) {
  Address out{};
  if ((grh[0] & upper_half) == ipv6_version) {
    std::ranges::copy(std::span(grh).last<16>(), out.begin());
    return out;
  }
  // Of IPv4 the header fills the last 20 bytes, and its destination the last four.
  out[10] = out[11] = std::byte{0xff};
  std::ranges::copy(std::span(grh).last<4>(), out.begin() + 12);
  return out;
}

}  // namespace softrdma::link
