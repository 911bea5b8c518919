#include "platform/poll_set.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hawser::platform {

namespace {

epoll_event wish(std::uint64_t token, bool for_writing) {
  epoll_event event{};
  event.events = EPOLLIN | (for_writing ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  event.data.u64 = token;
  return event;
}

}  // namespace

Result<PollSet> PollSet::make() {
  FileDescriptor set(::epoll_create1(EPOLL_CLOEXEC));
  if (!set.is_open())
    return Error(
        ErrorClass::other,
        fmt::format("a set of descriptors to wait for cannot be had: {}", std::strerror(errno)));
  return PollSet(std::move(set));
}

bool PollSet::add(int descriptor, std::uint64_t token, bool for_writing) {
  epoll_event event = wish(token, for_writing);
  return ::epoll_ctl(set_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void PollSet::change(int descriptor, std::uint64_t token, bool for_writing) {
  epoll_event event = wish(token, for_writing);
  ::epoll_ctl(set_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

void PollSet::remove(int descriptor) {
  ::epoll_ctl(set_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

std::span<const PollSet::Event> PollSet::look() {
  std::array<epoll_event, events_max> ready;  // NOLINT(*-member-init): the kernel fills it
  const int count = ::epoll_wait(set_.get(), ready.data(), static_cast<int>(ready.size()), 0);
  std::size_t told = 0;
  for (; told < static_cast<std::size_t>(std::max(count, 0)); ++told) {
    const epoll_event& event = ready[told];
    constexpr std::uint32_t to_read = EPOLLIN | EPOLLHUP | EPOLLERR;
    events_[told] = {event.data.u64, (event.events & to_read) != 0,
                     (event.events & (EPOLLOUT | EPOLLERR)) != 0};
  }
  return std::span(events_).first(told);
}

}  // namespace hawser::platform
