#include "softrdma/verbs/cm_service.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "softrdma/cm/ip_service.hpp"
#include "softrdma/verbs/calls.hpp"
#include "softrdma/verbs/cm_commands.hpp"
#include "softrdma/verbs/cm_events.hpp"
#include "softrdma/verbs/process.hpp"

namespace softrdma::verbs {
namespace {

template <class Parameters>
void copy_private_data(std::span<const std::byte> data, Parameters* out) {
  const std::size_t bytes = std::min<std::size_t>(data.size(), sizeof(out->private_data) - 1);
  std::ranges::copy(data.first(bytes),
                    std::as_writable_bytes(std::span(out->private_data)).begin());
  out->private_data_len = static_cast<std::uint8_t>(bytes);
}

/// What an event says of a connection. DATA: the consumer's private data.
rdma_ucm_conn_param connection_parameters(const cm::Event& event, std::span<const std::byte> data) {
  rdma_ucm_conn_param out{};
  out.qp_num = event.queue_pair;
  out.qkey = event.queue_key;
  out.srq = event.has_shared_receives ? 1 : 0;
  out.responder_resources = event.responder_resources;
  out.initiator_depth = event.initiator_depth;
  out.flow_control = event.flow_control ? 1 : 0;
  out.retry_count = event.retry_count;
  out.rnr_retry_count = event.not_ready_retry_count;
  copy_private_data(data, &out);
  return out;
}

rdma_ucm_ud_param datagram_parameters(const Identifier& identifier, const cm::Event& event,
                                      std::span<const std::byte> data) {
  rdma_ucm_ud_param out{};
  out.qp_num = event.queue_pair;
  out.qkey = event.queue_key;
  if (event.type == cm::EventType::service_reply)
    out.ah_attr = kernel_address(
        identifier.agent->way(identifier.source.address, identifier.destination.address));
  copy_private_data(data, &out);
  return out;
}

std::uint32_t shown_type(cm::EventType type) {
  switch (type) {
    case cm::EventType::request:
    case cm::EventType::service_request:
      return cm_event::connect_request;
    case cm::EventType::reply:
      return cm_event::connect_response;
    case cm::EventType::established:
    case cm::EventType::service_reply:
      return cm_event::established;
    case cm::EventType::rejected:
      return cm_event::rejected;
    case cm::EventType::unreachable:
      return cm_event::unreachable;
    case cm::EventType::disconnected:
      return cm_event::disconnected;
    case cm::EventType::time_wait_over:
      return cm_event::time_wait_exit;
  }
  return cm_event::unreachable;
}

/// EVENT as programs see it, about IDENTIFIER.
rdma_ucm_event_resp shown_event(const Identifier& identifier, const cm::Event& event,
                                std::span<const std::byte> data) {
  rdma_ucm_event_resp shown{};
  shown.uid = identifier.uid;
  shown.id = identifier.handle;
  shown.event = shown_type(event.type);
  shown.status = static_cast<std::uint32_t>(event.status);
  if (identifier.is_datagram()) {
    shown.param.ud = datagram_parameters(identifier, event, data);
  } else {
    shown.param.conn = connection_parameters(event, data);
  }
  return shown;
}

ConnectionService* made = nullptr;  // for the end of the process, which must not make one

__attribute__((destructor)) void end_connections() {
  if (made != nullptr && !is_lost()) made->end();
}

}  // namespace

ConnectionService* ConnectionService::get() {
  // Never destroyed: other threads may use it while the process ends.
  static auto* const service = [] {
    made = devices() == nullptr ? nullptr : new ConnectionService;
    return made;
  }();
  return service;
}

ConnectionService::ConnectionService() {
  ConnectionListener& listener = *this;
  for (const auto& device : *devices())
    agents_.push_back(
        std::make_unique<ConnectionAgent>(device->index, *device->adapter, listener, mutex_));
}

// Channels

int ConnectionService::open(int flags) {
  auto channel = std::make_shared<EventChannel>(flags);
  const int descriptor = channel->descriptor();
  if (descriptor < 0) return -1;
  const std::lock_guard guard(mutex_);
  channels_[descriptor] = std::move(channel);
  return descriptor;
}

std::shared_ptr<EventChannel> ConnectionService::channel(int descriptor) const {
  const auto found = channels_.find(descriptor);
  return found == channels_.end() ? nullptr : found->second;
}

void ConnectionService::close(int descriptor) {
  {
    const std::lock_guard guard(mutex_);
    const std::shared_ptr<EventChannel> closed = channel(descriptor);
    if (closed == nullptr) return;
    std::vector<Identifier*> gone;
    for (const auto& [handle, identifier] : identifiers_)
      if (identifier->channel == closed.get()) gone.push_back(identifier.get());
    for (Identifier* identifier : gone)
      if (find(identifier->handle) == identifier) remove(*identifier);
    channels_.erase(descriptor);
  }
  flush();
}

ssize_t ConnectionService::execute(int descriptor, std::span<const std::byte> command) {
  const int error = execute_command(*this, descriptor, command);
  flush();
  return error == 0 ? static_cast<ssize_t>(command.size()) : -error;
}

void ConnectionService::flush() {
  for (const auto& agent : agents_)
    if (agent->has_changed()) agent->flush();
}

/// A lock may be a dead thread's.
void ConnectionService::end() {
  {
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (!guard.owns_lock()) return;
    while (!identifiers_.empty()) remove(*identifiers_.begin()->second);
  }
  for (const auto& agent : agents_) agent->adapter().end();
}

// Identifiers

std::uint32_t ConnectionService::new_handle() {
  do {
    ++last_handle_;
  } while (identifiers_.contains(last_handle_) || groups_.contains(last_handle_));
  return last_handle_;
}

Identifier& ConnectionService::add_identifier(EventChannel& channel) {
  auto identifier = std::make_unique<Identifier>();
  identifier->handle = new_handle();
  identifier->channel = &channel;
  return *identifiers_.emplace(identifier->handle, std::move(identifier)).first->second;
}

Identifier* ConnectionService::find(std::uint32_t handle) {
  const auto found = identifiers_.find(handle);
  return found == identifiers_.end() ? nullptr : found->second.get();
}

void ConnectionService::remove(Identifier& identifier) {
  const std::uint32_t handle = identifier.handle;
  if (identifier.stage == Stage::listening)
    for (const auto& agent : agents_) agent->manager().ignore(identifier.listening_service());
  if (identifier.connection) {
    identifier.agent->manager().abandon(*identifier.connection,
                                        identifier.agent->adapter().now_ns());
    identifier.agent->note_change();
  }
  std::vector<std::uint32_t> children;
  identifier.channel->take_out([&](const QueuedEvent& event) { return event.identifier == handle; },
                               [&](const QueuedEvent& event) {
                                 if (event.child != 0) children.push_back(event.child);
                               });
  std::erase_if(groups_, [&](const auto& group) { return group.second.identifier == handle; });
  identifiers_.erase(handle);
  for (const std::uint32_t child : children)
    if (Identifier* const unclaimed = find(child)) remove(*unclaimed);
}

JoinedGroup& ConnectionService::add_group(const Identifier& identifier) {
  const std::uint32_t handle = new_handle();
  return groups_[handle] = {.handle = handle, .identifier = identifier.handle};
}

JoinedGroup* ConnectionService::find_group(std::uint32_t handle) {
  const auto found = groups_.find(handle);
  return found == groups_.end() ? nullptr : &found->second;
}

void ConnectionService::remove_group(const JoinedGroup& group) {
  const std::uint32_t handle = group.handle;
  if (Identifier* const identifier = find(group.identifier))
    identifier->channel->take_out([&](const QueuedEvent& event) { return event.group == handle; },
                                  [](const QueuedEvent& /*event*/) {});
  groups_.erase(handle);
}

void ConnectionService::move(Identifier& identifier, EventChannel& channel) {
  EventChannel& old = *identifier.channel;
  identifier.channel = &channel;
  if (&old == &channel) return;
  old.take_out([&](const QueuedEvent& event) { return event.identifier == identifier.handle; },
               [&](const QueuedEvent& event) { channel.push(event); });
}

PortName ConnectionService::port_name(const Identifier& identifier, std::uint16_t port) const {
  return {agents_.front()->adapter().guid(), identifier.space, port};
}

// Events

void ConnectionService::tell(Identifier& identifier, std::uint32_t event, int status) {
  rdma_ucm_event_resp shown{};
  shown.uid = identifier.uid;
  shown.id = identifier.handle;
  shown.event = event;
  shown.status = static_cast<std::uint32_t>(status);
  identifier.channel->push({.shown = shown, .identifier = identifier.handle});
}

rdma_ucm_event_resp ConnectionService::fetch(EventChannel& channel) {
  const QueuedEvent event = channel.pop();
  rdma_ucm_event_resp shown = event.shown;
  Identifier* const identifier = find(event.identifier);
  if (identifier == nullptr) return shown;
  ++identifier->events_reported;
  if (JoinedGroup* const group = find_group(event.group)) {
    ++group->events_reported;
  } else {
    // It may have another name than when the event came.
    shown.uid = identifier->uid;
  }
  if (event.child != 0) --identifier->waiting_count;
  return shown;
}

void ConnectionService::on_event(ConnectionAgent& agent, std::uint32_t connection,
                                 const wire::Address& /*peer*/, const cm::Event& event) {
  if (event.type == cm::EventType::request || event.type == cm::EventType::service_request)
    return on_request(agent, connection, event);
  const auto found = std::ranges::find_if(identifiers_, [&](const auto& known) {
    return known.second->agent == &agent && known.second->connection == connection;
  });
  if (found == identifiers_.end()) return;
  Identifier& identifier = *found->second;
  identifier.channel->push({.shown = shown_event(identifier, event, event.private_data),
                            .identifier = identifier.handle});
}

/// Null if nobody listens, or enough requests wait already.
Identifier* ConnectionService::listener_for(std::uint64_t service, const cm::IpHeader& header,
                                            const ConnectionAgent& agent) {
  const IpEndpoint wanted = endpoint_of(header.destination, cm::port_of(service));
  for (const auto& [handle, identifier] : identifiers_) {
    if (identifier->stage != Stage::listening || identifier->listening_service() != service)
      continue;
    const bool is_meant = identifier->source.is_any() ||
                          identifier->source.address == wanted.address ||
                          (identifier->agent == &agent && identifier->source.is_loopback());
    if (is_meant && identifier->waiting_count < identifier->backlog) return identifier.get();
  }
  return nullptr;
}

void ConnectionService::on_request(ConnectionAgent& agent, std::uint32_t connection,
                                   const cm::Event& event) {
  const std::optional<cm::IpHeader> header = cm::parse_ip_header(event.private_data);
  Identifier* const listener = header ? listener_for(event.service, *header, agent) : nullptr;
  if (listener == nullptr) return agent.manager().abandon(connection, agent.adapter().now_ns());
  Identifier& child = add_identifier(*listener->channel);
  child.space = listener->space;
  child.queue_pair_type = listener->queue_pair_type;
  child.stage = Stage::requested;
  child.source = endpoint_of(header->destination, cm::port_of(event.service));
  child.destination = endpoint_of(header->source, header->source_port);
  child.agent = &agent;
  child.connection = connection;
  child.queue_key = listener->queue_key;
  child.packet_lifetime = listener->packet_lifetime;
  ++listener->waiting_count;
  const std::span<const std::byte> data(event.private_data);
  QueuedEvent queued{.shown = shown_event(child, event, data.subspan(cm::ip_header_bytes)),
                     .identifier = listener->handle,
                     .child = child.handle};
  queued.shown.uid = listener->uid;
  listener->channel->push(queued);
}

bool ConnectionService::is_unknown(std::uint64_t service) {
  const PortName name{agents_.front()->adapter().guid(), static_cast<std::uint16_t>(service >> 16),
                      cm::port_of(service)};
  return !is_held(name, Holding::listening);
}

}  // namespace softrdma::verbs
