// The tags by which both ends of a connection prove that they hold the job's key, and the keys that
// encrypt what crosses it (DESIGN §8).
//
// Everything is BLAKE2b (libsodium's generichash) under the job's key, over a name of what it is
// for and the whole handshake so far: both nonces, both identities, the flags. A tag of one
// direction, or of another handshake, is of no use.
// Threads: any; pure functions.
#pragma once

#include <array>
#include <cstddef>

#include "transport/tcp/wire.hpp"

namespace hawser::transport::tcp {

using JobKey = std::array<std::byte, 32>;
using Tag = std::array<std::byte, tag_bytes>;
using SealKey = std::array<std::byte, 32>;

/// What both sides have said: the tag of CHALLENGE is not part of it.
struct Transcript {
  Hello hello;
  Challenge challenge;
};

Tag challenge_tag(const JobKey& key, const Transcript& said);
Tag proof_tag(const JobKey& key, const Transcript& said);

/// Of each direction.
struct SealKeys {
  SealKey of_connector{};
  SealKey of_acceptor{};
};
SealKeys seal_keys(const JobKey& key, const Transcript& said);

}  // namespace hawser::transport::tcp
