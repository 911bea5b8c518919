#include "hawser/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "hawser/table.hpp"
#include "tool/statistics_json.hpp"

namespace hawser::tools {
namespace {

using base::ChannelCounters;
using base::SizeHistogram;
using tool::PeerTraffic;
using tool::Statistics;

using Records = std::vector<Statistics>;

constexpr std::size_t top_peers_max = 3;
constexpr std::size_t bar_characters_max = 40;

struct Traffic {
  ChannelCounters sent;
  ChannelCounters received;

  void add(const PeerTraffic& traffic) {
    sent.add(traffic.sent);
    received.add(traffic.received);
  }
  [[nodiscard]] std::uint64_t messages() const { return sent.messages + received.messages; }
  [[nodiscard]] std::uint64_t bytes() const { return sent.bytes + received.bytes; }
};

/// A peer: the job that it is of, if that is another one, and its index there.
using Peer = std::pair<std::string, std::uint32_t>;

Peer peer_of(const PeerTraffic& traffic) { return {traffic.of_job, traffic.peer}; }

std::string text_of(const Peer& peer) {
  const auto& [job, index] = peer;
  if (job == tool::ended_jobs) return "others that have ended";
  return job.empty() ? fmt::format("{}", index) : fmt::format("{} of job {}", index, job);
}

std::string number(std::uint64_t value) { return fmt::format("{}", value); }

Table traffic_table(std::vector<Table::Column> key_columns) {
  for (const char* title : {"sent", "bytes", "received", "bytes"})
    key_columns.push_back({title, Align::right});
  return Table(std::move(key_columns));
}

void add_traffic_row(Table* table, std::vector<std::string> keys, const Traffic& traffic) {
  for (const ChannelCounters& counters : {traffic.sent, traffic.received}) {
    keys.push_back(number(counters.messages));
    keys.push_back(format_bytes(counters.bytes));
  }
  table->add_row(std::move(keys));
}

std::string channel_section(const Records& job) {
  Table by_rank = traffic_table({{"rank", Align::right}, {"channel"}, {"peers", Align::right}});
  std::map<std::string, Traffic> totals;
  Traffic all;
  for (const Statistics& record : job) {
    std::map<std::string, std::pair<Traffic, std::set<Peer>>> channels;
    for (const PeerTraffic& traffic : record.peers) {
      auto& [sum, peers] = channels[traffic.channel];
      sum.add(traffic);
      peers.insert(peer_of(traffic));
      totals[traffic.channel].add(traffic);
      all.add(traffic);
    }
    for (const auto& [channel, sum] : channels) {
      add_traffic_row(&by_rank, {number(record.self.index), channel, number(sum.second.size())},
                      sum.first);
    }
  }
  if (totals.empty()) return "\nNo messages\n";
  Table by_channel = traffic_table({{"channel"}});
  for (const auto& [channel, sum] : totals) add_traffic_row(&by_channel, {channel}, sum);
  if (totals.size() > 1) add_traffic_row(&by_channel, {"all"}, all);
  return fmt::format("\nMessages by channel\n{}\nMessages by rank and channel\n{}",
                     by_channel.text(), by_rank.text());
}

std::string top_peers(const Statistics& record) {
  std::map<Peer, Traffic> by_peer;
  for (const PeerTraffic& traffic : record.peers) by_peer[peer_of(traffic)].add(traffic);
  std::vector<std::pair<Peer, Traffic>> peers(by_peer.begin(), by_peer.end());
  std::stable_sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.bytes(), a.second.messages()) >
           std::pair(b.second.bytes(), b.second.messages());
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(peers.size(), top_peers_max); ++i) {
    const auto& [peer, traffic] = peers[i];
    text += fmt::format("{}{} ({}, {})", i == 0 ? "" : "; ", text_of(peer),
                        format_count(traffic.messages(), "message"), format_bytes(traffic.bytes()));
  }
  if (peers.size() > top_peers_max) text += fmt::format("; {} more", peers.size() - top_peers_max);
  return text;
}

