#include "tool/performance_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hawser::tool {
namespace {

using base::Verbosity;
using memory::Account;
using session::Process;
using transport::ChannelKind;
using Variables = std::vector<PerformanceVariable>;
using Counters = base::ChannelCounters;

/// A variable of one element.
PerformanceVariable::Read one(std::function<std::uint64_t(Process&)> number) {
  return [number = std::move(number)](Process& process, std::span<std::uint64_t> numbers) {
    numbers[0] = number(process);
  };
}

/// The sum over all peers of a number that is kept per peer.
PerformanceVariable::Read over_peers(
    std::function<std::uint64_t(const channel::Endpoint&)> number) {
  return one([number = std::move(number)](Process& process) {
    std::uint64_t sum = 0;
    process.endpoints().for_each([&](const channel::Endpoint& peer) { sum += number(peer); });
    return sum;
  });
}

/// WHAT went over KIND, or waited at its sender to be fetched.
std::string traffic_sentence(std::string_view what, ChannelKind kind, std::string_view direction) {
  if (kind == ChannelKind::single_copy || kind == ChannelKind::ud_zero_copy ||
      kind == ChannelKind::tcp_zero_copy)
    return fmt::format("{} {} whose data the receiver fetches.", what, direction);
  return fmt::format("{} {} over {}; each frame of fetched data counts as one.", what, direction,
                     transport::channel_name(kind));
}

void add_traffic(Variables& variables, ChannelKind kind, std::string_view direction,
                 const Counters& (channel::Endpoint::*counters)(ChannelKind) const) {
  const std::string_view channel = transport::channel_name(kind);
  variables.push_back(
      {fmt::format("channel.{}.messages_{}", channel, direction),
       traffic_sentence("Messages", kind, direction), VariableClass::counter, Verbosity::user_basic,
       over_peers([=](const channel::Endpoint& peer) { return (peer.*counters)(kind).messages; })});
  variables.push_back(
      {fmt::format("channel.{}.bytes_{}", channel, direction),
       traffic_sentence("Bytes of messages", kind, direction), VariableClass::aggregate,
       Verbosity::user_basic,
       over_peers([=](const channel::Endpoint& peer) { return (peer.*counters)(kind).bytes; })});
}

void add_channels(Variables& variables) {
  for (std::size_t i = 0; i < transport::channel_kind_count; ++i) {
    const auto kind = static_cast<ChannelKind>(i);
    add_traffic(variables, kind, "sent", &channel::Endpoint::sent);
    add_traffic(variables, kind, "received", &channel::Endpoint::received);
  }
}

void read_sent_sizes(Process& process, std::span<std::uint64_t> numbers) {
  const base::SizeHistogram& sizes = process.backend().sent_sizes();
  for (std::size_t bin = 0; bin < numbers.size(); ++bin) numbers[bin] = sizes.messages(bin);
}

void add_sizes(Variables& variables) {
  variables.push_back({"p2p.sent_sizes",
                       "Messages sent, by size: element 0 counts the empty ones, element b those "
                       "of 2^(b-1) to 2^b - 1 bytes.",
                       VariableClass::counter, Verbosity::user_detail, read_sent_sizes,
                       base::SizeHistogram::bin_count, ReportSection::sent_sizes});
}

/// NAME is what the report calls it.
void add_protocol(Variables& variables, const std::string& name, std::string sentence,
                  std::function<std::uint64_t(Process&)> number) {
  variables.push_back({"p2p." + name, std::move(sentence), VariableClass::counter,
                       Verbosity::tuner_basic, one(std::move(number)), 1, ReportSection::protocols,
                       name});
}

void add_protocols(Variables& variables) {
  for (const p2p::SendEntry& entry : p2p::send_protocols) {
    add_protocol(
        variables, fmt::format("send.{}", entry.name),
        fmt::format("Messages sent by {}: {}.", entry.name, entry.sentence),
        [protocol = entry.protocol](Process& p) { return p.backend().sends_by(protocol); });
  }
  for (const p2p::FetchEntry& entry : p2p::fetch_protocols) {
    add_protocol(
        variables, fmt::format("fetch.{}", entry.name),
        fmt::format("Rendezvous whose data was fetched by {}: {}.", entry.name, entry.sentence),
        [protocol = entry.protocol](Process& p) { return p.backend().fetches_by(protocol); });
  }
  add_protocol(variables, "fetch.zero_copy_failed",
               "Such fetches without copies that did not succeed: the data was fetched by frames.",
               [](Process& p) { return p.backend().zero_copy_failures(); });
  add_protocol(variables, "unexpected", "Messages that came before their receive.",
               [](Process& p) { return p.backend().unexpected_messages(); });
}

void add_queues(Variables& variables) {
  variables.push_back({"p2p.posted_queue", "Receives that wait for their message now.",
                       VariableClass::level, Verbosity::tuner_basic,
                       one([](Process& p) { return p.backend().posted_now(); })});
  variables.push_back({"p2p.unexpected_queue", "Messages that wait for their receive now.",
                       VariableClass::level, Verbosity::tuner_basic,
                       one([](Process& p) { return p.backend().unexpected_now(); })});
}

const char* account_sentence(Account account) {
  switch (account) {
    case Account::segment:
      return "the shared-memory segment: its header and the shared receive queue";
    case Account::rings:
      return "rings granted to peers, in the segment";
    case Account::attachments:
      return "segments of peers that are mapped: their memory, our address space";
    case Account::endpoints:
      return "state for each peer that is talked to";
    case Account::requests:
      return "pools of request objects";
    case Account::matching:
      return "posted receives and headers of unexpected messages";
    case Account::unexpected:
      return "payload of unexpected messages";
    case Account::sender_fifo:
      return "frames that wait for room in a channel";
    case Account::reorder:
      return "frames that arrived ahead of their turn";
    case Account::collective:
      return "plans, temporaries and boards of collectives";
    case Account::groups:
      return "groups and communicators";
    case Account::kept_frames:
      return "copies of frames that were sent, until they are acknowledged";
    case Account::network_buffers:
      return "buffers registered with a network adapter, for datagrams that it sends and receives";
    case Account::connection_buffers:
      return "the same for peers that are connected, and their fast paths";
    case Account::registered:
      return "the program's memory that network adapters may reach";
    case Account::count_:
      break;
  }
  return "";
}

/// The ledger's numbers are never negative when nobody is in between two entries of it.
std::uint64_t not_negative(std::int64_t bytes) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
}

