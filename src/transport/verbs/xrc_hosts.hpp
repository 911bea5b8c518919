// XrcHosts: the queue pairs of XRC by which this process sends, one for each host.
//
// Ownership: owns the hosts and the completion queue that tells of what they sent; borrows the
// rest. Threads:   the lane lock. Bounds:    verbs.xrc_hosts_max hosts.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transport/verbs/xrc_host.hpp"

namespace hawser::transport::verbs {

class XrcHosts {
 public:
  /// CHANNEL tells of what has left. QUEUE_PAIRS_MADE: counts those that have numbers of ours.
  static Result<std::unique_ptr<XrcHosts>> open(const Port& port, ibv_comp_channel* channel,
                                                SendBuffers& buffers, const Settings& settings,
                                                std::uint32_t& queue_pairs_made);

  /// The host of IDENTITY, made if it is not there, for one who is about to use it; null if there
  /// can't be another one.
  XrcHost* find_or_make(std::uint64_t identity);
  /// USER does without HOST, which ends with its last user.
  void leave(XrcHost& host, const XrcHost::User& user);
  [[nodiscard]] std::size_t size() const { return hosts_.size(); }

  /// Takes what is reported, a few at a time; true if anything was.
  bool poll();
  /// Some host broke: serve() is to be called.
  [[nodiscard]] bool has_broken() const { return common_.has_broken; }
  /// Ends what broke, and tells its users.
  void serve();
  void arm();
  [[nodiscard]] std::uint64_t bytes_started() const { return common_.bytes_started; }

 private:
  XrcHosts(const Port& port, CompletionQueue departures, SendBuffers& buffers,
           const Settings& settings, std::uint32_t& queue_pairs_made);
  bool fit_completions(std::size_t hosts);
  void poll_all();
  void end(std::unique_ptr<XrcHost> host);

  std::uint32_t& queue_pairs_made_;
  CompletionQueue departures_;
  XrcHost::Common common_;
  std::vector<std::unique_ptr<XrcHost>> hosts_;
};

}  // namespace hawser::transport::verbs