std::string peer_section(const Records& job) {
  Table table({{"rank", Align::right}, {"busiest peers (messages and bytes, both directions)"}});
  bool has_peers = false;
  for (const Statistics& record : job) {
    if (record.peers.empty()) continue;
    table.add_row({number(record.self.index), top_peers(record)});
    has_peers = true;
  }
  return has_peers ? "\nPeers\n" + table.text() : "";
}

std::string rail_section(const Records& job) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> sums;
  for (const Statistics& record : job)
    for (const tool::RailTraffic& rail : record.rails)
      sums[{rail.transport, rail.port}] += rail.bytes_sent;
  if (sums.empty()) return "";
  Table table({{"rail"}, {"port"}, {"bytes sent", Align::right}});
  for (const auto& [rail, bytes] : sums)
    table.add_row({rail.first, rail.second, format_bytes(bytes)});
  return "\nRails\n" + table.text();
}

std::string range_text(std::size_t bin) {
  const std::uint64_t first = SizeHistogram::first_of_bin(bin);
  if (bin <= 1) return format_bytes(first);
  if (bin <= 10) return fmt::format("{}-{}", first, SizeHistogram::last_of_bin(bin));
  return fmt::format("from {}", format_bytes(first));
}

std::string histogram_section(const Records& job) {
  SizeHistogram sum;
  std::uint64_t most = 0;
  for (std::size_t bin = 0; bin < SizeHistogram::bin_count; ++bin) {
    for (const Statistics& record : job)
      sum.add_many(SizeHistogram::first_of_bin(bin), record.sent_sizes.messages(bin));
    most = std::max(most, sum.messages(bin));
  }
  if (most == 0) return "";
  Table table({{"bytes", Align::right}, {"messages", Align::right}, {""}});
  for (std::size_t bin = 0; bin < SizeHistogram::bin_count; ++bin) {
    const std::uint64_t messages = sum.messages(bin);
    if (messages == 0) continue;
    // Rounded up: what is there is seen.
    const double share = static_cast<double>(messages) / static_cast<double>(most);
    const auto length = static_cast<std::size_t>(share * (bar_characters_max - 1)) + 1;
    table.add_row({range_text(bin), number(messages), std::string(length, '#')});
  }
  return "\nSizes of the messages sent\n" + table.text();
}

std::string protocol_section(const Records& job) {
  std::map<std::string, std::uint64_t> sums;
  for (const Statistics& record : job)
    for (const tool::ProtocolCount& count : record.protocols)
      sums[count.protocol] += count.messages;
  if (sums.empty()) return "";
  Table table({{"protocol"}, {"messages", Align::right}});
  for (const auto& [protocol, messages] : sums) table.add_row({protocol, number(messages)});
  return "\nProtocols\n" + table.text();
}

/// A balance below zero is a bug in Hawser, and shown as one.
std::string format_balance(std::int64_t bytes) {
  return bytes < 0 ? fmt::format("{}", bytes) : format_bytes(static_cast<std::uint64_t>(bytes));
}

std::string ledger_section(const Records& job) {
  struct Sum {
    std::int64_t current = 0;
    std::int64_t peaks = 0;
    std::int64_t highest_peak = 0;
    std::uint32_t rank = 0;
  };
  std::map<std::string, Sum> sums;
  for (const Statistics& record : job) {
    for (const tool::AccountBytes& account : record.ledger) {
      Sum& sum = sums[account.account];
      sum.current += account.current_bytes;
      sum.peaks += account.peak_bytes;
      if (account.peak_bytes <= sum.highest_peak) continue;
      sum.highest_peak = account.peak_bytes;
      sum.rank = record.self.index;
    }
  }
  if (sums.empty()) return "";
  Table table({{"account"},
               {"at the end", Align::right},
               {"peaks, all ranks", Align::right},
               {"highest peak", Align::right},
               {"of rank", Align::right}});
  for (const auto& [account, sum] : sums) {
    table.add_row({account, format_balance(sum.current), format_balance(sum.peaks),
                   format_balance(sum.highest_peak), number(sum.rank)});
  }
  return "\nMemory\n" + table.text();
}

