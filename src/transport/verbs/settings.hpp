// What a user can set of the verbs transport ("verbs.*"), with its defaults.
#pragma once

#include <cstdint>
#include <string>

namespace hawser::transport::verbs {

/// Most slots that the ring of a fast path can have.
inline constexpr std::int64_t ring_slots_max = 64;

struct Settings {
  std::string adapter = "auto";             // "auto", "hardware" or "softrdma"
  std::string device;                       // by name, with commas; empty: all with active ports
  std::int64_t rails_max = 4;               // ports that are used
  std::int64_t ud_send_buffers = 64;        // for datagrams that were not acknowledged yet,
  std::int64_t ud_send_buffers_max = 4096;  // and up to so many where they are needed
  std::int64_t ud_queue_depth = 256;        // sendings under way
  std::int64_t ud_receive_buffers = 256;    // that wait for datagrams

  // Connections.
  std::int64_t rc_eager_bytes = 8256;            // the longest frame with high priority
  std::int64_t rc_large_bytes = 32832;           // the longest frame at all
  std::int64_t rc_send_buffers = 16;             // for eager frames, as above,
  std::int64_t rc_send_buffers_max = 1024;       // and at most
  std::int64_t rc_large_send_buffers = 4;        // for large ones
  std::int64_t rc_large_send_buffers_max = 256;  // likewise
  std::int64_t rc_queue_depth = 128;             // work under way by one queue pair
  bool srq = true;                               // receive buffers that all connections share
  std::int64_t rc_receive_buffers = 64;          // b of log2(n) * k + b, for n connections
  std::int64_t rc_receive_buffers_growth = 32;   // its k
  std::int64_t rc_credits = 8;                   // where nothing is shared: what a peer may send,
  std::int64_t rc_credits_max = 64;              // and if it uses that

  // Queue pairs that all peers of a host share.
  std::int64_t xrc_hosts_max = 16;  // hosts with one at a time

  // Fast paths.
  std::int64_t fast_path_slots = 32;     // of the ring of one peer
  std::int64_t fast_path_bytes = 2072;   // the longest frame in it
  std::string fast_path_check = "auto";  // "auto", "on" or "off"

  // Operations on the program's memory.
  std::int64_t pinned_bytes_max = std::int64_t{1} << 32;
  bool registration_cache = true;

  // Messages without copies and without a connection.
  std::int64_t zero_copy_queue_pairs = 16;     // that may come at a time
  std::int64_t zero_copy_receive_depth = 256;  // datagrams of a part that may come at once
  std::int64_t zero_copy_send_depth = 256;     // datagrams under way from this process
  std::int64_t zero_copy_first_timeout_ns = 1'000'000'000;
  std::int64_t zero_copy_timeout_ns = 50'000'000;

  // Not a parameter: what has left is told by a descriptor of its own.
  bool tells_departures = false;

  // For tests: one in so many frames that are sent breaks its connection; 0: none.
  std::int64_t break_one_in = 0;
};

}  // namespace hawser::transport::verbs
