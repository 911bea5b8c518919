// What a user can set of the verbs transport ("verbs.*"), with its defaults.
#pragma once

#include <cstdint>
#include <string>

namespace hawser::transport::verbs {

struct Settings {
  std::string adapter = "auto";             // "auto", "hardware" or "softrdma"
  std::string device;                       // by name; empty: the first with an active port
  std::int64_t ud_send_buffers = 64;        // for datagrams that were not acknowledged yet,
  std::int64_t ud_send_buffers_max = 4096;  // and up to so many where they are needed
  std::int64_t ud_queue_depth = 256;        // sendings under way
  std::int64_t ud_receive_buffers = 256;    // that wait for datagrams
};

}  // namespace hawser::transport::verbs