std::string waiting_section(const Records& job) {
  Table table({{"rank", Align::right},
               {"sleeps", Align::right},
               {"wakes of others", Align::right},
               {"seconds", Align::right}});
  for (const Statistics& record : job) {
    table.add_row({number(record.self.index), number(record.sleeps), number(record.wakes),
                   fmt::format("{:.3f}", static_cast<double>(record.elapsed_ns) / 1e9)});
  }
  return "\nWaiting\n" + table.text();
}

std::string parameter_section(const Records& job) {
  using Setting = std::pair<std::string, std::pair<std::string, std::string>>;
  std::map<Setting, std::vector<std::uint32_t>> ranks;
  for (const Statistics& record : job) {
    for (const tool::ChangedParameter& parameter : record.parameters) {
      ranks[{parameter.name, {parameter.value, parameter.source}}].push_back(record.self.index);
    }
  }
  if (ranks.empty()) return "";
  Table table({{"parameter"}, {"value"}, {"source"}, {"ranks"}});
  for (const auto& [setting, who] : ranks) {
    table.add_row({setting.first, setting.second.first, setting.second.second,
                   who.size() == job.size() ? "all" : fmt::format("{}", fmt::join(who, ", "))});
  }
  return "\nParameters that differ from their default\n" + table.text();
}

std::string job_header(const Records& job) {
  std::set<std::string> hosts;
  std::set<std::uint32_t> present;
  for (const Statistics& record : job) {
    hosts.insert(record.host);
    present.insert(record.self.index);
  }
  const Statistics& first = job.front();
  std::string text =
      fmt::format("Job {:016x}: {} on {}, Hawser {}\n", first.self.job,
                  format_count(first.job_size, "rank"), fmt::join(hosts, ", "), first.version);
  if (present.size() < first.job_size) {
    text += fmt::format("Only {} of them wrote statistics; the others did not finalize.\n",
                        present.size());
  }
  return text;
}

std::string job_text(Records job) {
  std::stable_sort(job.begin(), job.end(),
                   [](const auto& a, const auto& b) { return a.self < b.self; });
  return job_header(job) + channel_section(job) + rail_section(job) + peer_section(job) +
         histogram_section(job) + protocol_section(job) + ledger_section(job) +
         waiting_section(job) + parameter_section(job);
}

}  // namespace

base::Result<Records> read_records(std::istream& input, const std::string& name) {
  Records records;
  std::size_t line_number = 0;
  for (std::string line; std::getline(input, line);) {
    ++line_number;
    if (line.empty()) continue;
    base::Result<Statistics> record = tool::from_json_line(line);
    if (!record.ok()) {
      return base::Error(base::ErrorClass::arg, fmt::format("{}, line {}: {}", name, line_number,
                                                            record.error().sentence()));
    }
    records.push_back(std::move(*record));
  }
  if (records.empty())
    return base::Error(base::ErrorClass::arg, fmt::format("{} holds no record", name));
  return records;
}

std::string report_text(Records records) {
  std::vector<Records> jobs;
  for (Statistics& record : records) {
    const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const Records& other) {
      return other.front().self.job == record.self.job;
    });
    Records& target = job == jobs.end() ? jobs.emplace_back() : *job;
    target.push_back(std::move(record));
  }
  std::string text;
  for (Records& job : jobs) {
    if (!text.empty()) text += '\n';
    text += job_text(std::move(job));
  }
  return text;
}

int run_report(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    fmt::print(stderr, "hawser report: '{}' cannot be opened\n", path);
    return 1;
  }
  base::Result<Records> records = read_records(file, path);
  if (!records.ok()) {
    fmt::print(stderr, "hawser report: {}\n", records.error().sentence());
    return 1;
  }
  fmt::print("{}", report_text(std::move(*records)));
  return 0;
}

}  // namespace hawser::tools
