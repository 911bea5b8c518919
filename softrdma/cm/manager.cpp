#include "softrdma/cm/manager.hpp"

#include <algorithm>
#include <type_traits>

namespace softrdma::cm {
namespace {

/// How long a peer may take to answer, 537 ms, and how often it is asked again.
constexpr std::uint8_t response_timeout = 17;
constexpr std::uint8_t retries_max = 15;

constexpr std::uint32_t connections_max = 1U << (connection_bits - 1);
constexpr std::uint32_t number_mask = (1U << connection_bits) - 1;
/// Requests that nobody wants, of which we wait whether they come again.
constexpr std::size_t not_refused_max = 256;
constexpr std::uint32_t sequence_mask = 0xffffff;

}  // namespace

/// A connection or a question for a service, and whose it is.
class Manager::Entry final : public ConnectionHost {
 public:
  Entry(Manager& manager, std::uint32_t number, const wire::Address& peer)
      : manager_(manager), number_(number), peer_(peer) {}

  Connection& be_connection() { return connection_.emplace(number_, *this); }
  /// ID: that of the question.
  ServiceLookup& be_lookup(std::uint32_t id) { return lookup_.emplace(id, *this); }
  void note_origin(const Origin& origin) { origin_ = origin; }

  [[nodiscard]] Connection* connection() { return connection_ ? &*connection_ : nullptr; }
  [[nodiscard]] ServiceLookup* lookup() { return lookup_ ? &*lookup_ : nullptr; }
  [[nodiscard]] const std::optional<Origin>& origin() const { return origin_; }
  [[nodiscard]] std::uint32_t number() const { return number_; }

  void abandon(std::uint64_t now_ns) {
    is_abandoned_ = true;
    if (connection_) connection_->abandon(now_ns);
    if (lookup_) lookup_->abandon(now_ns);
  }
  void on_message(const Message& message, std::uint64_t now_ns) {
    if (connection_) connection_->on_message(message, now_ns);
    if (lookup_) lookup_->on_message(message);
  }
  void on_time(std::uint64_t now_ns) {
    if (connection_) connection_->on_time(now_ns);
    if (lookup_) lookup_->on_time(now_ns);
  }
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const {
    return connection_ ? connection_->deadline_ns() : lookup_->deadline_ns();
  }
  [[nodiscard]] bool is_over() const {
    return connection_ ? connection_->state() == State::over
                       : lookup_->state() == ServiceLookup::State::over;
  }

 private:
  void send(const Message& message) override { manager_.send(message, peer_); }
  void on_event(const Event& event) override {
    if (!is_abandoned_) manager_.host_.on_event(number_, peer_, event);
  }

