// Statistics: what one process did, as plain numbers, and how they leave it (HAWSER_STATS).
//
// Purpose:   a snapshot that the owner of a Process fills when it finalizes. It knows nothing of
//            channels and engines: they are counts under names here.
// Ownership: a value. Threads: none.
// Format:    README.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.hpp"
#include "base/ids.hpp"
#include "base/parameters.hpp"
#include "base/result.hpp"

namespace hawser::tool {

/// What this process and one peer sent each other over one kind of channel.
struct PeerTraffic {
  std::uint32_t peer = 0;  // index in its job
  std::string channel;
  base::ChannelCounters sent;
  base::ChannelCounters received;
  std::string of_job = {};  // empty: the job of the record
};

/// What stands as the job of processes of other jobs that have ended and were forgotten, which are
/// counted together.
inline constexpr const char* ended_jobs = "ended";

/// The dedicated channels of one kind that this process asked for, or that serve both directions;
/// or the connections of a transport that needs one for each peer.
struct DedicatedChannels {
  std::string channel;
  std::uint64_t now = 0;
  std::uint64_t most = 0;    // at a time
  std::uint64_t opened = 0;  // so far
  std::uint64_t used = 0;    // peers that one of them carried messages to or from
  std::uint64_t rested = 0;  // of `opened`, ended because nobody used them
};

/// What this process sent, and wrote and read by operations, over one port or interface.
struct RailTraffic {
  std::string transport;  // under whose name it is published
  std::string port;
  std::uint64_t bytes_sent = 0;
};

struct AccountBytes {
  std::string account;
  std::int64_t current_bytes = 0;
  std::int64_t peak_bytes = 0;
};

struct ProtocolCount {
  std::string protocol;
  std::uint64_t messages = 0;
};

/// A parameter that has not its default value.
struct ChangedParameter {
  std::string name;
  std::string value;
  std::string default_value;
  std::string source;  // with its origin: "file /etc/hawser.toml:3"
};

struct Statistics {
  std::string version;
  base::Identity self;
  std::uint32_t job_size = 1;
  std::string host;
  std::int64_t pid = 0;
  std::uint64_t elapsed_ns = 0;  // from initialization to this snapshot

  std::vector<PeerTraffic> peers;
  std::vector<DedicatedChannels> connections;
  std::vector<RailTraffic> rails;
  base::SizeHistogram sent_sizes;
  std::vector<ProtocolCount> protocols;
  std::vector<AccountBytes> ledger;
  std::uint64_t sleeps = 0;  // times that this process went to sleep waiting
  std::uint64_t wakes = 0;   // times that it woke another
  std::vector<ChangedParameter> parameters;
};

/// 64 bits as text: readers that keep numbers as doubles would round them.
std::string job_text(std::uint64_t job);
/// Version, host and pid of this process; the rest is empty.
Statistics start_statistics();
std::vector<ChangedParameter> changed_parameters(const base::ParameterRegistry& registry);

/// Appends STATISTICS as one line to the file that PATTERN names: "%r" in it becomes the index of
/// the process, "%%" a percent sign.
base::Result<void> write_statistics(const Statistics& statistics, std::string_view pattern);
std::string expand_file_pattern(std::string_view pattern, std::uint32_t index);

}  // namespace hawser::tool
