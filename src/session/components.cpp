#include "session/components.hpp"

#include <fmt/format.h>

#include "base/result.hpp"
#include "bootstrap/pmix/library.hpp"
#include "platform/file.hpp"
#include "session/adapter.hpp"
#include "transport/tcp/address.hpp"

namespace hawser::session {
namespace {

base::Result<void> try_shared_memory() {
  const std::size_t bytes = platform::page_bytes();
  base::Result<platform::FileDescriptor> file = platform::create_anonymous_file("hawser", bytes);
  if (!file.ok()) return file.take_error();
  HAWSER_TRY(platform::allocate_pages(*file, 0, bytes));
  HAWSER_TRY(platform::Mapping::shared(*file, 0, bytes));
  return {};
}

ComponentStatus probe_shm() {
  const base::Result<void> tried = try_shared_memory();
  if (tried.ok()) return {"shm", "transport", true, "shared memory between processes of one host"};
  return {"shm", "transport", false,
          fmt::format("shared memory cannot be had here ({}); run 'hawser doctor'",
                      tried.error().sentence())};
}

ComponentStatus probe_verbs() {
  const transport::verbs::Settings settings;
  const auto component = open_verbs_component(settings);
  const auto found =
      component ? (*component)->probe(settings) : base::Result<std::string>(component.error());
  return {"verbs", "transport", found.ok(), found ? *found : found.error().sentence()};
}

ComponentStatus probe_tcp() {
  const auto all = platform::interface_addresses();
  const auto chosen = all ? transport::tcp::choose_addresses(*all, {})
                          : base::Result<std::vector<platform::InterfaceAddress>>(all.error());
  if (!chosen) return {"tcp", "transport", false, chosen.error().sentence()};
  std::string sentence = "connections to";
  for (const platform::InterfaceAddress& each : *chosen)
    sentence += fmt::format("{} {} ({})", &each == &chosen->front() ? "" : ",",
                            text_of(each.address), each.interface);
  return {"tcp", "transport", true, sentence};
}

ComponentStatus probe_pmix() {
  const auto library = bootstrap::PmixLibrary::open();
  if (!library) return {"pmix", "bootstrap", false, library.error().sentence()};
  return {"pmix", "bootstrap", true,
          fmt::format("prterun, Open MPI's mpirun, srun --mpi=pmix, Flux; by {}",
                      library->version_text())};
}

ComponentStatus not_built(const char* name, const char* kind) {
  return {name, kind, false, "not built yet"};
}

}  // namespace

std::vector<ComponentStatus> probe_components() {
  return {{"self", "transport", true, "messages of a process to itself"},
          probe_shm(),
          probe_tcp(),
          probe_verbs(),
          not_built("libfabric", "tagged"),
          {"local", "bootstrap", true, "mpirun of Hawser, on one host"},
          probe_pmix(),
          {"pmi", "bootstrap", true, "PMI-1: mpiexec of MPICH and Intel MPI, srun --mpi=pmi2"}};
}

}  // namespace hawser::session
