#include "softrdma/device/device.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "softrdma/link/multicast.hpp"
#include "softrdma/wire/packet.hpp"

namespace softrdma::device {

using qp::QueuePair;

namespace {

/// So that one queue pair does not keep the others waiting.
constexpr int packets_in_a_row_max = 16;
constexpr std::uint64_t never = ~std::uint64_t{0};

}  // namespace

// Queue pairs

Device::~Device() {
  for (const auto& [number, entry] : queue_pairs_) {
    auto* const targets = targets_with(entry->queue_pair->type());
    if (targets != nullptr && (targets->domain_of(number) == 0 || !targets->close(number)))
      continue;
    numbers_.give_back(number);
  }
}

QueuePair* Device::create_queue_pair(qp::QueuePairParts parts) {
  drop_gone_targets();
  if (queue_pairs_.size() >= settings_.queue_pairs_max) return nullptr;
  const std::optional<std::uint32_t> number = numbers_.take();
  if (!number) return nullptr;
  auto* const targets = targets_with(parts.type);
  if (targets != nullptr && !targets->add(*number, parts.xrc_domain)) {
    numbers_.give_back(*number);
    return nullptr;
  }
  parts.number = *number;
  return &make_queue_pair(parts);
}

QueuePair& Device::make_queue_pair(const qp::QueuePairParts& parts) {
  auto entry = std::make_unique<Entry>();
  qp::QueuePairHost& host = *this;
  entry->queue_pair = std::make_unique<QueuePair>(parts, regions_, host);
  QueuePair& made = *entry->queue_pair;
  queue_pairs_.emplace(parts.number, std::move(entry));
  return made;
}

void Device::destroy(QueuePair& queue_pair) {
  const std::uint32_t number = queue_pair.number();
  auto* const targets = targets_with(queue_pair.type());
  // A receive queue of ours may be what others' messages are for: it stays until it is gone.
  if (targets != nullptr && !targets->close(number)) return adopted_.push_back(number);
  drop(queue_pair);
  numbers_.give_back(number);
}

void Device::drop(QueuePair& queue_pair) {
  const auto found = queue_pairs_.find(queue_pair.number());
  ibv_qp_attr reset{};
  reset.qp_state = IBV_QPS_RESET;
  queue_pair.modify(reset, IBV_QP_STATE);
  Entry* const entry = found->second.get();
  std::erase(ready_, entry);
  std::erase(timed_, entry);
  past_ += queue_pair.counters();
  queue_pairs_.erase(found);
}

// XRC

QueuePair* Device::open_target(std::uint32_t number, std::uint32_t xrc_domain) {
  auto* const targets = link_.xrc_targets();
  if (targets != nullptr && !targets->open(number, xrc_domain)) return nullptr;
  QueuePair* target = find(number);
  if (target == nullptr) target = adopt_target(number);
  const bool is_it =
      target != nullptr && target->type() == IBV_QPT_XRC_RECV && target->xrc_domain() == xrc_domain;
  if (!is_it) return nullptr;
  catch_up(*target);
  return target;
}

/// One that another process made, and whose messages are for us. Null if there is none.
QueuePair* Device::adopt_target(std::uint32_t number) {
  auto* const targets = link_.xrc_targets();
  const std::uint32_t xrc_domain = targets == nullptr ? 0 : targets->domain_of(number);
  if (xrc_domain == 0) return nullptr;
  adopted_.push_back(number);
  QueuePair& target =
      make_queue_pair({.number = number, .type = IBV_QPT_XRC_RECV, .xrc_domain = xrc_domain});
  catch_up(target);
  return &target;
}

/// With what other processes have done to TARGET.
void Device::catch_up(QueuePair& target) {
  ibv_qp_attr attributes;
  target.query(&attributes);
}

/// Those that nobody has any more.
void Device::drop_gone_targets() {
  std::erase_if(adopted_, [&](std::uint32_t number) {
    QueuePair* const adopted = find(number);
    if (adopted != nullptr && link_.xrc_targets()->domain_of(number) != 0) return false;
    if (adopted != nullptr) drop(*adopted);
    return true;
  });
}

qp::Turn Device::begin_turn(std::uint32_t number, qp::TargetState* state) {
  auto* const targets = link_.xrc_targets();
  if (targets == nullptr) return qp::Turn::own;
  return targets->begin(number, state) ? qp::Turn::shared : qp::Turn::none;
}

void Device::end_turn(std::uint32_t number, const qp::TargetState& state) {
  link_.xrc_targets()->end(number, state);
}

void Device::raise(QueuePair& queue_pair, ibv_event_type event) {
  listener_.on_event(queue_pair, event);
}

// Faults

bool Device::fail(std::uint32_t number) {
  QueuePair* queue_pair = find(number);
  if (queue_pair == nullptr) queue_pair = adopt_target(number);
  if (queue_pair == nullptr || !queue_pair->fail()) return false;
  raise(*queue_pair, IBV_EVENT_QP_FATAL);
  return true;
}

void Device::set_port(std::uint8_t number, bool is_up) {
  if (is_port_up(number) == is_up) return;
  ports_down_[number] = !is_up;
  for (const auto& [queue_pair_number, entry] : queue_pairs_) {
    if (entry->queue_pair->port() != number) continue;
    if (is_up) {
      entry->queue_pair->open_to_peer();
    } else {
      close_to_peer(queue_pair_number);
    }
  }
  listener_.on_port_event(number, is_up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

void Device::suffer_mishaps(std::uint64_t now_ns) {
  if (mishaps_->is_error_due(now_ns)) fail_any();
  if (const std::optional<PortChange> change = mishaps_->port_change(now_ns))
    set_port(change->port, change->is_up);
}

/// One of those that are in use.
void Device::fail_any() {
  std::vector<std::uint32_t> numbers;
  for (const auto& [number, entry] : queue_pairs_) {
    const ibv_qp_state state = entry->queue_pair->state();
    if (state != IBV_QPS_RESET && state != IBV_QPS_INIT && state != IBV_QPS_ERR)
      numbers.push_back(number);
  }
  if (numbers.empty()) return;
  std::ranges::sort(numbers);
  fail(numbers[mishaps_->choose(numbers.size())]);
}

// Multicast groups

int Device::attach(const QueuePair& queue_pair, const ibv_gid& gid) {
  const wire::Address group = link::address_of(gid);
  if (groups_.is_attached(group, queue_pair.number())) return 0;
  if (!groups_.has_room_for(group)) return ENOMEM;
  if (groups_.members_of(group).empty() && !link_.join(gid)) return ENOMEM;
  groups_.attach(group, queue_pair.number());
  return 0;
}

int Device::detach(const QueuePair& queue_pair, const ibv_gid& gid) {
  const wire::Address group = link::address_of(gid);
  if (!groups_.is_attached(group, queue_pair.number())) return EINVAL;
  groups_.detach(group, queue_pair.number());
  if (groups_.members_of(group).empty()) link_.leave(gid);
  return 0;
}

// Queue pair 1

void Device::manage(ManagementAgent& agent) {
  agent_ = &agent;
  link_.open_management();
}

void Device::send_management(std::span<const std::byte, management_bytes> datagram,
                             const ibv_ah_attr& address) {
  qp::Outgoing packet;
  packet.headers.opcode = {wire::Service::unreliable_datagram, wire::Operation::send_only};
  packet.headers.destination_qp = link::management_number;
  packet.headers.source_qp = link::management_number;
  packet.headers.queue_key = management_queue_key;
  packet.headers.sequence = management_sequence_++ & wire::number_mask;
  packet.payload.add(datagram);
  link_.send(packet, address);
  // The payload has to stay no longer.
  link_.flush();
  ++counters_.packets_sent;
}

void Device::on_management_arrival(const qp::Arrival& arrival) {
  const wire::Packet& packet = arrival.packet;
  std::array<std::byte, management_bytes> datagram;
  const std::span<std::byte> whole(datagram);
  const bool is_one = packet.headers.opcode.service == wire::Service::unreliable_datagram &&
                      packet.headers.queue_key == management_queue_key &&
                      packet.payload.size() == management_bytes;
  if (agent_ == nullptr || !is_one || !packet.payload.read({&whole, 1})) {
    ++counters_.without_queue_pair;
    return;
  }
  agent_->on_datagram(datagram, arrival, now_ns_);
}

/// True if there was something to do.
bool Device::let_agent_act() {
  if (agent_ == nullptr || agent_->due_ns() > now_ns_) return false;
  agent_->act(now_ns_);
  return true;
}

std::optional<std::uint32_t> Device::add(const qp::ReceiveTarget& target) {
  drop_gone_targets();
  const std::optional<std::uint32_t> number = numbers_.take();
  if (number) targets_.emplace(*number, target);
  return number;
}

void Device::remove_target(std::uint32_t number) {
  targets_.erase(number);
  numbers_.give_back(number);
}

std::optional<qp::Path> Device::path_to(const ibv_ah_attr& address, ibv_mtu mtu) {
  return link_.path_to(address, mtu);
}

std::uint32_t Device::datagram_bytes_max(std::uint8_t /*port*/) {
  return settings_.datagram_bytes_max;
}

ibv_wc_status Device::bind(QueuePair& queue_pair, const queue::BindWork& work) {
  const bool is_bound = regions_.bind({.window_key = work.window_key,
                                       .new_key = work.new_key,
                                       .region_key = work.region_key,
                                       .access = work.access,
                                       .address = work.address,
                                       .bytes = work.bytes},
                                      queue_pair.domain(), queue_pair.number());
  return is_bound ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR;
}

bool Device::invalidate(QueuePair& queue_pair, std::uint32_t key) {
  return regions_.invalidate(key, queue_pair.number());
}

void Device::open_to_peer(const qp::PeerAccess& access, const ibv_ah_attr& peer) {
  auto* const direct = link_.direct();
  const bool may_come = settings_.lets_peers_in && is_port_up(find(access.queue_pair)->port());
  if (direct != nullptr && may_come) direct->open(access, peer);
}

void Device::close_to_peer(std::uint32_t queue_pair) {
  if (auto* const direct = link_.direct()) direct->close(queue_pair);
}

bool Device::copy_directly(const QueuePair& queue_pair, const qp::DirectCopy& copy) {
  auto* const direct = link_.direct();
  return direct != nullptr && is_port_up(queue_pair.port()) &&
         direct->copy(copy, queue_pair.number(), queue_pair.peer(), now_ns_);
}

// What moves them

void Device::note_work(QueuePair& queue_pair) {
  make_ready(*queue_pairs_.find(queue_pair.number())->second);
}

void Device::make_ready(Entry& entry) {
  if (std::exchange(entry.is_ready, true)) return;
  ready_.push_back(&entry);
}

void Device::watch_timer(Entry& entry) {
  std::uint64_t deadline = entry.queue_pair->deadline_ns().value_or(never);
  if (entry.ready_ns > now_ns_) deadline = std::min(deadline, entry.ready_ns);
  if (deadline == never) return;
  next_deadline_ns_ = std::min(next_deadline_ns_, deadline);
  if (!std::exchange(entry.is_timed, true)) timed_.push_back(&entry);
}

bool Device::drive(std::uint64_t now_ns) {
  regions_.look_for_changes();
  if (mishaps_) suffer_mishaps(now_ns);
  const bool moved = send(now_ns);
  if (!link_.poll(*this, now_ns)) return moved;
  let_agent_act();
  send_ready();
  link_.flush_payloads();
  return true;
}

bool Device::send(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  bool moved = look_at_timers();
  moved |= let_agent_act();
  moved |= send_ready();
  link_.flush();
  return moved;
}

bool Device::send_ready() {
  bool moved = false;
  // Those that are ready now; who gets ready meanwhile has its turn next time.
  std::swap(ready_, in_turn_);
  for (Entry* entry : in_turn_) entry->is_ready = false;
  for (Entry* entry : in_turn_) moved |= send_from(*entry);
  in_turn_.clear();
  return moved;
}

void Device::on_arrival(const qp::Arrival& arrival) {
  ++counters_.packets_received;
  const wire::Headers& headers = arrival.packet.headers;
  if (link::is_for_group(headers)) return on_group_arrival(arrival);
  if (headers.destination_qp == link::management_number) return on_management_arrival(arrival);
  const bool is_target_request = link::is_target_request(headers);
  if (is_target_request && link_.pass_on(arrival)) return;
  auto found = queue_pairs_.find(headers.destination_qp);
  if (found == queue_pairs_.end() && is_target_request &&
      adopt_target(headers.destination_qp) != nullptr)
    found = queue_pairs_.find(headers.destination_qp);
  if (found == queue_pairs_.end()) {
    ++counters_.without_queue_pair;
    return;
  }
  deliver(*found->second, arrival);
}

/// Each queue pair of the group gets a copy. The group is the destination of the global route
/// header, without which nobody is meant.
void Device::on_group_arrival(const qp::Arrival& arrival) {
  const wire::Address group = arrival.grh ? link::destination_of(*arrival.grh) : wire::Address{};
  const MulticastGroups::Members& members = groups_.members_of(group);
  if (members.empty()) ++counters_.without_queue_pair;
  for (const std::uint32_t number : members) deliver(*queue_pairs_.find(number)->second, arrival);
}

void Device::deliver(Entry& entry, const qp::Arrival& arrival) {
  if (!is_port_up(entry.queue_pair->port())) {
    ++counters_.lost_at_ports;
    return;
  }
  touch(entry);
  if (!entry.queue_pair->on_arrival(arrival, now_ns_)) ++counters_.from_others;
  make_ready(entry);
}

/// Deadlines mostly move away before they are reached, so the list is looked through only at the
/// earliest that it had.
bool Device::look_at_timers() {
  if (now_ns_ < next_deadline_ns_) return false;
  next_deadline_ns_ = never;
  const std::vector<Entry*> timed = std::exchange(timed_, {});
  for (Entry* entry : timed) {
    entry->is_timed = false;
    entry->queue_pair->on_time(now_ns_);
    watch_timer(*entry);
    make_ready(*entry);
  }
  return !timed.empty();
}

/// A packet of ENTRY came or goes.
void Device::touch(Entry& entry) {
  if (contexts_.touch(entry.queue_pair->number())) return;
  ++counters_.context_misses;
  entry.ready_ns = std::max(entry.ready_ns, now_ns_) + settings_.context_miss_ns;
}

bool Device::send_from(Entry& entry) {
  QueuePair& queue_pair = *entry.queue_pair;
  qp::Outgoing out;
  bool sent = false;
  for (int i = 0; i < packets_in_a_row_max && entry.ready_ns <= now_ns_; ++i) {
    const std::optional<qp::Destination> destination = queue_pair.destination();
    if (!destination) break;
    if (!link_.has_room(*destination)) {
      make_ready(entry);
      break;
    }
    if (!queue_pair.next(now_ns_, &out)) break;
    if (is_port_up(queue_pair.port())) {
      link_.send(out, *out.address);
      if (out.is_copy) link_.flush();
      ++counters_.packets_sent;
    } else {
      ++counters_.lost_at_ports;
    }
    touch(entry);
    sent = true;
    if (i == packets_in_a_row_max - 1) make_ready(entry);
  }
  watch_timer(entry);
  return sent;
}

qp::Requester::Counters Device::requester_counters() const {
  qp::Requester::Counters total = past_;
  for (const auto& [number, entry] : queue_pairs_) total += entry->queue_pair->counters();
  return total;
}

std::optional<std::uint64_t> Device::deadline_ns() const {
  std::uint64_t deadline = std::min(next_deadline_ns_, link_.deadline_ns().value_or(never));
  if (mishaps_) deadline = std::min(deadline, mishaps_->deadline_ns().value_or(never));
  if (agent_ != nullptr) deadline = std::min(deadline, agent_->due_ns());
  if (deadline == never) return std::nullopt;
  return deadline;
}

}  // namespace softrdma::device
