// The keys of connections between jobs.
//
// Who knows a port's name knows the key in it. Out of that and a nonce of each side both leaders
// make the key of one connection, which so crosses no wire between the jobs. Within its job a
// leader hands it to each member sealed under a key that the two share already.
// All is BLAKE2b (libsodium's generichash). Threads: any; pure functions.
#pragma once

#include "dynamic/wire.hpp"

namespace hawser::dynamic {

Nonce fresh_nonce();
Admission fresh_admission();
/// Of the connection that CALLER's nonce and ANSWERER's make of PORT.
Admission connection_admission(const Admission& port, const Nonce& caller, const Nonce& answerer);

/// KEY under SEALING, whose id is UNDER; once for each nonce.
SealedKey seal(const JobKey& key, std::uint64_t under, const JobKey& sealing, const Nonce& nonce);
JobKey unseal(const SealedKey& sealed, const JobKey& sealing);

}  // namespace hawser::dynamic
