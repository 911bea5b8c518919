// The one function that lib/hawser/verbs.so exports.
#include "transport/component.hpp"

#include <fmt/format.h>

#include <iterator>

#include "transport/verbs/verbs_transport.hpp"

namespace hawser::transport::verbs {

namespace {

Result<std::string> probe(const Settings& settings) {
  const auto ports = Port::open_all(settings);
  if (!ports) return ports.error();
  std::string sentence = "queue pairs of";
  for (const Port& port : *ports)
    sentence += fmt::format("{} {}, port {}, MTU {}", &port == &ports->front() ? "" : ";",
                            port.device, port.number, mtu_bytes(port.mtu));
  return sentence;
}

Result<std::vector<std::unique_ptr<Transport>>> open(const Services& services,
                                                     const Settings& settings) {
  auto rails = VerbsTransport::open_all({services.self, services.key, services.ledger,
                                         services.sink, services.clock, services.host_file},
                                        settings);
  if (!rails) return rails.take_error();
  return std::vector<std::unique_ptr<Transport>>(std::make_move_iterator(rails->begin()),
                                                 std::make_move_iterator(rails->end()));
}

constexpr Component<Settings> component{HAWSER_BUILD, probe, open};

}  // namespace

}  // namespace hawser::transport::verbs

extern "C" [[gnu::visibility("default")]] const void* hawser_component() {
  return &hawser::transport::verbs::component;
}
