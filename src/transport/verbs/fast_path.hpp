// FastPath: small frames written straight into a ring in the other one's memory, over an open
// connection: the ring that we write at the peer, and the one that the peer writes here.
//
// Each direction is asked for, granted or refused, and ended by itself, by messages over the
// connection, behind which nothing of the ring is on its way. A receiver that sleeps is not woken
// by what is written into its memory, so before it sleeps it says so in a word of the writer's
// memory; frames then go as sends. What was written before the writer saw it is found by a look now
// and then (VerbsTransport::deadline_ns).
//
// Ownership: owned by the link, ends with the connection; owns the ring and the word in our memory.
// Threads:   the lane lock.
#pragma once

#include <memory>
#include <optional>

#include "transport/verbs/connection.hpp"
#include "transport/verbs/fast_ring.hpp"
#include "transport/verbs/link_services.hpp"

namespace hawser::transport::verbs {

class FastPath {
 public:
  /// The link, told of what the peer says.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual bool on_fast_path_asked() = 0;
    virtual void on_fast_path_withdrawn() = 0;
    virtual void on_fast_path_open() = 0;
    virtual void on_fast_path_refused() = 0;
    virtual void on_fast_path_recalled() = 0;
  };

  FastPath(LinkServices& services, Connection& connection, Listener& listener)
      : services_(services), connection_(connection), listener_(listener) {}
  /// The connection is gone before: nobody writes our memory any more.
  ~FastPath();
  FastPath(const FastPath&) = delete;
  FastPath& operator=(const FastPath&) = delete;

  // Our ring at the peer. These are false if there is no room for a message now.
  bool ask();
  bool end();
  [[nodiscard]] bool is_asked() const { return is_asked_; }
  /// Null unless the peer granted one.
  [[nodiscard]] RingWriter* writer() { return writer_ ? &*writer_ : nullptr; }
  /// The peer would not see what is written.
  [[nodiscard]] bool is_peer_asleep() const;

  // The peer's ring here.
  bool recall();
  /// Null unless we granted one.
  [[nodiscard]] RingReader* reader() { return reader_ ? &*reader_ : nullptr; }
  /// Tells the peer whether we look into the ring.
  void say_asleep(bool is_asleep);

  void on_message(FastPathMessage::Kind kind, const FastPathMessage& message);
  /// The peer has ended its ring: what it wrote before is there.
  [[nodiscard]] bool is_ended_by_peer() const { return is_ended_by_peer_; }
  void drop_reader();

 private:
  bool tell(FastPathMessage::Kind kind, const FastPathMessage& message = {});
  void on_asked(const FastPathMessage& message);
  bool make_reader(bool has_checksums);
  void on_granted(const FastPathMessage& message);
  [[nodiscard]] bool wants_checksums() const;

  LinkServices& services_;
  Connection& connection_;
  Listener& listener_;
  bool is_asked_ = false;
  std::optional<RingWriter> writer_;
  memory::BufferPool::Buffer* word_ = nullptr;  // 1: the peer is asleep

  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> ring_;
  MemoryRegion region_;
  std::optional<RingReader> reader_;
  bool is_ended_by_peer_ = false;
  bool said_asleep_ = false;
  std::uint64_t peers_word_ = 0;
  std::uint32_t peers_key_ = 0;
};

}  // namespace hawser::transport::verbs
