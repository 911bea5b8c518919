#include "session/adapter.hpp"

#include <fmt/format.h>

#include <string_view>

#include "platform/file.hpp"
#include "platform/shared_library.hpp"

namespace hawser::session {

using base::Error;
using base::ErrorClass;
using base::Result;
using platform::SharedLibrary;

namespace {

/// Where the library and its components lie; programs lie beside it, in bin.
std::string library_folder() {
  std::string folder = platform::folder_of_this_library();
  constexpr std::string_view programs = "/bin";
  if (!folder.ends_with(programs)) return folder;
  return folder.substr(0, folder.size() - programs.size()) + "/" HAWSER_LIBRARY_FOLDER;
}

/// Whether softrdma's libibverbs is to be opened ahead of the system's.
bool wants_softrdma(std::string_view adapter) {
  if (adapter != "auto") return adapter == "softrdma";
  // A program that runs under `softrdma run`, or is linked to some libibverbs, has decided.
  return !platform::is_symbol_known("ibv_get_device_list") &&
         !platform::has_entries("/sys/class/infiniband");
}

}  // namespace

Result<const VerbsComponent*> open_verbs_component(const transport::verbs::Settings& settings) {
  const std::string folder = library_folder();
  if (wants_softrdma(settings.adapter)) {
    // The component's libibverbs.so.1 is then this one: the loader knows libraries by that name.
    HAWSER_TRY(SharedLibrary::open(fmt::format("{}/softrdma/libibverbs.so.1", folder)));
  }
  const auto library = SharedLibrary::open(fmt::format("{}/hawser/verbs.so", folder));
  if (!library) return library.error();
  const void* (*find)() = nullptr;
  HAWSER_TRY(library->find(transport::component_symbol, &find));
  const auto* component = static_cast<const VerbsComponent*>(find());
  if (std::string_view(component->build) != HAWSER_BUILD)
    return Error(ErrorClass::other,
                 fmt::format("{}/hawser/verbs.so is of another build of Hawser than its library; "
                             "install both together",
                             folder));
  return component;
}

}  // namespace hawser::session
