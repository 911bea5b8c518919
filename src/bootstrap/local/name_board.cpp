#include "bootstrap/local/name_board.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "platform/bell.hpp"
#include "platform/descriptor_set.hpp"

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Result;
using platform::LocalSocket;

namespace {

/// Who has taken a connection answers at once; who has not is stopped, or about to end.
constexpr std::uint64_t answer_ns_max = 5'000'000'000;

/// Names of any length and user in one of the kernel's. Two that clash are told apart by what
/// comes: the name itself stands before the text.
std::string socket_name(std::string_view name) {
  std::uint64_t hash = base::mix64(name.size());
  for (const char letter : name) hash = base::mix64(hash ^ static_cast<unsigned char>(letter));
  return fmt::format("hawser-name-{}-{:016x}", ::getuid(), hash);
}

std::string packet_of(std::string_view name, std::string_view text) {
  return fmt::format("{}:{}{}", name.size(), name, text);
}

bool is_of_this_user(const LocalSocket& socket) {
  const auto peer = socket.peer();
  return peer && peer->uid == ::getuid();
}

Error not_found(std::string_view name) {
  return Error(ErrorClass::name,
               fmt::format("nobody on this host has published the name '{}'; a program that runs "
                           "there as the same user has to",
                           name));
}

}  // namespace

NameBoard::~NameBoard() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    if (changed_.is_open()) platform::signal_event(changed_);
  }
  if (thread_.joinable()) thread_.join();
}

Result<void> NameBoard::publish(std::string_view name, std::string_view text) {
  if (packet_of(name, text).size() > 2 * text_bytes_max)
    return Error(ErrorClass::arg, fmt::format("the name '{}' and its port are longer than {} bytes",
                                              name.substr(0, 40), 2 * text_bytes_max));
  const std::lock_guard lock(mutex_);
  HAWSER_TRY(start_answering());
  Result<LocalSocket> socket = LocalSocket::listen(socket_name(name));
  if (!socket)
    return Error(ErrorClass::service, fmt::format("the name '{}' is published already: {}", name,
                                                  socket.error().sentence()));
  entries_.emplace(name, Entry{std::move(*socket), packet_of(name, text)});
  platform::signal_event(changed_);
  return {};
}

Result<void> NameBoard::unpublish(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end())
    return Error(ErrorClass::service,
                 fmt::format("this process has not published the name '{}'", name));
  entries_.erase(entry);
  platform::signal_event(changed_);
  return {};
}

Result<void> NameBoard::start_answering() {
  if (thread_.joinable()) return {};
  Result<platform::FileDescriptor> event = platform::make_event();
  if (!event) return event.take_error();
  changed_ = std::move(*event);
  thread_ = std::thread([this] { answer_until_end(); });
  return {};
}

void NameBoard::answer_until_end() {
  while (true) {
    Result<platform::DescriptorSet> watched = Error(ErrorClass::other, "not made yet");
    {
      const std::lock_guard lock(mutex_);
      if (ends_) return;
      platform::clear_event(changed_);
      answer_all();
      std::vector<int> members{changed_.get()};
      for (const auto& [name, entry] : entries_) members.push_back(entry.socket.fd());
      watched = platform::DescriptorSet::make(members);
    }
    if (!watched) return;  // no descriptor is left: nobody could connect
    const std::array<int, 1> set{watched->descriptor()};
    platform::wait_for_any(set, base::never_ns);
  }
}

void NameBoard::answer_all() {
  for (auto& [name, entry] : entries_)
    while (std::optional<LocalSocket> asker = entry.socket.accept())
      if (is_of_this_user(*asker)) asker->send(std::as_bytes(std::span(entry.text)));
}

Result<std::string> NameBoard::look_up(std::string_view name) {
  Result<LocalSocket> socket = LocalSocket::connect(socket_name(name));
  if (!socket || !is_of_this_user(*socket)) return not_found(name);
  const std::array<int, 1> watched{socket->fd()};
  platform::wait_for_any(watched, answer_ns_max);
  std::array<char, 2 * text_bytes_max> packet{};
  std::size_t bytes = 0;
  platform::FileDescriptor none;
  const auto received = socket->receive(std::as_writable_bytes(std::span(packet)), &bytes, &none);
  const std::string_view text(packet.data(), bytes);
  const std::string beginning = packet_of(name, "");
  if (received != LocalSocket::Received::packet || !text.starts_with(beginning))
    return not_found(name);
  return std::string(text.substr(beginning.size()));
}

}  // namespace hawser::bootstrap
