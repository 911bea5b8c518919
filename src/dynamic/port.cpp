#include "dynamic/port.hpp"

#include <fmt/format.h>

#include <cstring>

#include "bootstrap/hexadecimal.hpp"

namespace hawser::dynamic {

namespace {

constexpr std::string_view beginning = "hawser-port-1:";

}  // namespace

Result<std::string> port_name(const Port& port) {
  Bytes bytes(sizeof(port.admission.id) + port.admission.key.size());
  std::memcpy(bytes.data(), &port.admission.id, sizeof(port.admission.id));
  std::memcpy(bytes.data() + sizeof(port.admission.id), port.admission.key.data(),
              port.admission.key.size());
  write_member(port.server, bytes);
  std::string name = std::string(beginning) + bootstrap::to_hexadecimal(bytes);
  if (name.size() < port_name_bytes_max) return name;
  return Error(ErrorClass::port,
               fmt::format("the addresses of this process make a port name of {} bytes; at most {} "
                           "fit: fewer interfaces, by tcp.include or tcp.exclude, would be right",
                           name.size(), port_name_bytes_max - 1));
}

Result<Port> parse_port_name(std::string_view name) {
  const auto refuse = [&] {
    return Error(ErrorClass::port,
                 fmt::format("'{}' is not a port name of MPI_Open_port", name.substr(0, 40)));
  };
  if (!name.starts_with(beginning) || name.size() >= port_name_bytes_max) return refuse();
  const auto bytes = bootstrap::from_hexadecimal(name.substr(beginning.size()));
  Port port;
  if (!bytes || bytes->size() < sizeof(port.admission.id) + port.admission.key.size())
    return refuse();
  std::span<const std::byte> rest(*bytes);
  std::memcpy(&port.admission.id, rest.data(), sizeof(port.admission.id));
  rest = rest.subspan(sizeof(port.admission.id));
  std::memcpy(port.admission.key.data(), rest.data(), port.admission.key.size());
  rest = rest.subspan(port.admission.key.size());
  Result<Member> server = read_member(rest);
  if (!server || !rest.empty() || port.admission.id == 0) return refuse();
  port.server = *std::move(server);
  return port;
}

int tag_of(std::uint64_t admission) {
  return static_cast<int>(base::mix64(admission) & 0x3fffffff);
}

}  // namespace hawser::dynamic
