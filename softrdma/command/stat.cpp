#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

#include "softrdma/command/commands.hpp"
#include "softrdma/fabric/host.hpp"

namespace softrdma::command {
namespace {

struct Column {
  const char* name;
  int width;
  std::uint64_t fabric::Statistics::*member;
};

constexpr std::array columns{
    Column{"qps", 7, &fabric::Statistics::queue_pairs},
    Column{"regions", 8, &fabric::Statistics::regions},
    Column{"reg-bytes", 13, &fabric::Statistics::region_bytes},
    Column{"sent", 11, &fabric::Statistics::packets_sent},
    Column{"received", 11, &fabric::Statistics::packets_received},
    Column{"read-bytes", 15, &fabric::Statistics::bytes_read},
    Column{"direct-bytes", 15, &fabric::Statistics::bytes_direct},
    Column{"udp-out", 10, &fabric::Statistics::udp_sent},
    Column{"udp-in", 10, &fabric::Statistics::udp_received},
    Column{"repeated", 9, &fabric::Statistics::repeated},
    Column{"timeouts", 9, &fabric::Statistics::timeouts},
    Column{"not-ready", 10, &fabric::Statistics::not_ready},
    Column{"congested", 10, &fabric::Statistics::notices},
    Column{"dropped", 8, &fabric::Statistics::dropped},
    Column{"bad-icrc", 9, &fabric::Statistics::wrong_checksum},
    Column{"ctx-miss", 10, &fabric::Statistics::context_misses},
};

void print_head() {
  std::string line = fmt::format("{:>8}", "pid");
  for (const Column& column : columns) line += fmt::format("{:>{}}", column.name, column.width);
  std::puts(line.c_str());
}

void print_rows(const fabric::Host& host) {
  for (std::uint16_t seat = 0; seat < host.seats_end(); ++seat) {
    if (seat == host.seat() || !host.is_alive(seat)) continue;
    const fabric::Statistics statistics = host.statistics_of(seat);
    std::string line = fmt::format("{:>8}", host.seat_memory(seat).pid.load());
    for (const Column& column : columns)
      line += fmt::format("{:>{}}", statistics.*column.member, column.width);
    std::puts(line.c_str());
  }
  std::fflush(stdout);
}

}  // namespace

int stat(const StatOptions& options) {
  auto host = fabric::Host::join(fmt::format("{}.{}", options.fabric, options.device));
  if (!host.ok()) {
    std::fprintf(stderr, "%s\n", host.error().sentence().c_str());
    return 1;
  }
  print_head();
  for (std::uint64_t row = 0;; ++row) {
    print_rows(*host.value());
    if (options.count != 0 && row + 1 == options.count) return 0;
    ::usleep(static_cast<useconds_t>(options.interval_s * 1e6));
  }
}

}  // namespace softrdma::command
