#include "softrdma/udp/group_sockets.hpp"

#include <sys/epoll.h>

#include <array>
#include <set>

namespace softrdma::udp {

using hawser::platform::FileDescriptor;

namespace {

constexpr std::size_t sockets_at_once = 16;

/// By which packets of GROUP may come: those of addresses of its family.
std::vector<std::uint32_t> interfaces_for(const wire::Address& group,
                                          std::span<const fabric::NetworkAddress> addresses) {
  std::set<std::uint32_t> out;
  for (const fabric::NetworkAddress& address : addresses)
    if (wire::is_ipv4(address.address) == wire::is_ipv4(group) && address.interface != 0)
      out.insert(address.interface);
  return {out.begin(), out.end()};
}

}  // namespace

GroupSockets::GroupSockets() : ready_(::epoll_create1(EPOLL_CLOEXEC)) {}

bool GroupSockets::join(const wire::Address& group,
                        std::span<const fabric::NetworkAddress> addresses) {
  const std::vector<std::uint32_t> interfaces = interfaces_for(group, addresses);
  if (interfaces.empty()) return true;
  auto opened = open_group_sockets(group, interfaces);
  if (!opened.ok()) return false;
  for (const FileDescriptor& socket : opened.value()) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket.get()}};
    if (::epoll_ctl(ready_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) return false;
  }
  const std::lock_guard guard(mutex_);
  groups_[group] = std::move(opened.value());
  has_any_ = true;
  return true;
}

void GroupSockets::leave(const wire::Address& group) {
  const std::lock_guard guard(mutex_);
  const auto found = groups_.find(group);
  if (found == groups_.end()) return;
  // A child of fork() may have them open still, so that closing them is not enough.
  for (const FileDescriptor& socket : found->second)
    ::epoll_ctl(ready_.get(), EPOLL_CTL_DEL, socket.get(), nullptr);
  groups_.erase(found);
  has_any_ = !groups_.empty();
}

std::size_t GroupSockets::receive(const std::function<void(const Datagram&)>& take) {
  if (!has_any_.load(std::memory_order_relaxed)) return 0;
  const std::unique_lock guard(mutex_, std::try_to_lock);
  // Another thread receives just now.
  if (!guard.owns_lock()) return 0;
  std::array<epoll_event, sockets_at_once> ready;
  const int count = ::epoll_wait(ready_.get(), ready.data(), sockets_at_once, 0);
  std::size_t came = 0;
  for (int i = 0; i < count; ++i)
    came += receiver_.receive_from(ready[static_cast<std::size_t>(i)].data.fd, take);
  return came;
}

}  // namespace softrdma::udp
