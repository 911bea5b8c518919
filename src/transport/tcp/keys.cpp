#include "transport/tcp/keys.hpp"

#include <sodium.h>

#include <algorithm>
#include <string_view>

namespace hawser::transport::tcp {

namespace {

const unsigned char* sodium_bytes(const void* memory) {
  return static_cast<const unsigned char*>(memory);
}

/// PURPOSE keeps what is made for one thing from being taken for another.
void derive(const JobKey& key, std::string_view purpose, const Transcript& said,
            std::span<std::byte> out) {
  Transcript covered = said;
  std::ranges::fill(covered.challenge.tag, std::byte{0});
  crypto_generichash_state state;
  crypto_generichash_init(&state, sodium_bytes(key.data()), key.size(), out.size());
  crypto_generichash_update(&state, sodium_bytes(purpose.data()), purpose.size());
  crypto_generichash_update(&state, sodium_bytes(&covered.hello), sizeof(covered.hello));
  crypto_generichash_update(&state, sodium_bytes(&covered.challenge), sizeof(covered.challenge));
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(out.data()), out.size());
}

}  // namespace

Tag challenge_tag(const JobKey& key, const Transcript& said) {
  Tag tag;
  derive(key, "hawser tcp challenge", said, tag);
  return tag;
}

Tag proof_tag(const JobKey& key, const Transcript& said) {
  Tag tag;
  derive(key, "hawser tcp proof", said, tag);
  return tag;
}

SealKeys seal_keys(const JobKey& key, const Transcript& said) {
  SealKeys keys;
  derive(key, "hawser tcp connector key", said, keys.of_connector);
  derive(key, "hawser tcp acceptor key", said, keys.of_acceptor);
  return keys;
}

}  // namespace hawser::transport::tcp
