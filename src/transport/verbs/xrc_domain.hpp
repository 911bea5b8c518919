// XrcDomain: what the queue pairs of XRC have in common on one port of a host, whichever process of
// the job they are of.
//
// Processes that open the same file have the same domain: it is one that the job's processes of
// this host have open anyway, without a name anywhere, so that nothing is left of it. File, kernel,
// device and port together name the host to peers.
// Ownership: borrows the port; what is made in the domain goes before it. Threads: the lane lock.
#pragma once

#include <cstdint>

#include "transport/verbs/port.hpp"

namespace hawser::transport::verbs {

class XrcDomain {
 public:
  /// HOST_FILE: a descriptor of that file, or -1.
  static Result<XrcDomain> open(const Port& port, int host_file);
  /// Whether it is worth trying.
  static bool can_be_had(const Port& port, int host_file) { return port.has_xrc && host_file >= 0; }

  [[nodiscard]] ibv_xrcd* handle() const { return handle_.get(); }
  /// The same for the job's processes that use this port of this host; never 0.
  [[nodiscard]] std::uint64_t host() const { return host_; }

 private:
  XrcDomain(XrcDomainHandle handle, std::uint64_t host) : handle_(std::move(handle)), host_(host) {}

  XrcDomainHandle handle_;
  std::uint64_t host_;
};

}  // namespace hawser::transport::verbs
