#include "softrdma/udp/socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

namespace softrdma::udp {

using hawser::base::Error;
using hawser::base::ErrorClass;
using hawser::base::Result;
using hawser::platform::FileDescriptor;
using wire::Address;

namespace {

constexpr int buffer_bytes = 4 << 20;
constexpr int patience_ms = 1;  // with a full socket

Error system_error(std::string_view what) {
  return {ErrorClass::other, fmt::format("softrdma: {}: {}", what, std::strerror(errno))};
}

bool set_option(int fd, int level, int name, int value) {
  return ::setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

/// Whether ADDRESS means something else on each link.
bool is_of_a_link(const in6_addr& address) {
  return IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_MC_LINKLOCAL(&address) ||
         IN6_IS_ADDR_MC_NODELOCAL(&address);
}
bool is_of_a_link(const Address& address) {
  in6_addr ipv6;
  std::memcpy(&ipv6, address.data(), sizeof(ipv6));
  return is_of_a_link(ipv6);
}

/// BYTES of a sockaddr_storage that are used.
socklen_t fill_socket_address(const Address& address, std::uint16_t port, std::uint32_t interface,
                              sockaddr_storage* out) {
  std::memset(out, 0, sizeof(*out));
  if (wire::is_ipv4(address)) {
    auto& to = reinterpret_cast<sockaddr_in&>(*out);
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    std::memcpy(&to.sin_addr, &address[12], sizeof(to.sin_addr));
    return sizeof(to);
  }
  auto& to = reinterpret_cast<sockaddr_in6&>(*out);
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(port);
  std::memcpy(&to.sin6_addr, address.data(), sizeof(to.sin6_addr));
  if (is_of_a_link(to.sin6_addr)) to.sin6_scope_id = interface;
  return sizeof(to);
}

Result<FileDescriptor> open_socket(int family) {
  FileDescriptor socket(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int fd = socket.get();
  if (fd < 0) return system_error("opening a UDP socket");
  // What the system grants of it is enough to begin with.
  set_option(fd, SOL_SOCKET, SO_RCVBUF, buffer_bytes);
  set_option(fd, SOL_SOCKET, SO_SNDBUF, buffer_bytes);
  const bool is_set = family == AF_INET
                          ? set_option(fd, IPPROTO_IP, IP_PKTINFO, 1) &&
                                set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
                          : set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
                                set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) &&
                                set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
  if (!is_set) return system_error("setting options of a UDP socket");
  // Switches may mark packets instead of dropping them, and we want to know (RFC 3168).
  constexpr int can_be_marked = 2;
  if (family == AF_INET) {
    set_option(fd, IPPROTO_IP, IP_TOS, can_be_marked);
    set_option(fd, IPPROTO_IP, IP_RECVTOS, 1);
  } else {
    set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, can_be_marked);
    set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
  }
  // Groups that this socket has not joined are none of its business; kernels before 4.20 can't be
  // told so for IPv6, and what they bring is dropped.
  if (family == AF_INET) {
    set_option(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
  } else {
    set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
  }
  return socket;
}

Result<void> bind_to_port(const FileDescriptor& socket, const Address& address,
                          std::uint32_t interface) {
  sockaddr_storage own;
  const socklen_t bytes = fill_socket_address(address, wire::roce_port, interface, &own);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&own), bytes) != 0)
    return system_error(fmt::format("binding UDP port {}", wire::roce_port));
  return {};
}

Result<FileDescriptor> open_bound(const Address& address, std::uint32_t interface) {
  auto socket = open_socket(wire::is_ipv4(address) ? AF_INET : AF_INET6);
  if (!socket.ok()) return socket;
  auto bound = bind_to_port(socket.value(), address, interface);
  if (!bound.ok()) return bound.take_error();
  // Only now: nobody else gets this address, but sockets of our groups may have the port.
  set_option(socket.value().get(), SOL_SOCKET, SO_REUSEPORT, 1);
  return socket;
}