  Manager& manager_;
  const std::uint32_t number_;
  const wire::Address peer_;
  std::optional<Connection> connection_;
  std::optional<ServiceLookup> lookup_;
  std::optional<Origin> origin_;
  bool is_abandoned_ = false;
};

Manager::Manager(const ManagerSettings& settings, ManagerHost& host)
    : settings_(settings),
      host_(host),
      random_(settings.seed),
      last_(static_cast<std::uint32_t>(random_())),
      transactions_(random_()) {}

Manager::~Manager() = default;

// What the consumer wants

/// Null if there are too many.
Manager::Entry* Manager::add(const wire::Address& peer) {
  remove_what_is_over();
  if (entries_.size() >= connections_max) return nullptr;
  std::uint32_t number;
  do {
    number = std::uint32_t{settings_.process} << connection_bits | (++last_ & number_mask);
  } while (number == 0 || entries_.contains(number));
  return entries_.emplace(number, std::make_unique<Entry>(*this, number, peer)).first->second.get();
}

std::optional<std::uint32_t> Manager::connect(ConnectRequest request, const wire::Address& to,
                                              std::uint64_t now_ns) {
  Entry* const entry = add(to);
  if (entry == nullptr) return std::nullopt;
  request.adapter_guid = settings_.adapter_guid;
  request.starting_sequence = static_cast<std::uint32_t>(random_()) & sequence_mask;
  request.local_response_timeout = response_timeout;
  request.remote_response_timeout = response_timeout;
  request.retries_max = retries_max;
  entry->be_connection().connect(request, now_ns);
  return entry->number();
}

std::optional<std::uint32_t> Manager::look_up(const ServiceRequest& request,
                                              const wire::Address& to, std::uint64_t now_ns) {
  Entry* const entry = add(to);
  if (entry == nullptr) return std::nullopt;
  entry->be_lookup(entry->number()).ask(request, timeout_ns(response_timeout), retries_max, now_ns);
  return entry->number();
}

Manager::Entry* Manager::entry_of(std::uint32_t number) const {
  const auto found = entries_.find(number);
  return found == entries_.end() ? nullptr : found->second.get();
}

Connection* Manager::connection_of(std::uint32_t number) const {
  Entry* const entry = entry_of(number);
  return entry == nullptr ? nullptr : entry->connection();
}

const Connection* Manager::find(std::uint32_t connection) const {
  return connection_of(connection);
}

bool Manager::accept(std::uint32_t connection, ConnectReply reply, std::uint64_t now_ns) {
  Connection* const found = connection_of(connection);
  reply.adapter_guid = settings_.adapter_guid;
  return found != nullptr && found->accept(reply, now_ns);
}

bool Manager::answer(std::uint32_t connection, const ServiceReply& reply, std::uint64_t now_ns) {
  Entry* const entry = entry_of(connection);
  return entry != nullptr && entry->lookup() != nullptr && entry->lookup()->answer(reply, now_ns);
}

bool Manager::confirm(std::uint32_t connection) {
  Connection* const found = connection_of(connection);
  return found != nullptr && found->confirm();
}

bool Manager::note_established(std::uint32_t connection) {
  Connection* const found = connection_of(connection);
  return found != nullptr && found->note_established();
}

bool Manager::reject(std::uint32_t connection, std::uint16_t why,
                     std::span<const std::byte> private_data, std::uint64_t now_ns) {
  Connection* const found = connection_of(connection);
  return found != nullptr && found->reject(why, private_data, now_ns);
}

bool Manager::disconnect(std::uint32_t connection, std::uint64_t now_ns) {
  Connection* const found = connection_of(connection);
  return found != nullptr && found->disconnect(now_ns);
}

void Manager::abandon(std::uint32_t connection, std::uint64_t now_ns) {
  if (Entry* const entry = entry_of(connection)) entry->abandon(now_ns);
}

// What comes

void Manager::send(const Message& message, const wire::Address& to) {
  host_.send(build(message, ++transactions_), to);
}

/// Whether NUMBER is one that this process gives out.
bool Manager::is_ours(std::uint32_t number) const {
  return number >> connection_bits == settings_.process;
}

void Manager::on_datagram(std::span<const std::byte> bytes, const wire::Address& from,
                          std::uint64_t now_ns) {
  const std::optional<Message> message = parse(bytes);
  if (!message) return;
  std::visit(
      [&](const auto& known) {
        using Known = std::remove_cvref_t<decltype(known)>;
        if constexpr (std::is_same_v<Known, ConnectRequest>) {
          on_request(known, from, now_ns);
        } else if constexpr (std::is_same_v<Known, ServiceRequest>) {
          on_request(known, from);
        } else if constexpr (std::is_same_v<Known, ServiceReply>) {
          on_answer(known.request_id, *message, from, now_ns);
        } else {
          on_answer(known.remote_id, *message, from, now_ns);
        }
      },
      *message);
}

void Manager::on_request(const ConnectRequest& request, const wire::Address& from,
                         std::uint64_t now_ns) {
  const Origin origin{from, request.local_id};
  if (const auto known = begun_by_others_.find(origin); known != begun_by_others_.end())
    return entry_of(known->second)->on_message(request, now_ns);
  if (!services_.contains(request.service)) {
    if (has_to_refuse(request.service, origin))
      send(Rejection{.remote_id = request.local_id, .reason = reason::unknown_service}, from);
    return;
  }
  Entry* const entry = add(from);
  if (entry == nullptr) return;
  entry->note_origin(origin);
  begun_by_others_.emplace(origin, entry->number());
  entry->be_connection().begin(request, static_cast<std::uint32_t>(random_()) & sequence_mask);
}

void Manager::on_request(const ServiceRequest& request, const wire::Address& from) {
  const Origin origin{from, request.request_id};
  if (const auto known = begun_by_others_.find(origin); known != begun_by_others_.end())
    return entry_of(known->second)->on_message(request, 0);
  if (!services_.contains(request.service)) {
    if (has_to_refuse(request.service, origin))
      send(ServiceReply{.request_id = request.request_id,
                        .status = service_status::unsupported,
                        .service = request.service},
           from);
    return;
  }
  Entry* const entry = add(from);
  if (entry == nullptr) return;
  entry->note_origin(origin);
  begun_by_others_.emplace(origin, entry->number());
  entry->be_lookup(request.request_id).begin(request);
}

/// Not the first time: programs close a listener and open the next one, between two connections of
/// the same peer, which nothing delays here as it would be delayed elsewhere.
bool Manager::has_to_refuse(std::uint64_t service, const Origin& origin) {
  if (!host_.refuses(service)) return false;
  if (not_refused_yet_.erase(origin) != 0) return true;
  if (not_refused_yet_.size() >= not_refused_max) not_refused_yet_.clear();
  not_refused_yet_.insert(origin);
  return false;
}

/// To what NUMBER began, or was begun with.
void Manager::on_answer(std::uint32_t number, const Message& message, const wire::Address& from,
                        std::uint64_t now_ns) {
  if (Entry* const entry = entry_of(number); entry != nullptr && !entry->is_over())
    return entry->on_message(message, now_ns);
  // A request that is withdrawn before it was answered names no number of ours.
  const auto* const rejection = std::get_if<Rejection>(&message);
  if (rejection != nullptr && number == 0) {
    const auto known = begun_by_others_.find({from, rejection->local_id});
    if (known != begun_by_others_.end())
      return entry_of(known->second)->on_message(message, now_ns);
  }
  if (is_ours(number)) answer_for_nobody(message, from);
}

/// MESSAGE is for a connection that we had, or that another process had in our place.
void Manager::answer_for_nobody(const Message& message, const wire::Address& from) {
  if (const auto* const request = std::get_if<DisconnectRequest>(&message))
    send(DisconnectReply{.local_id = request->remote_id, .remote_id = request->local_id}, from);
  if (const auto* const reply = std::get_if<ConnectReply>(&message))
    send(Rejection{.local_id = reply->remote_id,
                   .remote_id = reply->local_id,
                   .of = Kind::reply,
                   .reason = reason::unknown_communication},
         from);
}

// Time

void Manager::on_time(std::uint64_t now_ns) {
  std::vector<std::uint32_t> due;
  for (const auto& [number, entry] : entries_)
    if (entry->deadline_ns().value_or(~std::uint64_t{0}) <= now_ns) due.push_back(number);
  for (const std::uint32_t number : due) entry_of(number)->on_time(now_ns);
  remove_what_is_over();
}

void Manager::remove_what_is_over() {
  std::erase_if(entries_, [&](const auto& known) {
    const Entry& entry = *known.second;
    if (!entry.is_over()) return false;
    if (entry.origin()) begun_by_others_.erase(*entry.origin());
    return true;
  });
}

std::optional<std::uint64_t> Manager::deadline_ns() const {
  std::optional<std::uint64_t> earliest;
  for (const auto& [number, entry] : entries_)
    if (const auto deadline = entry->deadline_ns();
        deadline && (!earliest || *deadline < *earliest))
      earliest = deadline;
  return earliest;
}

}  // namespace softrdma::cm
