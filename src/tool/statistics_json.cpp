#include "tool/statistics_json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

namespace hawser::tool {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::SizeHistogram;
using Json = nlohmann::ordered_json;

Json write_peers(const std::vector<PeerTraffic>& peers) {
  Json list = Json::array();
  for (const PeerTraffic& traffic : peers) {
    list.push_back({{"peer", traffic.peer},
                    {"channel", traffic.channel},
                    {"messages_sent", traffic.sent.messages},
                    {"bytes_sent", traffic.sent.bytes},
                    {"messages_received", traffic.received.messages},
                    {"bytes_received", traffic.received.bytes}});
    if (!traffic.of_job.empty()) list.back()["of_job"] = traffic.of_job;
  }
  return list;
}

Json write_connections(const std::vector<DedicatedChannels>& connections) {
  Json list = Json::array();
  for (const DedicatedChannels& each : connections) {
    list.push_back({{"channel", each.channel},
                    {"now", each.now},
                    {"most", each.most},
                    {"opened", each.opened},
                    {"used", each.used},
                    {"rested", each.rested}});
  }
  return list;
}

Json write_rails(const std::vector<RailTraffic>& rails) {
  Json list = Json::array();
  for (const RailTraffic& each : rails)
    list.push_back(
        {{"transport", each.transport}, {"port", each.port}, {"bytes_sent", each.bytes_sent}});
  return list;
}

Json write_histogram(const SizeHistogram& histogram) {
  Json list = Json::array();
  for (std::size_t bin = 0; bin < SizeHistogram::bin_count; ++bin) {
    if (histogram.messages(bin) == 0) continue;
    list.push_back({{"from_bytes", SizeHistogram::first_of_bin(bin)},
                    {"to_bytes", SizeHistogram::last_of_bin(bin)},
                    {"messages", histogram.messages(bin)}});
  }
  return list;
}

Json write_protocols(const std::vector<ProtocolCount>& protocols) {
  Json object = Json::object();
  for (const ProtocolCount& count : protocols) object[count.protocol] = count.messages;
  return object;
}

Json write_ledger(const std::vector<AccountBytes>& accounts) {
  Json object = Json::object();
  for (const AccountBytes& account : accounts) {
    object[account.account] = {{"current_bytes", account.current_bytes},
                               {"peak_bytes", account.peak_bytes}};
  }
  return object;
}

Json write_parameters(const std::vector<ChangedParameter>& parameters) {
  Json list = Json::array();
  for (const ChangedParameter& parameter : parameters) {
    list.push_back({{"name", parameter.name},
                    {"value", parameter.value},
                    {"default", parameter.default_value},
                    {"source", parameter.source}});
  }
  return list;
}

// The readers below throw what nlohmann::json throws; from_json_line catches it.

std::uint64_t read_job(const Json& record) {
  const std::string text = record.at("job");
  std::uint64_t job = 0;
  const char* end = text.data() + text.size();
  const auto [rest, reason] = std::from_chars(text.data(), end, job, 16);
  if (reason != std::errc() || rest != end)
    throw Json::other_error::create(0, "'job' is not a hexadecimal number", &record);
  return job;
}

std::vector<PeerTraffic> read_peers(const Json& list) {
  std::vector<PeerTraffic> peers;
  for (const Json& entry : list) {
    peers.push_back({entry.at("peer"),
                     entry.at("channel"),
                     {entry.at("messages_sent"), entry.at("bytes_sent")},
                     {entry.at("messages_received"), entry.at("bytes_received")},
                     entry.value("of_job", std::string())});
  }
  return peers;
}

std::vector<DedicatedChannels> read_connections(const Json& list) {
  std::vector<DedicatedChannels> connections;
  for (const Json& entry : list)
    connections.push_back({entry.at("channel"), entry.at("now"), entry.at("most"),
                           entry.at("opened"), entry.at("used"),
                           entry.value("rested", std::uint64_t{0})});
  return connections;
}

std::vector<RailTraffic> read_rails(const Json& list) {
  std::vector<RailTraffic> rails;
  for (const Json& entry : list)
    rails.push_back({entry.at("transport"), entry.at("port"), entry.at("bytes_sent")});
  return rails;
}

SizeHistogram read_histogram(const Json& list) {
  SizeHistogram histogram;
  for (const Json& entry : list) histogram.add_many(entry.at("from_bytes"), entry.at("messages"));
  return histogram;
}

std::vector<ProtocolCount> read_protocols(const Json& object) {
  std::vector<ProtocolCount> protocols;
  for (const auto& [name, messages] : object.items()) protocols.push_back({name, messages});
  return protocols;
}

std::vector<AccountBytes> read_ledger(const Json& object) {
  std::vector<AccountBytes> accounts;
  for (const auto& [name, bytes] : object.items())
    accounts.push_back({name, bytes.at("current_bytes"), bytes.at("peak_bytes")});
  return accounts;
}

std::vector<ChangedParameter> read_parameters(const Json& list) {
  std::vector<ChangedParameter> parameters;
  for (const Json& entry : list)
    parameters.push_back(
        {entry.at("name"), entry.at("value"), entry.at("default"), entry.at("source")});
  return parameters;
}

Statistics read_record(const Json& record) {
  const int format = record.at("format");
  if (format != statistics_format) {
    throw Json::other_error::create(
        0, fmt::format("its format is {}, this reader knows {}", format, statistics_format),
        &record);
  }
  Statistics statistics;
  statistics.version = record.at("hawser");
  statistics.self = {read_job(record), record.at("rank"), record.at("epoch")};
  statistics.job_size = record.at("ranks");
  statistics.host = record.at("host");
  statistics.pid = record.at("pid");
  statistics.elapsed_ns = record.at("elapsed_ns");
  statistics.peers = read_peers(record.at("peers"));
  // Records of older versions have none.
  if (record.contains("connections"))
    statistics.connections = read_connections(record.at("connections"));
  if (record.contains("rails")) statistics.rails = read_rails(record.at("rails"));
  statistics.sent_sizes = read_histogram(record.at("sent_sizes"));
  statistics.protocols = read_protocols(record.at("protocols"));
  statistics.ledger = read_ledger(record.at("ledger"));
  statistics.sleeps = record.at("sleeps");
  statistics.wakes = record.at("wakes");
  statistics.parameters = read_parameters(record.at("parameters"));
  return statistics;
}

}  // namespace

