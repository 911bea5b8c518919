// The token that a process puts into all it sends to another one: nobody without the job's key can
// make it, so a stranger's datagrams are dropped before anything in them is used (DESIGN §8).
//
// It is SipHash-2-4 (libsodium's shorthash) of both identities under the first half of the key. It
// says who sent a datagram, not that nobody has changed or repeated it: order and duplicates are
// the layer's above, encryption is not this transport's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"

namespace hawser::transport::verbs {

using JobKey = std::array<std::byte, 32>;

std::uint64_t token_of(const JobKey& key, const base::Identity& from, const base::Identity& to);

}  // namespace hawser::transport::verbs
