// FurtherConnections: those of a link beside its first one, by other interfaces of this host.
//
// Whoever has begun the first connection opens them, once the peer has earned it (`wanted`), from
// each interface that none of the link's connections leaves by; whoever finds the first one silent
// does as well. Which of the peer's addresses an interface leads to is found out by trying
// (Attempts): what answers there and proves to be the peer counts, in whatever order either side
// has its interfaces. What breaks is tried again for as long as it is wanted.
//
// Ownership: owned by TcpLink, which hears of all that happens to the connections and takes out
//            what has failed; borrows the services.
// Threads:   the lane lock.
// Bounds:    settings.rails connections with the first one, of those that this side opens;
//            transport::rails_max in any case.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "transport/tcp/attempts.hpp"
#include "transport/tcp/connection.hpp"

namespace hawser::transport::tcp {

class FurtherConnections {
 public:
  /// An interface that did not lead to the peer is tried again after that.
  static constexpr std::uint64_t pause_ns = 5'000'000'000;

  FurtherConnections(LinkServices& services, Connection::Owner& owner, const Identity& peer,
                     std::function<void()> news)
      : services_(services), owner_(owner), peer_(peer), news_(std::move(news)) {}

  [[nodiscard]] bool is_empty() const { return members_.empty(); }
  [[nodiscard]] std::size_t count() const { return members_.size(); }
  [[nodiscard]] bool has(const Connection& connection) const;
  /// The one of NUMBER; null if there is none.
  [[nodiscard]] Connection* find(std::uint32_t number) const;
  /// Of FIRST and these, the one that is to carry BYTES more: which has least under way, for its
  /// speed where the speed of all is known.
  [[nodiscard]] Connection& least_loaded(Connection& first, std::size_t bytes) const;
  [[nodiscard]] bool are_flushed() const;
  [[nodiscard]] bool is_any_alive() const;

  /// The peer has opened CONNECTION. False: there are too many, or both have begun one and ours is
  /// to remain.
  bool add(std::unique_ptr<Connection> connection);
  /// Takes CONNECTION, which the peer has confirmed, out of the attempts. False: it is none of
  /// them.
  bool confirm(const Connection& connection);
  /// One that has not failed, of which there is one, for the first, which is gone.
  std::unique_ptr<Connection> take_one();
  /// Those that have failed, which are not among these any more; what they brought was told of.
  std::vector<std::unique_ptr<Connection>> take_failed();
  /// Fails those whose peer answers nothing, if another one is left.
  void check();

  /// Opens what is missing to the peer at ADDRESS, beside FIRST.
  void open(const Address& address, const Connection& first, std::uint64_t now_ns);
  /// Attempts go on.
  void serve(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t deadline_ns() const;
  void stop_opening() { openings_.clear(); }
  void close();
  /// For tests: number WHICH of these breaks, if there is one.
  void cut(std::size_t which) {
    if (which < members_.size()) members_[which].connection->cut();
  }

 private:
  struct Member {
    std::unique_ptr<Connection> connection;
    std::optional<std::size_t> begun_by;  // from which interface; nothing: by the peer

    [[nodiscard]] bool is_alive() const { return !connection->has_failed(); }
  };
  /// An interface that is being tried, or was in vain.
  struct Opening {
    std::size_t interface;
    std::unique_ptr<Attempts> attempts;  // null: in vain
    std::uint64_t again_ns;
  };

  [[nodiscard]] bool leaves_by(std::size_t interface, const Connection& first) const;
  [[nodiscard]] std::size_t being_opened() const;
  void begin(std::size_t interface, const Address& address, const Connection& first,
             std::uint64_t now_ns);

  LinkServices& services_;
  Connection::Owner& owner_;
  const Identity peer_;
  const std::function<void()> news_;
  std::vector<Member> members_;
  std::vector<Opening> openings_;
};

}  // namespace hawser::transport::tcp
