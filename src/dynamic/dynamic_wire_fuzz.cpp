// Fuzz target: what another job sends, and port names, from any bytes.
#include <cstdlib>

#include "dynamic/port.hpp"

using namespace hawser;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  static_cast<void>(dynamic::read_call(bytes));
  static_cast<void>(dynamic::read_nonce(bytes));
  static_cast<void>(dynamic::read_notice(bytes));
  const auto directory = dynamic::read_directory(bytes);
  // What was taken is written again as it came, but for addresses that are named twice.
  if (directory && dynamic::write(*directory).size() > size) std::abort();
  const auto port = dynamic::parse_port_name({reinterpret_cast<const char*>(data), size});
  if (port && !dynamic::port_name(*port).ok()) std::abort();
  return 0;
}