Result<void> join(const FileDescriptor& socket, const Address& group, std::uint32_t interface) {
  group_req request{};
  request.gr_interface = interface;
  fill_socket_address(group, 0, interface, &request.gr_group);
  const int level = wire::is_ipv4(group) ? IPPROTO_IP : IPPROTO_IPV6;
  if (::setsockopt(socket.get(), level, MCAST_JOIN_GROUP, &request, sizeof(request)) != 0)
    return system_error("joining a multicast group");
  return {};
}

/// A socket for packets to GROUP by any of INTERFACES; if the group is of a link, there is one.
Result<FileDescriptor> open_group_socket(const Address& group,
                                         std::span<const std::uint32_t> interfaces) {
  auto socket = open_socket(wire::is_ipv4(group) ? AF_INET : AF_INET6);
  if (!socket.ok()) return socket;
  // Beside those of other processes for the same group, of this user and others, and beside the
  // user's own for all addresses.
  const int fd = socket.value().get();
  if (!set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) || !set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1))
    return system_error("setting options of a UDP socket");
  auto done = bind_to_port(socket.value(), group, interfaces.front());
  for (const std::uint32_t interface : interfaces)
    if (done.ok()) done = join(socket.value(), group, interface);
  if (!done.ok()) return done.take_error();
  return socket;
}

/// Room for a message to the kernel beside a packet.
template <class Info>
void add_control(msghdr& header, int level, int type, const Info& info) {
  auto* const begin = static_cast<std::byte*>(header.msg_control) + header.msg_controllen;
  auto* const control = reinterpret_cast<cmsghdr*>(begin);
  header.msg_controllen += CMSG_SPACE(sizeof(info));
  control->cmsg_level = level;
  control->cmsg_type = type;
  control->cmsg_len = CMSG_LEN(sizeof(info));
  std::memcpy(CMSG_DATA(control), &info, sizeof(info));
}

/// Tells the kernel which of our addresses a packet comes from.
void put_source(msghdr& header, const Address& source, std::uint32_t interface) {
  if (wire::is_ipv4(source)) {
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, &source[12], sizeof(info.ipi_spec_dst));
    add_control(header, IPPROTO_IP, IP_PKTINFO, info);
  } else {
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, source.data(), sizeof(info.ipi6_addr));
    info.ipi6_ifindex = interface;
    add_control(header, IPPROTO_IPV6, IPV6_PKTINFO, info);
  }
}

void put_hops(msghdr& header, const Address& destination, int hops) {
  if (wire::is_ipv4(destination)) {
    add_control(header, IPPROTO_IP, IP_TTL, hops);
  } else {
    add_control(header, IPPROTO_IPV6, IPV6_HOPLIMIT, hops);
  }
}

/// Which of our addresses a packet came to; nothing if the kernel did not say.
std::optional<Address> destination_of(msghdr& header) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
      in_pktinfo info;
      std::memcpy(&info, CMSG_DATA(control), sizeof(info));
      return address_of(info.ipi_addr);
    }
    if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info;
      std::memcpy(&info, CMSG_DATA(control), sizeof(info));
      return address_of(info.ipi6_addr);
    }
  }
  return std::nullopt;
}

bool is_marked(msghdr& header) {
  constexpr unsigned congestion_experienced = 3;
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    const bool is_ipv4 = control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_TOS;
    const bool is_ipv6 = control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_TCLASS;
    // Of IPv4 a byte, of IPv6 an int, whose first byte it is here.
    if (is_ipv4 || is_ipv6) return (*CMSG_DATA(control) & 3U) == congestion_experienced;
  }
  return false;
}

std::optional<wire::UdpPath> path_of(msghdr& header, const sockaddr_storage& from) {
  const std::optional<Address> destination = destination_of(header);
  if (!destination) return std::nullopt;
  wire::UdpPath path;
  path.destination = *destination;
  if (from.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(from);
    path.source = address_of(ipv4.sin_addr);
    path.source_port = ntohs(ipv4.sin_port);
  } else {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(from);
    path.source = address_of(ipv6.sin6_addr);
    path.source_port = ntohs(ipv6.sin6_port);
  }
  return path;
}

