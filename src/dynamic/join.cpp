#include "dynamic/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "dynamic/secret.hpp"
#include "platform/whole_transfer.hpp"

namespace hawser::dynamic {

namespace {

struct Greeting {
  std::uint32_t magic = 0x4a535748;  // "HWSJ"
  std::uint32_t version = 1;
  Nonce nonce{};
};
using PortText = std::array<char, port_name_bytes_max>;

Error unanswered(int fd) {
  return Error(ErrorClass::arg,
               fmt::format("descriptor {}: no process that calls MPI_Comm_join answers there", fd));
}

/// True: this side has the port.
Result<bool> greet(int fd) {
  const Greeting mine{.nonce = fresh_nonce()};
  Greeting theirs;
  if (!platform::write_whole(fd, std::as_bytes(std::span(&mine, 1))) ||
      !platform::read_whole(fd, std::as_writable_bytes(std::span(&theirs, 1))) ||
      theirs.magic != mine.magic || theirs.version != mine.version || theirs.nonce == mine.nonce)
    return unanswered(fd);
  return std::ranges::lexicographical_compare(theirs.nonce, mine.nonce);
}

Result<Ref<Comm>> serve(Connections& connections, int fd, Comm& self) {
  const Result<std::string> port = connections.ports().open();
  PortText text{};
  if (port) port->copy(text.data(), text.size() - 1);
  const bool was_told = platform::write_whole(fd, std::as_bytes(std::span(text)));
  if (!port) return port.error();
  Result<Ref<Comm>> comm =
      was_told ? connections.accept(*port, self, 0) : Result<Ref<Comm>>(unanswered(fd));
  HAWSER_TRY(connections.ports().close(*port));
  return comm;
}

}  // namespace

Result<Ref<Comm>> join(Connections& connections, int fd, Comm& self) {
  const Result<bool> has_port = greet(fd);
  if (!has_port) return has_port.error();
  if (*has_port) return serve(connections, fd, self);
  PortText text{};
  if (!platform::read_whole(fd, std::as_writable_bytes(std::span(text)))) return unanswered(fd);
  return connections.connect({text.data(), ::strnlen(text.data(), text.size())}, self, 0);
}

}  // namespace hawser::dynamic
