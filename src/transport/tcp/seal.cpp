#include "transport/tcp/seal.hpp"

#include <sodium.h>

#include <array>
#include <cstring>

namespace hawser::transport::tcp {

namespace {

static_assert(seal_bytes == crypto_aead_chacha20poly1305_ietf_ABYTES);
static_assert(sizeof(SealKey) == crypto_aead_chacha20poly1305_ietf_KEYBYTES);

using SealNonce = std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES>;

SealNonce nonce_of(std::uint64_t number) {
  SealNonce nonce{};
  std::memcpy(nonce.data() + nonce.size() - sizeof(number), &number, sizeof(number));
  return nonce;
}

const unsigned char* sodium_input(const void* memory) {
  return static_cast<const unsigned char*>(memory);
}

}  // namespace

void Seal::apply(const RecordHeader& header, std::span<const std::byte> body, std::byte* to) {
  const SealNonce nonce = nonce_of(number_++);
  crypto_aead_chacha20poly1305_ietf_encrypt(
      reinterpret_cast<unsigned char*>(to), nullptr, sodium_input(body.data()), body.size(),
      sodium_input(&header), sizeof(header), nullptr, nonce.data(), sodium_input(key_.data()));
}

bool Unseal::apply(const RecordHeader& header, std::span<std::byte> body) {
  const SealNonce nonce = nonce_of(number_++);
  return crypto_aead_chacha20poly1305_ietf_decrypt(
             reinterpret_cast<unsigned char*>(body.data()), nullptr, nullptr,
             sodium_input(body.data()), body.size() + seal_bytes, sodium_input(&header),
             sizeof(header), nonce.data(), sodium_input(key_.data())) == 0;
}

}  // namespace hawser::transport::tcp
