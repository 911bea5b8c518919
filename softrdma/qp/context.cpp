#include "softrdma/qp/context.hpp"

#include <span>

namespace softrdma::qp {

std::vector<std::byte> to_bytes(const Outgoing& packet) {
  std::vector<std::byte> out(wire::headers_bytes_max);
  const std::size_t payload_bytes = packet.payload.bytes();
  out.resize(
      wire::build(packet.headers, payload_bytes, std::span(out).first<wire::headers_bytes_max>()));
  packet.payload.append_to(&out);
  out.resize(out.size() + wire::padding_of(payload_bytes));
  return out;
}

}  // namespace softrdma::qp
