// Manager: the connections of a process on one adapter, and the services that it offers: who a
// message is for. Messages to queue pair 1 come to every process of a host that manages
// connections; what is another process's is left to that.
//
// Ownership: of connections; borrows its host. Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "softrdma/cm/connection.hpp"
#include "softrdma/cm/service_lookup.hpp"
#include "softrdma/wire/icrc.hpp"

namespace softrdma::cm {

class ManagerHost {
 public:
  virtual ~ManagerHost() = default;
  virtual void send(const Datagram& datagram, const wire::Address& to) = 0;
  /// Of CONNECTION, of PEER; one that is new with a request. Its methods may be called.
  virtual void on_event(std::uint32_t connection, const wire::Address& peer,
                        const Event& event) = 0;
  /// Somebody wants SERVICE, which this process does not offer: whether it is on us to say that
  /// nobody of this host does.
  virtual bool refuses(std::uint64_t service) = 0;
};

struct ManagerSettings {
  /// Among the processes of the host: connections of each have numbers of their own.
  std::uint16_t process = 0;
  std::uint64_t adapter_guid = 0;
  std::uint64_t seed = 0;  // of numbers
};

/// Connections of a process: their numbers are 22 bits of it.
inline constexpr std::uint32_t connection_bits = 22;

class Manager {
 public:
  Manager(const ManagerSettings& settings, ManagerHost& host);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void listen(std::uint64_t service) { services_.insert(service); }
  void ignore(std::uint64_t service) { services_.erase(service); }

  // Each returns the number of what it began; nothing: there are too many.
  /// REQUEST: all but numbers, sequence, the adapter, timeouts and retries of messages.
  std::optional<std::uint32_t> connect(ConnectRequest request, const wire::Address& to,
                                       std::uint64_t now_ns);
  std::optional<std::uint32_t> look_up(const ServiceRequest& request, const wire::Address& to,
                                       std::uint64_t now_ns);

  // Of the one with that number; false if there is none, or not in its state.
  bool accept(std::uint32_t connection, ConnectReply reply, std::uint64_t now_ns);
  bool answer(std::uint32_t connection, const ServiceReply& reply, std::uint64_t now_ns);
  bool confirm(std::uint32_t connection);
  bool note_established(std::uint32_t connection);
  bool reject(std::uint32_t connection, std::uint16_t why, std::span<const std::byte> private_data,
              std::uint64_t now_ns);
  bool disconnect(std::uint32_t connection, std::uint64_t now_ns);
  /// Whoever had it has no interest any more; no events follow.
  void abandon(std::uint32_t connection, std::uint64_t now_ns);
  /// Null if it is none, or a service's.
  [[nodiscard]] const Connection* find(std::uint32_t connection) const;

  void on_datagram(std::span<const std::byte> bytes, const wire::Address& from,
                   std::uint64_t now_ns);
  void on_time(std::uint64_t now_ns);
  /// When on_time() has something to do.
  [[nodiscard]] std::optional<std::uint64_t> deadline_ns() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  class Entry;
  /// Who began something: an address and a number of its own.
  using Origin = std::pair<wire::Address, std::uint32_t>;

  Entry* add(const wire::Address& peer);
  [[nodiscard]] Entry* entry_of(std::uint32_t number) const;
  [[nodiscard]] Connection* connection_of(std::uint32_t number) const;
  [[nodiscard]] bool is_ours(std::uint32_t number) const;
  void send(const Message& message, const wire::Address& to);
  void on_request(const ConnectRequest& request, const wire::Address& from, std::uint64_t now_ns);
  void on_request(const ServiceRequest& request, const wire::Address& from);
  void on_answer(std::uint32_t number, const Message& message, const wire::Address& from,
                 std::uint64_t now_ns);
  bool has_to_refuse(std::uint64_t service, const Origin& origin);
  void answer_for_nobody(const Message& message, const wire::Address& from);
  void remove_what_is_over();

  const ManagerSettings settings_;
  ManagerHost& host_;
  std::mt19937_64 random_;
  std::uint32_t last_;
  std::uint64_t transactions_;
  std::set<std::uint64_t> services_;
  std::map<std::uint32_t, std::unique_ptr<Entry>> entries_;
  std::map<Origin, std::uint32_t> begun_by_others_;
  std::set<Origin> not_refused_yet_;
};

}  // namespace softrdma::cm