/// The packet in BYTES, without its checksum; empty if that is wrong.
std::span<const std::byte> checked(const wire::UdpPath& path, std::span<const std::byte> bytes) {
  constexpr std::size_t base_header_bytes = 12;
  if (bytes.size() < base_header_bytes + wire::icrc_bytes) return {};
  const std::span<const std::byte> packet = bytes.first(bytes.size() - wire::icrc_bytes);
  std::uint32_t sum;
  std::memcpy(&sum, bytes.data() + packet.size(), sizeof(sum));
  return le32toh(sum) == wire::icrc(path, {&packet, 1}) ? packet : std::span<const std::byte>();
}

iovec part_of(std::span<const std::byte> bytes) {
  // Read only, as sendmmsg(2) promises.
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<std::vector<FileDescriptor>> open_sockets(std::span<const fabric::NetworkAddress> only) {
  Address ipv4 = address_of(in_addr{INADDR_ANY});
  Address ipv6{};
  std::uint32_t interface = 0;
  for (const fabric::NetworkAddress& address : only) {
    (wire::is_ipv4(address.address) ? ipv4 : ipv6) = address.address;
    if (!wire::is_ipv4(address.address)) interface = address.interface;
  }
  std::vector<FileDescriptor> out;
  auto first = open_bound(ipv4, 0);
  if (!first.ok()) return first.take_error();
  out.push_back(std::move(first.value()));
  auto second = open_bound(ipv6, interface);
  if (second.ok()) out.push_back(std::move(second.value()));
  return out;
}

Result<std::vector<FileDescriptor>> open_group_sockets(const Address& group,
                                                       std::span<const std::uint32_t> interfaces) {
  const bool is_one_group = wire::is_ipv4(group) || !is_of_a_link(group);
  const std::size_t each = is_one_group ? interfaces.size() : 1;
  std::vector<FileDescriptor> out;
  for (; !interfaces.empty(); interfaces = interfaces.subspan(each)) {
    auto socket = open_group_socket(group, interfaces.first(each));
    if (!socket.ok()) return socket.take_error();
    out.push_back(std::move(socket.value()));
  }
  return out;
}

// Out

void Sender::add(const qp::Outgoing& packet, const Way& way) {
  if (batch_.empty()) return;
  if (count_ == batch_.size()) flush();
  Entry& entry = batch_[count_++];
  const std::size_t payload_bytes = packet.payload.bytes();
  has_payloads_ |= payload_bytes != 0;
  const std::size_t header_bytes = wire::build(packet.headers, payload_bytes, entry.headers);

  std::array<std::span<const std::byte>, memory::entries_max + 2> pieces;
  std::size_t count = 0;
  pieces[count++] = std::span(entry.headers).first(header_bytes);
  for (const std::span<const std::byte> piece : packet.payload.all()) pieces[count++] = piece;
  const std::size_t padding = wire::padding_of(payload_bytes);
  entry.trailer = {};
  pieces[count++] = std::span(entry.trailer).first(padding);
  const std::uint32_t sum = htole32(wire::icrc(way.path, std::span(pieces).first(count)));
  std::memcpy(&entry.trailer[padding], &sum, sizeof(sum));
  pieces[count - 1] = std::span(entry.trailer).first(padding + sizeof(sum));
  std::ranges::transform(std::span(pieces).first(count), entry.parts.begin(), part_of);

  entry.is_ipv4 = wire::is_ipv4(way.path.destination);
  entry.is_acknowledgement = packet.headers.opcode.operation == wire::Operation::acknowledge;
  entry.header = {};
  entry.header.msg_name = &entry.to;
  entry.header.msg_namelen =
      fill_socket_address(way.path.destination, wire::roce_port, way.interface, &entry.to);
  entry.header.msg_iov = entry.parts.data();
  entry.header.msg_iovlen = count;
  entry.header.msg_control = entry.control.data();
  put_source(entry.header, way.path.source, way.interface);
  if (way.hops) put_hops(entry.header, way.path.destination, *way.hops);
}

void Sender::flush() {
  std::array<mmsghdr, batch_packets> messages;
  for (const bool is_ipv4 : {true, false}) {
    std::size_t count = 0;
    for (const bool is_acknowledgement : {false, true})
      for (const Entry& entry : std::span(batch_).first(count_))
        if (entry.is_ipv4 == is_ipv4 && entry.is_acknowledgement == is_acknowledgement)
          messages[count++] = {entry.header, 0};
    const std::size_t which = is_ipv4 ? 0 : 1;
    if (count > 0 && which < sockets_.size())
      send_run(std::span(messages).first(count), sockets_[which].get());
  }
  count_ = 0;
  has_payloads_ = false;
}

/// What the system does not take, though it was given a moment, is lost.
void Sender::send_run(std::span<mmsghdr> messages, int fd) {
  bool has_waited = false;
  while (!messages.empty()) {
    const int sent =
        ::sendmmsg(fd, messages.data(), static_cast<unsigned>(messages.size()), MSG_DONTWAIT);
    if (sent > 0) {
      counters_.packets += static_cast<std::uint64_t>(sent);
      messages = messages.subspan(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    const bool is_full = errno == EAGAIN || errno == ENOBUFS;
    if (is_full && !has_waited) {
      has_waited = true;
      pollfd waited{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&waited, 1, patience_ms);
      continue;
    }
    ++counters_.refused;
    messages = messages.subspan(1);
  }
}

// In

/// The kernel wrote what had come over some of it.
void Receiver::prepare(std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) {
    Entry& entry = batch_[i];
    entry.part = {entry.bytes.data(), entry.bytes.size()};
    msghdr& header = messages_[i].msg_hdr;
    header = {};
    header.msg_name = &entry.from;
    header.msg_namelen = sizeof(entry.from);
    header.msg_iov = &entry.part;
    header.msg_iovlen = 1;
    header.msg_control = entry.control.data();
    header.msg_controllen = entry.control.size();
  }
}

std::size_t Receiver::receive(std::size_t which, const std::function<void(const Datagram&)>& take) {
  return which < sockets_.size() ? receive_from(sockets_[which].get(), take) : 0;
}

std::size_t Receiver::receive_from(int fd, const std::function<void(const Datagram&)>& take) {
  if (batch_.empty()) {
    batch_.resize(batch_packets);
    messages_.resize(batch_packets);
    prepare(0, batch_packets);
  }
  const int got =
      ::recvmmsg(fd, messages_.data(), static_cast<unsigned>(wanted_), MSG_DONTWAIT, nullptr);
  const std::size_t came = got <= 0 ? 0 : static_cast<std::size_t>(got);
  // The first after a silence is not kept waiting until the kernel has found that there is no
  // other.
  wanted_ = came == 0 ? 1 : batch_packets;
  for (std::size_t i = 0; i < came; ++i) take_one(i, take);
  prepare(0, came);
  return came;
}

void Receiver::take_one(std::size_t i, const std::function<void(const Datagram&)>& take) {
  msghdr& header = messages_[i].msg_hdr;
  const Entry& entry = batch_[i];
  ++counters_.packets;
  const std::optional<wire::UdpPath> path = path_of(header, entry.from);
  const bool is_whole = (header.msg_flags & MSG_TRUNC) == 0;
  const std::span<const std::byte> packet =
      path && is_whole ? checked(*path, std::span(entry.bytes).first(messages_[i].msg_len))
                       : std::span<const std::byte>();
  if (packet.empty()) {
    ++counters_.wrong_checksum;
  } else {
    take({*path, packet, is_marked(header)});
  }
}

}  // namespace softrdma::udp
