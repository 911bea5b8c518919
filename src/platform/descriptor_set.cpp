#include "platform/descriptor_set.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>

namespace hawser::platform {

Result<DescriptorSet> DescriptorSet::make(std::span<const int> members) {
  FileDescriptor set(::epoll_create1(EPOLL_CLOEXEC));
  bool is_made = set.is_open();
  for (const int member : members) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = member;
    is_made = is_made && ::epoll_ctl(set.get(), EPOLL_CTL_ADD, member, &event) == 0;
  }
  if (!is_made)
    return Error(ErrorClass::other, fmt::format("{} descriptors can't be waited for as one: {}",
                                                members.size(), std::strerror(errno)));
  return DescriptorSet(std::move(set));
}

}  // namespace hawser::platform
