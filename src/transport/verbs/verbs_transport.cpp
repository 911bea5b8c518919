#include "transport/verbs/verbs_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "platform/file.hpp"

namespace hawser::transport::verbs {

namespace {

constexpr std::string_view network = "verbs";
constexpr std::size_t words_per_slab = 32;
constexpr std::size_t word_slabs_max = 2048;

/// One that is read without waiting; null where the adapter refuses.
CompletionChannel make_channel(const Port& port) {
  CompletionChannel channel(ibv_create_comp_channel(port.context.get()));
  if (channel) platform::never_wait_on(channel->fd);
  return channel;
}

/// Forgets what CHANNEL has told so far.
void drain(ibv_comp_channel* channel) {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel, &queue, &context) == 0) ibv_ack_cq_events(queue, 1);
}

}  // namespace

Result<std::vector<std::unique_ptr<VerbsTransport>>> VerbsTransport::open_all(
    const Environment& environment, const Settings& settings) {
  // Before an adapter's library has threads, and before this one's make progress. Without events
  // nothing stays registered; see make_registrations().
  if (settings.registration_cache) std::ignore = memory::MemoryEvents::prepare();
  auto ports = Port::open_all(settings);
  if (!ports) return ports.take_error();
  std::vector<std::unique_ptr<VerbsTransport>> transports;
  for (Port& port : *ports) {
    auto transport =
        open(environment, settings, std::move(port), static_cast<std::uint8_t>(transports.size()));
    // Without further ones it goes as well.
    if (!transport && !transports.empty()) break;
    if (!transport) return transport.take_error();
    transports.push_back(std::move(*transport));
  }
  return transports;
}

Result<std::unique_ptr<VerbsTransport>> VerbsTransport::open(const Environment& environment,
                                                             const Settings& settings) {
  Settings one = settings;
  one.rails_max = 1;
  auto transports = open_all(environment, one);
  if (!transports) return transports.take_error();
  return std::move(transports->front());
}

Result<std::unique_ptr<VerbsTransport>> VerbsTransport::open(const Environment& environment,
                                                             const Settings& settings, Port opened,
                                                             std::uint8_t rail) {
  auto port = std::make_unique<Port>(std::move(opened));  // queues refer to it
  CompletionChannel channel = make_channel(*port);
  CompletionChannel departures = settings.tells_departures ? make_channel(*port) : nullptr;
  if (!channel || (settings.tells_departures && !departures))
    return refusal("a completion channel");
  const std::array descriptors = {channel->fd, port->context->async_fd};
  auto woken_by = platform::DescriptorSet::make(descriptors);
  if (!woken_by) return woken_by.take_error();
  std::unique_ptr<VerbsTransport> transport(
      new VerbsTransport(environment, std::move(port), std::move(channel), std::move(departures),
                         std::move(*woken_by), settings, rail));
  HAWSER_TRY(transport->open_datagrams());
  return transport;
}

VerbsTransport::VerbsTransport(Environment environment, std::unique_ptr<Port> port,
                               CompletionChannel channel, CompletionChannel departures,
                               platform::DescriptorSet woken_by, const Settings& settings,
                               std::uint8_t rail)
    : environment_(std::move(environment)),
      settings_(settings),
      name_(rail == 0 ? std::string(network) : fmt::format("{}.{}", network, rail)),
      rail_(rail),
      port_(std::move(port)),
      channel_(std::move(channel)),
      departures_(std::move(departures)),
      events_(*port_->context),
      woken_by_(std::move(woken_by)),
      buffers_(*port_, settings_, *environment_.ledger),
      registrar_(*port_, PortRegistrar::Reach::remote),
      words_(registrar_, *environment_.ledger,
             {.account = memory::Account::network_buffers,
              .buffer_bytes = sizeof(std::uint64_t),
              .slab_buffers = words_per_slab,
              .slabs_max = word_slabs_max}) {}

VerbsTransport::~VerbsTransport() {
  if (services_) {
    services_->is_closing = true;
    services_->zero_copy.reset();  // it uses the links' address handles
  }
  for (const auto& [peer, link] : links_) link->close();
}

Result<void> VerbsTransport::open_datagrams() {
  auto datagrams = Datagrams::open(
      {*port_, channel_.get(), buffers_, *environment_.ledger, rail_ == 0}, settings_);
  if (!datagrams) return datagrams.take_error();
  datagrams_ = std::move(*datagrams);
  services_ = std::make_unique<LinkServices>(LinkServices{
      .self = environment_.self,
      .rail = {network, rail_},
      .port = *port_,
      .settings = settings_,
      .sink = *environment_.sink,
      .ledger = *environment_.ledger,
      .clock = environment_.clock,
      .channel = channel_.get(),
      .departures = departures_.get(),
      .buffers = buffers_,
      .datagrams = *datagrams_,
      .registrations = [this]() -> memory::RegistrationCache& { return registrations(); },
      .words = words_,
      .host_file = environment_.host_file,
      .reliable = nullptr,
      .zero_copy = nullptr,
      .xrc = nullptr,
      .timed = {},
      .ending = {},
      .polled = {},
  });
  address_.mtu = port_->mtu;
  address_.lid = port_->lid;
  address_.queue_pair = datagrams_->number();
  std::memcpy(address_.gid, port_->gid.raw, sizeof(address_.gid));
  return {};
}

