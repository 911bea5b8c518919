#include "session/components.hpp"

#include <fmt/format.h>

#include "base/result.hpp"
#include "platform/file.hpp"
#include "session/adapter.hpp"

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

ComponentStatus not_built(const char* name, const char* kind) {
  return {name, kind, false, "not built yet"};
}

}  // namespace

std::vector<ComponentStatus> probe_components() {
  return {{"self", "transport", true, "messages of a process to itself"},
          probe_shm(),
          not_built("tcp", "transport"),
          probe_verbs(),
          not_built("libfabric", "tagged")};
}

}  // namespace hawser::session