void add_accounts(Variables& variables) {
  for (std::size_t i = 0; i < memory::account_count; ++i) {
    const auto account = static_cast<Account>(i);
    const std::string name = memory::account_name(account);
    const char* const sentence = account_sentence(account);
    variables.push_back({fmt::format("ledger.{}.current_bytes", name),
                         fmt::format("Bytes in use now for {}.", sentence), VariableClass::level,
                         Verbosity::tuner_detail, one([account](Process& p) {
                           return not_negative(p.ledger().current_bytes(account));
                         }),
                         1, ReportSection::ledger_current, name});
    variables.push_back(
        {fmt::format("ledger.{}.peak_bytes", name),
         fmt::format("The most bytes that were in use at a time for {}.", sentence),
         VariableClass::high_watermark, Verbosity::tuner_detail,
         one([account](Process& p) { return not_negative(p.ledger().peak_bytes(account)); }), 1,
         ReportSection::ledger_peak, name});
  }
}

/// The cache of registrations charges each of them once.
void add_registrations(Variables& variables) {
  variables.push_back({"ledger.registrations",
                       "Times that memory of the program was registered with network adapters.",
                       VariableClass::counter, Verbosity::tuner_detail,
                       one([](Process& p) { return p.ledger().charges(Account::registered); })});
}

std::uint64_t sum_over_endpoints(Process& process,
                                 std::uint64_t (channel::Endpoint::*count)() const) {
  std::uint64_t total = 0;
  process.endpoints().for_each(
      [&](const channel::Endpoint& endpoint) { total += (endpoint.*count)(); });
  return total;
}

std::uint64_t sent_again(Process& process) {
  return sum_over_endpoints(process, &channel::Endpoint::sent_again);
}

