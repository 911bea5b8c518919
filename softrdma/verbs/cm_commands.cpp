#include "softrdma/verbs/cm_commands.hpp"

#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <cstring>

#include "softrdma/verbs/cm_call.hpp"

namespace softrdma::verbs {
namespace command {
namespace {

/// Of packets, if the program does not say otherwise: 4.096 us times 2^this.
constexpr std::uint8_t usual_packet_lifetime = 13;
/// What datagrams of a port space have as queue key, unless the program chooses one.
constexpr std::uint32_t udp_queue_key = 0x01234567;
constexpr std::uint32_t ipoib_queue_key = 0x0b1b;

// Identifiers

int create_identifier(const Call& call) {
  const auto command = call.as<rdma_ucm_create_id>();
  Identifier& identifier = call.service.add_identifier(call.channel);
  identifier.uid = command.uid;
  identifier.space = command.ps;
  identifier.queue_pair_type = command.qp_type;
  identifier.queue_key = command.ps == RDMA_PS_IPOIB ? ipoib_queue_key : udp_queue_key;
  identifier.packet_lifetime = usual_packet_lifetime;
  if (command.ps == RDMA_PS_UDP || command.ps == RDMA_PS_IPOIB)
    identifier.queue_pair_type = IBV_QPT_UD;
  const int error = call.answer(command.response, rdma_ucm_create_id_resp{.id = identifier.handle});
  if (error != 0) call.service.remove(identifier);
  return error;
}

int destroy_identifier(const Call& call) {
  const auto command = call.as<rdma_ucm_destroy_id>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  const rdma_ucm_destroy_id_resp answer{.events_reported = identifier->events_reported};
  call.service.remove(*identifier);
  return call.answer(command.response, answer);
}

int migrate_identifier(const Call& call) {
  const auto command = call.as<rdma_ucm_migrate_id>();
  Identifier* const identifier = call.service.find(command.id);
  const auto old = call.service.channel(static_cast<int>(command.fd));
  if (identifier == nullptr || old == nullptr || identifier->channel != old.get()) return ENOENT;
  call.service.move(*identifier, call.channel);
  return call.answer(command.response,
                     rdma_ucm_migrate_resp{.events_reported = identifier->events_reported});
}

/// Types of service, shared ports and address families have nothing to change here.
int set_option(const Call& call) {
  const auto command = call.as<rdma_ucm_set_option>();
  Identifier* const identifier = call.identifier(command.id);
  if (identifier == nullptr) return ENOENT;
  if (command.level != RDMA_OPTION_ID) return ENOSYS;
  switch (command.optname) {
    case RDMA_OPTION_ID_TOS:
    case RDMA_OPTION_ID_REUSEADDR:
    case RDMA_OPTION_ID_AFONLY:
      return 0;
    case RDMA_OPTION_ID_ACK_TIMEOUT: {
      if (command.optlen != sizeof(std::uint8_t)) return EINVAL;
      const std::uint8_t timeout = *reinterpret_cast<const std::uint8_t*>(command.optval);
      if (timeout > exponent_max) return EINVAL;
      identifier->packet_lifetime = timeout == 0 ? exponent_max : timeout - 1;
      return 0;
    }
    default:
      return ENOSYS;
  }
}

}  // namespace
}  // namespace command

namespace {

// Events

bool is_blocking(int descriptor) { return (::fcntl(descriptor, F_GETFL) & O_NONBLOCK) == 0; }

/// Waits without the mutex. Who waits on a channel that the program closes waits for ever, as with
/// the kernel: programs leave threads behind so.
int get_event(ConnectionService& service, int descriptor, const rdma_ucm_get_event& command) {
  std::shared_ptr<EventChannel> channel;
  for (;;) {
    {
      const std::lock_guard guard(service.mutex());
      if (channel == nullptr) channel = service.channel(descriptor);
      if (channel == nullptr) return EBADF;
      if (!channel->is_empty()) {
        const rdma_ucm_event_resp event = service.fetch(*channel);
        std::memcpy(reinterpret_cast<void*>(command.response), &event, sizeof(event));
        return 0;
      }
    }
    if (!is_blocking(channel->readable())) return EAGAIN;
    pollfd waited{.fd = channel->readable(), .events = POLLIN, .revents = 0};
    ::poll(&waited, 1, -1);
  }
}

using Command = int (*)(const command::Call&);

Command command_of(std::uint32_t number) {
  switch (number) {
    case RDMA_USER_CM_CMD_CREATE_ID:
      return command::create_identifier;
    case RDMA_USER_CM_CMD_DESTROY_ID:
      return command::destroy_identifier;
    case RDMA_USER_CM_CMD_BIND_IP:
      return command::bind_ip;
    case RDMA_USER_CM_CMD_RESOLVE_IP:
      return command::resolve_ip;
    case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
      return command::resolve_route;
    case RDMA_USER_CM_CMD_QUERY_ROUTE:
      return command::query_route;
    case RDMA_USER_CM_CMD_CONNECT:
      return command::connect;
    case RDMA_USER_CM_CMD_LISTEN:
      return command::listen;
    case RDMA_USER_CM_CMD_ACCEPT:
      return command::accept;
    case RDMA_USER_CM_CMD_REJECT:
      return command::reject;
    case RDMA_USER_CM_CMD_DISCONNECT:
      return command::disconnect;
    case RDMA_USER_CM_CMD_INIT_QP_ATTR:
      return command::queue_pair_attributes;
    case RDMA_USER_CM_CMD_SET_OPTION:
      return command::set_option;
    case RDMA_USER_CM_CMD_NOTIFY:
      return command::notify;
    case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
      return command::join_ip;
    case RDMA_USER_CM_CMD_LEAVE_MCAST:
      return command::leave;
    case RDMA_USER_CM_CMD_MIGRATE_ID:
      return command::migrate_identifier;
    case RDMA_USER_CM_CMD_BIND:
      return command::bind_any;
    case RDMA_USER_CM_CMD_RESOLVE_ADDR:
      return command::resolve_any;
    case RDMA_USER_CM_CMD_JOIN_MCAST:
      return command::join_any;
    default:
      return nullptr;
  }
}

}  // namespace

int execute_command(ConnectionService& service, int descriptor,
                    std::span<const std::byte> command) {
  rdma_ucm_cmd_hdr header{};
  if (command.size() < sizeof(header)) return EINVAL;
  std::memcpy(&header, command.data(), sizeof(header));
  const std::span<const std::byte> input = command.subspan(sizeof(header));
  if (header.in > input.size()) return EINVAL;
  if (header.cmd == RDMA_USER_CM_CMD_GET_EVENT) {
    rdma_ucm_get_event wanted{};
    if (input.size() < sizeof(wanted)) return EINVAL;
    if (header.out < sizeof(rdma_ucm_event_resp)) return ENOSPC;
    std::memcpy(&wanted, input.data(), sizeof(wanted));
    return get_event(service, descriptor, wanted);
  }
  const Command known = command_of(header.cmd);
  if (known == nullptr) return ENOSYS;
  const std::lock_guard guard(service.mutex());
  const auto channel = service.channel(descriptor);
  if (channel == nullptr) return EBADF;
  return known({service, *channel, input.first(header.in), header.out});
}

}  // namespace softrdma::verbs
