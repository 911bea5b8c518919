// Both sides of the handshake, fed random bytes in random pieces: neither may come to an end that
// holds, since nobody has proven anything.
#include <cstdint>
#include <cstdlib>

#include "transport/tcp/handshake.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hawser::transport::tcp;
  if (size < 2) return 0;
  const bool is_connector = (data[0] & 1) != 0;
  const std::size_t piece = 1 + data[1];
  std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(data + 2), size - 2);
  JobKey key;
  key.fill(std::byte{42});
  const HandshakeSide side{{7, is_connector ? 0U : 1U, 0}, key, false};
  Connector connector(side, {7, 1, 0}, Nonce{});
  Acceptor acceptor(side, Nonce{}, 1);
  while (!rest.empty()) {
    const auto part = rest.first(std::min(piece, rest.size()));
    rest = rest.subspan(part.size());
    const HandshakeStep step = is_connector ? connector.feed(part) : acceptor.feed(part, 0);
    if (step.state == HandshakeStep::State::done) std::abort();
    if (step.state == HandshakeStep::State::refused) return 0;
  }
  return 0;
}
