#include "dynamic/secret.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "platform/file.hpp"

namespace hawser::dynamic {

namespace {

const unsigned char* sodium_bytes(const void* memory) {
  return static_cast<const unsigned char*>(memory);
}

/// 32 bytes out of KEY for PURPOSE.
JobKey derive(const JobKey& key, std::string_view purpose,
              std::initializer_list<const Nonce*> nonces) {
  JobKey out;
  crypto_generichash_state state;
  crypto_generichash_init(&state, sodium_bytes(key.data()), key.size(), out.size());
  crypto_generichash_update(&state, sodium_bytes(purpose.data()), purpose.size());
  for (const Nonce* nonce : nonces)
    crypto_generichash_update(&state, sodium_bytes(nonce->data()), nonce->size());
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(out.data()), out.size());
  return out;
}

/// Public; never 0, which stands for none.
std::uint64_t id_of(const JobKey& bytes) {
  std::uint64_t id = 0;
  std::memcpy(&id, bytes.data(), sizeof(id));
  return std::max<std::uint64_t>(id, 1);
}

JobKey mask(const JobKey& key, const JobKey& sealing, const Nonce& nonce) {
  JobKey out = derive(sealing, "hawser sealed key", {&nonce});
  std::ranges::transform(key, out, out.begin(), std::bit_xor<>());
  return out;
}

}  // namespace

Nonce fresh_nonce() {
  Nonce nonce;
  platform::random_bytes(nonce);
  return nonce;
}

Admission fresh_admission() {
  Admission admission;
  platform::random_bytes(admission.key);
  const Nonce nonce = fresh_nonce();
  admission.id = id_of(derive(admission.key, "hawser port id", {&nonce}));
  return admission;
}

Admission connection_admission(const Admission& port, const Nonce& caller, const Nonce& answerer) {
  return {id_of(derive(port.key, "hawser connection id", {&caller, &answerer})),
          derive(port.key, "hawser connection key", {&caller, &answerer})};
}

SealedKey seal(const JobKey& key, std::uint64_t under, const JobKey& sealing, const Nonce& nonce) {
  return {under, nonce, mask(key, sealing, nonce)};
}

JobKey unseal(const SealedKey& sealed, const JobKey& sealing) {
  return mask(sealed.key, sealing, sealed.nonce);
}

}  // namespace hawser::dynamic
