#include "launcher/output/relay.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hawser::launcher {

namespace {

constexpr std::size_t read_bytes_max = 65536;

Error pipe_error(std::string_view call) {
  return {ErrorClass::other,
          fmt::format("{} for the output of a rank: {}", call, std::strerror(errno))};
}

}  // namespace

Relay::Relay(int output, int error) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  channels_.push_back(std::make_unique<Channel>(output));
  // Two sinks into one file would write into each other's lines.
  if (!lead_to_the_same(output, error)) channels_.push_back(std::make_unique<Channel>(error));
  own_stream_ =
      channel_of(Source::error).mixer.add_stream("mpirun: ", LineMixer::Waiting::for_lines);
  buffer_.resize(read_bytes_max);
}

Relay::Channel& Relay::channel_of(Source source) {
  return source == Source::output ? *channels_.front() : *channels_.back();
}

Result<platform::FileDescriptor> Relay::add_stream(Source source, std::string prefix,
                                                   LineMixer::Waiting waiting) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return pipe_error("pipe2");
  platform::FileDescriptor reading(ends[0]);
  platform::FileDescriptor writing(ends[1]);
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);  // our end only
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = streams_.size();
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, reading.get(), &event) != 0)
    return pipe_error("epoll_ctl");
  Channel& channel = channel_of(source);
  const std::size_t number = channel.mixer.add_stream(std::move(prefix), waiting);
  streams_.push_back({std::move(reading), &channel, number});
  return writing;
}

void Relay::say(std::string_view sentence) {
  Channel& channel = channel_of(Source::error);
  channel.mixer.feed(own_stream_, sentence, channel.sink.pending());
  channel.mixer.feed(own_stream_, "\n", channel.sink.pending());
}

int Relay::readable_fd() const {
  const bool congested = std::any_of(channels_.begin(), channels_.end(), [](const auto& channel) {
    return channel->sink.is_congested();
  });
  return congested ? -1 : epoll_.get();
}

std::array<int, 2> Relay::writable_fds() const {
  std::array<int, 2> fds{-1, -1};
  for (std::size_t i = 0; i < channels_.size(); ++i)
    if (!channels_[i]->sink.is_empty()) fds[i] = channels_[i]->sink.fd();
  return fds;
}

Relay::Progress Relay::read_once(Stream& stream) {
  const ssize_t bytes = ::read(stream.fd.get(), buffer_.data(), buffer_.size());
  if (bytes < 0) return Progress::none;
  std::string* pending = stream.channel->sink.pending();
  if (bytes > 0) {
    stream.channel->mixer.feed(stream.number, {buffer_.data(), static_cast<std::size_t>(bytes)},
                               pending);
    return Progress::some;
  }
  stream.channel->mixer.close(stream.number, pending);
  // A rank that is being started still holds a copy of our end, which would keep reporting it.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, stream.fd.get(), nullptr);
  stream.fd.close();
  return Progress::closed;
}

void Relay::move() {
  pump();
  if (readable_fd() < 0) return;
  constexpr int events_max = 64;
  std::array<epoll_event, events_max> events{};
  const int ready = ::epoll_wait(epoll_.get(), events.data(), events_max, 0);
  for (int i = 0; i < ready && readable_fd() >= 0; ++i)
    read_once(streams_[events[static_cast<std::size_t>(i)].data.u64]);
  pump();
}

void Relay::finish() {
  for (Stream& stream : streams_) {
    if (!stream.fd.is_open()) continue;
    Progress progress = Progress::some;
    while (progress == Progress::some) progress = read_once(stream);
    if (progress == Progress::closed) continue;
    // A process that we could not end still holds the other end.
    stream.channel->mixer.close(stream.number, stream.channel->sink.pending());
    stream.fd.close();
  }
  pump();
}

void Relay::pump() {
  for (const auto& channel : channels_) channel->sink.pump();
}

bool Relay::is_empty() const {
  return std::all_of(channels_.begin(), channels_.end(),
                     [](const auto& channel) { return channel->sink.is_empty(); });
}

bool Relay::is_broken() const {
  return std::any_of(channels_.begin(), channels_.end(),
                     [](const auto& channel) { return channel->sink.is_broken(); });
}

}  // namespace hawser::launcher
