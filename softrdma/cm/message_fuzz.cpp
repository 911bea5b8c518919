// Messages out of random bytes: what parses is the same when it is built and parsed again.
#include <cstdint>
#include <cstdlib>

#include "softrdma/cm/ip_service.hpp"
#include "softrdma/cm/message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace softrdma::cm;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  static_cast<void>(parse_ip_header(bytes));
  const auto message = parse(bytes);
  if (!message) return 0;
  const Datagram built = build(*message, 1);
  const auto again = parse(built);
  if (!again || build(*again, 1) != built) std::abort();
  return 0;
}