memory::RegistrationCache& VerbsTransport::registrations() {
  if (!registrations_) {
    make_registrations();
    for (const auto& [address, bytes] : std::exchange(allocated_, {}))
      registrations_->add_lasting(address, bytes);
  }
  return *registrations_;
}

/// Without events of memory that goes, nothing can stay registered that nobody uses.
void VerbsTransport::make_registrations() {
  const auto make = [this](bool keep) {
    return std::make_unique<memory::RegistrationCache>(
        registrar_, *environment_.ledger,
        memory::RegistrationSettings{
            .pinned_bytes_max = static_cast<std::size_t>(settings_.pinned_bytes_max),
            .page_bytes = platform::page_bytes(),
            .keep = keep});
  };
  if (settings_.registration_cache) {
    registrations_ = make(true);
    auto events = memory::MemoryEvents::start(*registrations_);
    if (events) {
      memory_events_ = std::move(*events);
      return;
    }
  }
  registrations_ = make(false);
}

void VerbsTransport::on_memory_allocated(std::uint64_t address, std::size_t bytes) {
  if (!registrations_ && !services_->reliable) {
    allocated_.insert_or_assign(address, bytes);
    return;
  }
  registrations().add_lasting(address, bytes);
  // What finds no room now is registered when it is used.
  std::ignore = registrations().acquire(address, bytes);
}

void VerbsTransport::on_memory_freed(std::uint64_t address) {
  allocated_.erase(address);
  if (registrations_) registrations_->remove_lasting(address);
}

Result<std::span<const std::byte>> VerbsTransport::address() {
  return std::as_bytes(std::span(&address_, 1));
}

VerbsLink& VerbsTransport::make_link(const Identity& peer, std::uint64_t expected_token) {
  datagrams_->expect_many();
  const DatagramHeader header{.mtu = port_->mtu,
                              .index = environment_.self.index,
                              .epoch = environment_.self.epoch,
                              .token = token_of(environment_.key, environment_.self, peer)};
  auto link = std::make_unique<VerbsLink>(*services_, peer, header, expected_token);
  services_->ledger.charge(memory::Account::endpoints, sizeof(VerbsLink));
  return *links_.emplace(peer, std::move(link)).first->second;
}

Result<Link*> VerbsTransport::connect(const Identity& peer, std::span<const std::byte> address) {
  const auto known = links_.find(peer);
  if (known != links_.end()) return known->second.get();
  const std::optional<PortAddress> port = parse<PortAddress>(address);
  if (!port) return Error(ErrorClass::other, "its address is not one of a verbs transport");
  AddressHandle to = port_->make_address_handle(*port);
  if (!to)
    return Error(ErrorClass::other,
                 fmt::format("the adapter '{}' knows no way to its port", port_->device));
  VerbsLink& link = make_link(peer, token_of(environment_.key, peer, environment_.self));
  link.open(std::move(to), port->queue_pair, port->mtu);
  return &link;
}

bool VerbsTransport::progress() {
  bool moved =
      datagrams_->poll([this](const ReceivedDatagram& datagram) { on_datagram(datagram); });
  moved |= poll_connections();
  if (services_->xrc) moved |= services_->xrc->poll();
  if (services_->zero_copy && !services_->zero_copy->is_idle())
    moved |= services_->zero_copy->poll(environment_.clock());
  rounds_since_look_ += moved ? 1 : rounds_of_idle_one;
  if (rounds_since_look_ >= rounds_per_look) [[unlikely]]
    take_events();
  if (!services_->ending.empty() && !moved) [[unlikely]]
    moved = end_connections();
  if (!services_->timed.empty()) [[unlikely]]
    moved |= serve_links();
  if (said_asleep_ && ++rounds_awake_ > rounds_if_awake) [[unlikely]]
    say_asleep(false);
  return moved;
}

void VerbsTransport::take_events() {
  rounds_since_look_ = 0;
  events_.take([this](const ibv_async_event& event) {
    const auto is_ours = [&] { return event.element.port_num == port_->number; };
    if (event.event_type == IBV_EVENT_PORT_ERR && is_ours()) set_up(false);
    if (event.event_type == IBV_EVENT_PORT_ACTIVE && is_ours()) set_up(true);
    if (event.event_type == IBV_EVENT_DEVICE_FATAL) set_up(false);
    if (services_->reliable) services_->reliable->on_event(event);
    if (services_->xrc) services_->xrc->receives->on_event(event);
  });
}