std::string to_json_line(const Statistics& statistics) {
  const Json record = {{"format", statistics_format},
                       {"hawser", statistics.version},
                       {"job", job_text(statistics.self.job)},
                       {"rank", statistics.self.index},
                       {"epoch", statistics.self.epoch},
                       {"ranks", statistics.job_size},
                       {"host", statistics.host},
                       {"pid", statistics.pid},
                       {"elapsed_ns", statistics.elapsed_ns},
                       {"peers", write_peers(statistics.peers)},
                       {"connections", write_connections(statistics.connections)},
                       {"rails", write_rails(statistics.rails)},
                       {"sent_sizes", write_histogram(statistics.sent_sizes)},
                       {"protocols", write_protocols(statistics.protocols)},
                       {"ledger", write_ledger(statistics.ledger)},
                       {"sleeps", statistics.sleeps},
                       {"wakes", statistics.wakes},
                       {"parameters", write_parameters(statistics.parameters)}};
  // A path or host name need not be UTF-8; what is not becomes a replacement character.
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Result<Statistics> from_json_line(std::string_view line) {
  const Json record = Json::parse(line, nullptr, false);
  if (record.is_discarded()) return Error(ErrorClass::arg, "not a line of JSON");
  try {
    return read_record(record);
  } catch (const Json::exception& exception) {
    // "[json.exception.NAME.NUMBER] SENTENCE"
    const std::string_view what = exception.what();
    const std::size_t bracket = what.find("] ");
    return Error(ErrorClass::arg,
                 fmt::format("not a record of statistics: {}",
                             bracket == std::string_view::npos ? what : what.substr(bracket + 2)));
  }
}

}  // namespace hawser::tool
