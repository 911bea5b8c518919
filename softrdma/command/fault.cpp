#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "softrdma/command/commands.hpp"
#include "softrdma/fabric/fault_request.hpp"
#include "softrdma/fabric/host.hpp"

namespace softrdma::command {

using fabric::FaultAnswer;
using fabric::FaultKind;

namespace {

constexpr std::array<std::pair<std::string_view, FaultKind>, 3> kinds{
    {{"qp-error", FaultKind::queue_pair_error},
     {"port-down", FaultKind::port_down},
     {"port-up", FaultKind::port_up}}};

int complain(const std::string& sentence) {
  std::fprintf(stderr, "softrdma: %s\n", sentence.c_str());
  return 1;
}

std::uint32_t pid_of(const fabric::Host& host, std::uint16_t seat) {
  return host.seat_memory(seat).pid.load();
}

/// Of process PID; 0: of all, but for this one.
std::vector<std::uint16_t> seats_of(const fabric::Host& host, std::uint32_t pid) {
  std::vector<std::uint16_t> seats;
  for (std::uint16_t seat = 0; seat < host.seats_end(); ++seat)
    if (seat != host.seat() && host.is_alive(seat) && (pid == 0 || pid_of(host, seat) == pid))
      seats.push_back(seat);
  return seats;
}

/// What the process on SEAT made of it, as a sentence.
std::string told(const fabric::Host& host, std::uint16_t seat, const FaultOptions& options,
                 FaultAnswer answer) {
  const std::uint32_t pid = pid_of(host, seat);
  switch (answer) {
    case FaultAnswer::done:
      return fmt::format("process {}: {} {}", pid, options.what, options.number);
    case FaultAnswer::unknown_number:
      return fmt::format("process {} has no {} {}", pid,
                         options.what == "qp-error" ? "queue pair" : "port", options.number);
    case FaultAnswer::busy:
      return fmt::format("process {} is busy with the fault of another command", pid);
    case FaultAnswer::silence:
      break;
  }
  return fmt::format("process {} does not answer: it has not opened the device, or is stopped",
                     pid);
}

/// One that does what it is asked for is enough: processes may have a seat and no device.
int ask_all(const fabric::Host& host, const std::vector<std::uint16_t>& seats, FaultKind kind,
            const FaultOptions& options) {
  std::vector<std::string> refusals;
  bool was_done = false;
  for (const std::uint16_t seat : seats) {
    const FaultAnswer answer = ask_for_fault(host, seat, {kind, options.number});
    const std::string sentence = told(host, seat, options, answer);
    if (answer == FaultAnswer::done) {
      was_done = true;
      std::puts(sentence.c_str());
    } else {
      refusals.push_back(sentence);
    }
  }
  if (was_done) return 0;
  for (const std::string& sentence : refusals) complain(sentence);
  return 1;
}

}  // namespace

int fault(const FaultOptions& options) {
  const auto* const kind =
      std::ranges::find(kinds, options.what, &decltype(kinds)::value_type::first);
  if (kind == kinds.end())
    return complain(fmt::format("there is no fault '{}'; there are qp-error, port-down and port-up",
                                options.what));
  auto joined = fabric::Host::join(fmt::format("{}.{}", options.fabric, options.device));
  if (!joined.ok()) {
    std::fprintf(stderr, "%s\n", joined.error().sentence().c_str());
    return 1;
  }
  const fabric::Host& host = *joined.value();
  std::vector<std::uint16_t> seats = seats_of(host, options.pid);
  if (seats.empty())
    return complain(options.pid == 0
                        ? fmt::format("fabric '{}' has no process on this host", options.fabric)
                        : fmt::format("fabric '{}' has no process {} on this host", options.fabric,
                                      options.pid));
  if (kind->second == FaultKind::queue_pair_error) {
    const auto owner = host.owner_of(options.number);
    if (!owner || std::ranges::find(seats, *owner) == seats.end())
      return complain(fmt::format("{} of fabric '{}' has queue pair {}",
                                  options.pid == 0 ? "no process" : "not that process",
                                  options.fabric, options.number));
    seats = {*owner};
  }
  return ask_all(host, seats, kind->second, options);
}

}  // namespace softrdma::command