void VerbsTransport::set_up(bool is_up) {
  if (std::exchange(services_->is_up, is_up) == is_up) return;
  for (const auto& [peer, link] : links_) environment_.sink->on_link_state(*link);
}

std::vector<transport::Transport::Traffic> VerbsTransport::traffic() const {
  return {{.by = fmt::format("port {} of {}", port_->number, port_->device),
           .bytes_sent = datagrams_->bytes_sent() +
                         (services_->reliable ? services_->reliable->bytes_started() : 0) +
                         (services_->xrc ? services_->xrc->hosts->bytes_started() : 0)}};
}

bool VerbsTransport::poll_connections() {
  if (!services_->reliable) return false;
  const bool moved = services_->reliable->poll();
  if (services_->reliable->is_pressed()) [[unlikely]]
    take_events();
  return poll_rings() || moved;
}

bool VerbsTransport::poll_rings() {
  bool moved = false;
  // From the back: one that has ended leaves the list.
  for (std::size_t i = services_->polled.size(); i-- > 0;) {
    if (i < services_->polled.size()) moved |= services_->polled[i]->poll_ring();
  }
  return moved;
}

bool VerbsTransport::serve_links() {
  const std::uint64_t now_ns = environment_.clock();
  bool was_due = false;
  for (VerbsLink* link : std::exchange(services_->timed, {})) {
    was_due |= link->deadline_ns() <= now_ns;
    link->serve(now_ns);
  }
  return was_due;
}

bool VerbsTransport::end_connections() {
  for (VerbsLink* link : std::exchange(services_->ending, {})) link->finish_ending();
  return true;
}

bool VerbsTransport::is_drained() const {
  return datagrams_->is_drained() && (!services_->zero_copy || services_->zero_copy->is_drained());
}

void VerbsTransport::arm() {
  drain(channel_.get());
  if (departures_) drain(departures_.get());
  take_events();
  rounds_since_look_ = rounds_per_look;  // whatever wakes us may be one
  datagrams_->arm();
  if (services_->reliable) services_->reliable->arm();
  if (services_->xrc) services_->xrc->arm();
  if (services_->zero_copy) services_->zero_copy->arm();
  say_asleep(true);
}

void VerbsTransport::say_asleep(bool is_asleep) {
  said_asleep_ = is_asleep && !services_->polled.empty();
  rounds_awake_ = 0;
  for (VerbsLink* link : services_->polled) link->say_asleep(is_asleep);
}

std::uint64_t VerbsTransport::deadline_ns() const {
  std::uint64_t first = said_asleep_ ? environment_.clock() + look_ns : never_ns;
  for (const VerbsLink* link : services_->timed) first = std::min(first, link->deadline_ns());
  if (services_->zero_copy) first = std::min(first, services_->zero_copy->deadline_ns());
  if (services_->xrc && services_->xrc->hosts->has_broken()) first = 0;
  return first;
}

void VerbsTransport::on_datagram(const ReceivedDatagram& datagram) {
  const std::optional<DatagramHeader> header = parse<DatagramHeader>(datagram.bytes);
  VerbsLink* const link = header ? link_of(*header, datagram) : nullptr;
  if (link == nullptr) {
    ++dropped_;
    return;
  }
  const std::span<const std::byte> body = datagram.bytes.subspan(sizeof(DatagramHeader));
  switch (header->type) {
    case DatagramHeader::frame:
      environment_.sink->on_frame(*link, ChannelKind::ud_send, body);
      return;
    case DatagramHeader::connection:
      link->on_connection_message(body);
      return;
    case DatagramHeader::xrc:
      link->on_xrc_message(body);
      return;
    case DatagramHeader::part:
      link->on_part(body);
      return;
    default:
      ++dropped_;
  }
}

VerbsLink* VerbsTransport::link_of(const DatagramHeader& header, const ReceivedDatagram& datagram) {
  const Identity sender{environment_.self.job, header.index, header.epoch};
  if (const auto known = links_.find(sender); known != links_.end())
    return known->second->expected_token() == header.token ? known->second.get() : nullptr;
  const std::uint64_t token = token_of(environment_.key, sender, environment_.self);
  if (token != header.token) return nullptr;
  AddressHandle back = port_->make_address_handle(*datagram.completion, datagram.route);
  if (!back) return nullptr;
  VerbsLink& link = make_link(sender, token);
  link.open(std::move(back), datagram.completion->src_qp, header.mtu);
  environment_.sink->on_link(link, sender);
  environment_.sink->on_channels_changed(link);
  return &link;
}

}  // namespace hawser::transport::verbs