std::uint64_t failed_checksum(Process& process) {
  return sum_over_endpoints(process, &channel::Endpoint::failed_checksum);
}

void add_delivery(Variables& variables) {
  const std::string name = "delivery.sent_again";
  variables.push_back({name,
                       "Frames that were sent once more, or asked after, for want of an answer.",
                       VariableClass::counter, Verbosity::tuner_basic, one(sent_again), 1,
                       ReportSection::protocols, name});
  const std::string failed = "delivery.failed_checksum";
  variables.push_back({failed,
                       "Frames and payloads that arrived, failed their checksum, and were dropped.",
                       VariableClass::counter, Verbosity::tuner_basic, one(failed_checksum), 1,
                       ReportSection::protocols, failed});
}

constexpr std::size_t rails_shown = std::size_t{2} * transport::rails_max;  // of two networks

/// Of the transports that count, in their order.
void read_rails(Process& process, std::span<std::uint64_t> numbers) {
  std::ranges::fill(numbers, 0);
  std::size_t rail = 0;
  for (const auto& transport : process.transports())
    for (const transport::Transport::Traffic& traffic : transport->traffic())
      if (rail < numbers.size()) numbers[rail++] = traffic.bytes_sent;
}

void add_rails(Variables& variables) {
  variables.push_back({"transport.rail_bytes_sent",
                       "Bytes sent by each port or interface, and written or read by operations.",
                       VariableClass::aggregate, Verbosity::tuner_detail, read_rails, rails_shown});
}

/// A number of all transports that need a connection for each peer.
PerformanceVariable::Read over_connections(
    std::uint64_t transport::Transport::PeerConnections::*number) {
  return one([number](Process& process) {
    std::uint64_t sum = 0;
    for (const auto& transport : process.transports()) sum += transport->connections().*number;
    return sum;
  });
}

void add_connections(Variables& variables) {
  using Connections = transport::Transport::PeerConnections;
  variables.push_back({"transport.connections",
                       "Peers with which there is a connection of TCP now.", VariableClass::level,
                       Verbosity::user_basic, over_connections(&Connections::now)});
  variables.push_back({"transport.connections_opened",
                       "Connections of TCP so far; those that were made anew count again.",
                       VariableClass::counter, Verbosity::user_basic,
                       over_connections(&Connections::opened)});
  variables.push_back({"transport.connections_rested",
                       "Connections of TCP that were ended because nobody used them.",
                       VariableClass::counter, Verbosity::user_basic,
                       over_connections(&Connections::rested)});
}

void add_waiting(Variables& variables) {
  variables.push_back({"wait.sleeps", "Times that this process went to sleep while it waited.",
                       VariableClass::counter, Verbosity::tuner_basic,
                       one([](Process& p) { return p.surroundings().sleeps(); }), 1,
                       ReportSection::sleeps});
  variables.push_back({"wait.wakes", "Times that this process woke another one that slept.",
                       VariableClass::counter, Verbosity::tuner_basic,
                       one([](Process& p) { return p.surroundings().wakes(); }), 1,
                       ReportSection::wakes});
  variables.push_back({"wait.core_moves",
                       "Times that this process moved to a less crowded core while it waited.",
                       VariableClass::counter, Verbosity::tuner_detail,
                       one([](Process& p) { return p.surroundings().core_moves(); })});
}

}  // namespace

std::vector<PerformanceVariable> make_performance_variables() {
  Variables variables;
  add_channels(variables);
  add_sizes(variables);
  add_protocols(variables);
  add_queues(variables);
  add_accounts(variables);
  add_registrations(variables);
  add_delivery(variables);
  add_rails(variables);
  add_connections(variables);
  add_waiting(variables);
  return variables;
}

void read_variable(const PerformanceVariable& variable, session::Process* process,
                   std::span<std::uint64_t> numbers) {
  if (process == nullptr) {
    std::ranges::fill(numbers, 0);
    return;
  }
  const p2p::LaneLock lock(process->engine());
  variable.read(*process, numbers);
}

}  // namespace hawser::tool
