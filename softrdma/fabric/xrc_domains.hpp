// SharedXrcDomains: those of a host: processes that open the same file have the same domain, as
// long as any of them has it.
//
// Ownership: borrows host. Threads: the device's lock.
#pragma once

#include <cstdint>
#include <map>

#include "softrdma/fabric/host.hpp"
#include "softrdma/link/xrc_domains.hpp"

namespace softrdma::fabric {

class SharedXrcDomains final : public link::XrcDomains {
 public:
  explicit SharedXrcDomains(Host& host) : host_(host) {}

  /// ENOMEM: the host has xrc_domains_max; EAGAIN: another process does not let go of the table.
  int open(const File& file, bool creates, bool exclusive, std::uint32_t* number) override;
  void close(std::uint32_t number) override;

 private:
  Host& host_;
  std::map<std::uint32_t, int> opened_;  // how often, by us
};

}  // namespace softrdma::fabric
