#include "transport/verbs/token.hpp"

#include <sodium.h>

#include <cstring>

namespace hawser::transport::verbs {

std::uint64_t token_of(const JobKey& key, const base::Identity& from, const base::Identity& to) {
  static_assert(sizeof(JobKey) >= crypto_shorthash_KEYBYTES);
  static_assert(crypto_shorthash_BYTES == sizeof(std::uint64_t));
  const std::array<base::Identity, 2> both = {from, to};
  std::uint64_t token = 0;
  crypto_shorthash(reinterpret_cast<unsigned char*>(&token),
                   reinterpret_cast<const unsigned char*>(both.data()), sizeof(both),
                   reinterpret_cast<const unsigned char*>(key.data()));
  return token;
}

}  // namespace hawser::transport::verbs
