#include "transport/tcp/handshake.hpp"

#include <algorithm>

#include "base/constant_time.hpp"

namespace hawser::transport::tcp {

namespace {

using State = HandshakeStep::State;

HandshakeStep refuse(std::string why) { return {.state = State::refused, .why = std::move(why)}; }

template <class T>
std::vector<std::byte> bytes_of(const T& message) {
  const auto bytes = std::as_bytes(std::span(&message, 1));
  return {bytes.begin(), bytes.end()};
}

std::uint8_t flags_of(const HandshakeSide& side) { return side.encrypts ? Hello::encrypts : 0; }

std::uint8_t flags_of(Purpose purpose) {
  if (purpose == Purpose::begin) return 0;
  return purpose == Purpose::one_more ? Hello::is_further : Hello::goes_on;
}

/// Hello and Challenge begin alike.
template <class T>
bool is_of_this_version(const T& message) {
  return message.magic == handshake_magic && message.version == wire_version &&
         message.reserved == 0;
}

bool is_same_tag(const std::byte (&tag)[tag_bytes], const Tag& expected) {
  return base::equal_in_constant_time(tag, expected);
}

}  // namespace

Connector::Connector(const HandshakeSide& side, const Identity& peer, const Nonce& nonce,
                     Purpose purpose)
    : side_(side), peer_(peer), key_(side.key) {
  const bootstrap::Admission* const admission =
      side.others == nullptr ? nullptr : side.others->for_peer(peer);
  if (admission != nullptr) {
    key_ = admission->key;
    said_.hello.key_id = admission->id;
  }
  said_.hello.flags = flags_of(side) | flags_of(purpose);
  said_.hello.from = side.self;
  said_.hello.to = peer;
  std::ranges::copy(nonce, said_.hello.nonce);
}

HandshakeStep Connector::feed(std::span<const std::byte> bytes) {
  if (has_ended_ || !reader_.add(bytes)) return refuse("it says more than a handshake is");
  if (reader_.missing() > 0) return {};
  has_ended_ = true;
  said_.challenge = reader_.message();
  if (!is_of_this_version(said_.challenge))
    return refuse("it is not a process of this version of Hawser");
  if (said_.challenge.from != peer_) return refuse("another process answers there");
  if (!is_same_tag(said_.challenge.tag, challenge_tag(key_, said_)))
    return refuse("what answers there does not hold the right key");
  if (said_.challenge.flags != flags_of(side_))
    return refuse(side_.encrypts
                      ? "it has tcp.encrypt=off, and this process on; all must have the same"
                      : "it has tcp.encrypt=on, and this process off; all must have the same");
  Proof proof;
  std::ranges::copy(proof_tag(key_, said_), proof.tag);
  return {.state = State::done, .to_send = bytes_of(proof)};
}

HandshakeStep Acceptor::feed(std::span<const std::byte> bytes, std::uint64_t now_ns) {
  if (now_ns >= expires_ns_) has_ended_ = true;
  if (has_ended_) return refuse("it took too long");
  const bool was_added = has_hello_ ? proof_reader_.add(bytes) : hello_reader_.add(bytes);
  if (!was_added) {
    has_ended_ = true;
    return refuse("it says more than a handshake is");
  }
  if (missing() > 0) return {};
  return has_hello_ ? check_proof() : answer_hello();
}

HandshakeStep Acceptor::answer_hello() {
  said_.hello = hello_reader_.message();
  has_hello_ = true;
  const Hello& hello = said_.hello;
  const JobKey* const key = wanted_key();
  has_ended_ = !is_of_this_version(hello) || hello.to != side_.self || hello.from == side_.self ||
               key == nullptr;
  if (has_ended_)
    return refuse(
        "it is no process of this job, or of one that it is connected to, that wants "
        "this one");
  key_ = *key;
  said_.challenge.flags = flags_of(side_);
  said_.challenge.from = side_.self;
  std::ranges::copy(nonce_, said_.challenge.nonce);
  std::ranges::copy(challenge_tag(key_, said_), said_.challenge.tag);
  HandshakeStep step{.to_send = bytes_of(said_.challenge)};
  if ((hello.flags & ~(Hello::is_further | Hello::goes_on)) == said_.challenge.flags) return step;
  // It hears what we want, so that it can tell its user.
  has_ended_ = true;
  step.state = State::refused;
  step.why = "the settings of tcp.encrypt differ";
  return step;
}

/// The key that the hello asks for; null if it does not let such a process in.
const JobKey* Acceptor::wanted_key() const {
  const bool is_of_this_job = said_.hello.from.job == side_.self.job;
  if (is_of_this_job != (said_.hello.key_id == 0)) return nullptr;
  if (is_of_this_job) return &side_.key;
  return side_.others == nullptr ? nullptr : side_.others->find(said_.hello.key_id);
}

HandshakeStep Acceptor::check_proof() {
  has_ended_ = true;
  const Proof proof = proof_reader_.message();
  if (!is_same_tag(proof.tag, proof_tag(key_, said_)))
    return refuse("it does not hold the right key");
  return {.state = State::done};
}

}  // namespace hawser::transport::tcp
