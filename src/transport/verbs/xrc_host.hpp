// XrcHost: the one queue pair by which this process sends to all its peers of one host.
//
// It needs a target queue pair there, which the first peer makes that is asked, and every further
// one opens: so there is one of each for all of them, and the target lasts as long as one of the
// peers uses it. Only one user asks for a target at a time, and the others wait for it; a user does
// not end while another one's question names the target that perhaps nobody else holds.
//
// A host that broke (an error of the queue pair, or of posting to it) takes nothing more; what was
// not reported by then may have arrived or not.
// Ownership: owns the queue pair; borrows frames, users, and what all hosts share. When it ends,
// all
//            that is under way counts as ended.
// Threads:   the lane lock.
// Bounds:    verbs.rc_queue_depth requests under way.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transport/verbs/port.hpp"
#include "transport/verbs/posted_work.hpp"
#include "transport/verbs/send_buffers.hpp"
#include "transport/verbs/wire.hpp"

namespace hawser::transport::verbs {

class XrcHost {
 public:
  /// A link that sends to a peer of this host, or is about to.
  class User {
   public:
    virtual ~User() = default;
    /// It is to ask its peer now, with what describe() says.
    virtual void on_turn() = 0;
    /// Another one's question was answered.
    virtual void on_answered() = 0;
    /// The host is gone, and what was sent by it may not have arrived. To be acted upon later.
    virtual void on_host_broken() = 0;
  };
  /// What all hosts share.
  struct Common {
    const Port& port;
    const Settings& settings;
    SendBuffers& buffers;
    ibv_cq* departures;
    std::uint64_t bytes_started = 0;
    bool has_broken = false;  // some host
  };

  /// NUMBER: differs from those of all others and of connections. Null where the adapter refuses.
  static std::unique_ptr<XrcHost> make(Common& common, std::uint64_t identity,
                                       std::uint32_t number);
  ~XrcHost();
  XrcHost(const XrcHost&) = delete;
  XrcHost& operator=(const XrcHost&) = delete;

  [[nodiscard]] std::uint64_t identity() const { return identity_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t queue_pair() const { return queue_pair_->qp_num; }
  [[nodiscard]] bool is_broken() const { return is_broken_; }

  /// USER gets its turn to ask, now or later.
  void add(User& user);
  void remove(const User& user);
  [[nodiscard]] bool has_users() const { return !users_.empty(); }
  std::vector<User*> take_users();
  /// Some user's question is not answered.
  [[nodiscard]] bool has_question() const;
  /// Fills in what a peer needs to know that is asked now.
  void describe(XrcMessage& question) const;
  /// The question of USER was answered with GRANT. False: the host broke of it.
  bool on_granted(const User& user, const XrcMessage& grant);

  [[nodiscard]] bool has_room() const { return !work_.is_full(); }
  /// Posts FRAME for RECEIVE_QUEUE, whose owner knows us by GRANT; returns the request's number.
  std::uint64_t send(std::byte* frame, std::size_t bytes, std::uint32_t receive_queue,
                     std::uint32_t grant);
  /// Request NUMBER, and all before it, have arrived.
  [[nodiscard]] bool has_arrived(std::uint64_t number) const {
    return number + work_.size() < work_.next();
  }
  /// A request has ended.
  void on_sent(const ibv_wc& completion);
  void break_now();

 private:
  enum class Phase : std::uint8_t { waits, asks, uses };
  struct Entry {
    User* user;
    Phase phase;
  };

  XrcHost(Common& common, std::uint64_t identity, std::uint32_t number);
  bool make_queue_pair();
  bool connect(const XrcMessage& grant);
  void advance();
  void tell_of_answer();

  Common& common_;
  const std::uint64_t identity_;
  const std::uint32_t number_;
  QueuePair queue_pair_;
  std::uint32_t first_packet_ = 0;
  std::uint32_t inline_bytes_max_ = 0;
  std::uint32_t target_ = 0;  // at the host; 0: there is none yet
  std::vector<Entry> users_;
  PostedWork work_;
  bool is_broken_ = false;
};

}  // namespace hawser::transport::verbs
