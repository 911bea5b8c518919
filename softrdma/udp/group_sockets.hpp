// GroupSockets: what comes by UDP for the multicast groups that this process has joined.
//
// Each process has sockets of its own for its groups, as the kernel gives every one of them a copy.
// They are bound to the group's address, so that they take nothing away from the sockets that the
// processes of the host share; and with the process its membership ends, however that ended.
//
// Ownership: of the sockets. Threads: receive() any; the others one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "platform/file.hpp"
#include "softrdma/fabric/host.hpp"
#include "softrdma/udp/socket.hpp"
#include "softrdma/wire/icrc.hpp"

namespace softrdma::udp {

class GroupSockets {
 public:
  GroupSockets();

  /// From now on what comes for GROUP by the interfaces of ADDRESSES is received. False: the system
  /// refuses. Without any interface there is nothing to refuse.
  bool join(const wire::Address& group, std::span<const fabric::NetworkAddress> addresses);
  void leave(const wire::Address& group);
  /// Gives packets that have come to TAKE. Returns how many came.
  std::size_t receive(const std::function<void(const Datagram&)>& take);
  /// A descriptor that is readable when receive() would find something.
  [[nodiscard]] int descriptor() const { return ready_.get(); }
  [[nodiscard]] const Receiver::Counters& counters() const { return receiver_.counters(); }

 private:
  using Sockets = std::vector<hawser::platform::FileDescriptor>;

  const hawser::platform::FileDescriptor ready_;
  std::atomic<bool> has_any_ = false;
  std::mutex mutex_;  // of what follows
  std::map<wire::Address, Sockets> groups_;
  Receiver receiver_{{}};
};

}  // namespace softrdma::udp
