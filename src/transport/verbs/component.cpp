// The one function that lib/hawser/verbs.so exports.
#include "transport/component.hpp"

#include <fmt/format.h>

#include "transport/verbs/verbs_transport.hpp"

namespace hawser::transport::verbs {

namespace {

Result<std::string> probe(const Settings& settings) {
  const Result<Port> port = Port::open(settings);
  if (!port) return port.error();
  return fmt::format("queue pairs of {}, port {}, MTU {}", port->device, port->number,
                     mtu_bytes(port->mtu));
}

Result<std::unique_ptr<Transport>> open(const Services& services, const Settings& settings) {
  auto transport = VerbsTransport::open(
      {services.self, services.key, services.ledger, services.sink, services.clock}, settings);
  if (!transport) return transport.take_error();
  return std::unique_ptr<Transport>(std::move(*transport));
}

constexpr Component<Settings> component{HAWSER_BUILD, probe, open};

}  // namespace

}  // namespace hawser::transport::verbs

extern "C" [[gnu::visibility("default")]] const void* hawser_component() {
  return &hawser::transport::verbs::component;
}
