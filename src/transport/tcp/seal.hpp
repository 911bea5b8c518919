// Seal and Unseal: the encryption of one direction of a connection (wire.hpp draws it).
//
// Ownership: values. Threads: one at a time.
// Invariant: a number is used once with a key, since both count what passes and the key is the
// connection's alone.
#pragma once

#include <cstdint>
#include <span>

#include "transport/tcp/keys.hpp"

namespace hawser::transport::tcp {

class Seal {
 public:
  explicit Seal(const SealKey& key) : key_(key) {}
  /// Writes BODY encrypted, and its tag behind it, to TO.
  void apply(const RecordHeader& header, std::span<const std::byte> body, std::byte* to);

 private:
  SealKey key_;
  std::uint64_t number_ = 0;
};

class Unseal {
 public:
  explicit Unseal(const SealKey& key) : key_(key) {}
  /// Decrypts BODY, behind which its tag stands, where it is. False: somebody has changed it, or
  /// left out what was before it.
  bool apply(const RecordHeader& header, std::span<std::byte> body);

 private:
  SealKey key_;
  std::uint64_t number_ = 0;
};

}  // namespace hawser::transport::tcp
