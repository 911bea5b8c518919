// Connector and Acceptor: the two sides of the handshake that a connection begins with (wire.hpp).
//
// Pure state machines: fed what came and `now`, they say what to send, and whether the peer has
// proven that it holds the job's key and is who it says. Neither owns a socket or a clock; nonces
// are given.
// Ownership: values. Threads: one at a time.
// Bounds:    a side keeps at most one message of the peer; whatever is longer, late or wrong ends
//            it. A connection that carries nothing yet has no other state.
// Invariant: nothing that the peer says is believed before its tag was found right, but for the
//            identity that the acceptor makes its challenge for, and the key that it does so with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "bootstrap/keyring.hpp"
#include "transport/tcp/keys.hpp"

namespace hawser::transport::tcp {

using base::Identity;
using Nonce = std::array<std::byte, nonce_bytes>;

/// What who connects wants a connection for.
enum class Purpose : std::uint8_t {
  begin,    // nothing has crossed one between the two yet
  go_on,    // with what earlier ones have carried
  one_more  // beside one that both have
};

/// What one side knows before.
struct HandshakeSide {
  Identity self;
  JobKey key{};  // of the own job
  bool encrypts = false;
  const bootstrap::Keyring* others = nullptr;  // for processes of other jobs; null: none
};

/// What the peer sent of a message so far.
template <class Message>
class MessageReader {
 public:
  /// False: there is more in BYTES than the message.
  bool add(std::span<const std::byte> bytes) {
    if (bytes.size() > sizeof(Message) - have_) return false;
    std::memcpy(memory_.data() + have_, bytes.data(), bytes.size());
    have_ += bytes.size();
    return true;
  }
  [[nodiscard]] std::size_t missing() const { return sizeof(Message) - have_; }
  [[nodiscard]] Message message() const {
    Message message;
    std::memcpy(&message, memory_.data(), sizeof(message));
    return message;
  }

 private:
  std::array<std::byte, sizeof(Message)> memory_{};
  std::size_t have_ = 0;
};

/// What a side has come to.
struct HandshakeStep {
  enum class State : std::uint8_t { waiting, done, refused };
  State state = State::waiting;
  std::vector<std::byte> to_send = {};  // in any state
  std::string why = {};                 // refused: for people
};

class Connector {
 public:
  /// Wants a connection to PEER, under the key that `others` names for it, or else the job's.
  Connector(const HandshakeSide& side, const Identity& peer, const Nonce& nonce,
            Purpose purpose = Purpose::begin);

  [[nodiscard]] std::span<const std::byte> hello() const {
    return std::as_bytes(std::span(&said_.hello, 1));
  }
  /// BYTES came from the peer; afterwards at most missing() bytes more may come.
  HandshakeStep feed(std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t missing() const { return reader_.missing(); }
  /// Once it is done.
  [[nodiscard]] SealKeys keys() const { return seal_keys(key_, said_); }

 private:
  HandshakeSide side_;
  Identity peer_;
  JobKey key_;
  Transcript said_;
  MessageReader<Challenge> reader_;
  bool has_ended_ = false;
};

class Acceptor {
 public:
  /// EXPIRES_NS: when the peer must be done.
  Acceptor(const HandshakeSide& side, const Nonce& nonce, std::uint64_t expires_ns)
      : side_(side), nonce_(nonce), expires_ns_(expires_ns) {}

  HandshakeStep feed(std::span<const std::byte> bytes, std::uint64_t now_ns);
  [[nodiscard]] std::size_t missing() const {
    return has_hello_ ? proof_reader_.missing() : hello_reader_.missing();
  }
  [[nodiscard]] std::uint64_t expires_ns() const { return expires_ns_; }
  /// Who it is; proven once it is done.
  [[nodiscard]] const Identity& peer() const { return said_.hello.from; }
  /// What it wants the connection for.
  [[nodiscard]] Purpose purpose() const {
    if ((said_.hello.flags & Hello::is_further) != 0) return Purpose::one_more;
    return (said_.hello.flags & Hello::goes_on) != 0 ? Purpose::go_on : Purpose::begin;
  }
  [[nodiscard]] SealKeys keys() const { return seal_keys(key_, said_); }

 private:
  HandshakeStep answer_hello();
  [[nodiscard]] const JobKey* wanted_key() const;
  HandshakeStep check_proof();

  HandshakeSide side_;
  Nonce nonce_;
  std::uint64_t expires_ns_;
  JobKey key_{};  // that the hello asks for
  Transcript said_;
  MessageReader<Hello> hello_reader_;
  MessageReader<Proof> proof_reader_;
  bool has_hello_ = false;
  bool has_ended_ = false;
};

}  // namespace hawser::transport::tcp
