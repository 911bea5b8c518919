#include "bootstrap/pmix/library.hpp"

#include <fmt/format.h>

#include <string_view>

#include "platform/shared_library.hpp"

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Result;

Result<PmixLibrary> PmixLibrary::open() {
  const auto library = platform::SharedLibrary::open(file_name);
  if (!library)
    return Error(ErrorClass::other,
                 fmt::format("{} cannot be opened ({}), which launchers that offer PMIx need; "
                             "install libpmix2 (Debian) or pmix (Red Hat, Spack), or put its "
                             "folder into LD_LIBRARY_PATH",
                             file_name, library.error().sentence()));
  PmixLibrary functions{};
  HAWSER_TRY(library->find("PMIx_Init", &functions.init));
  HAWSER_TRY(library->find("PMIx_Finalize", &functions.finalize));
  HAWSER_TRY(library->find("PMIx_Abort", &functions.abort));
  HAWSER_TRY(library->find("PMIx_Put", &functions.put));
  HAWSER_TRY(library->find("PMIx_Commit", &functions.commit));
  HAWSER_TRY(library->find("PMIx_Fence", &functions.fence));
  HAWSER_TRY(library->find("PMIx_Fence_nb", &functions.start_fence));
  HAWSER_TRY(library->find("PMIx_Get", &functions.get));
  HAWSER_TRY(library->find("PMIx_Spawn_nb", &functions.start_spawn));
  HAWSER_TRY(library->find("PMIx_Publish_nb", &functions.start_publish));
  HAWSER_TRY(library->find("PMIx_Lookup_nb", &functions.start_lookup));
  HAWSER_TRY(library->find("PMIx_Unpublish_nb", &functions.start_unpublish));
  HAWSER_TRY(library->find("PMIx_Register_event_handler", &functions.register_handler));
  HAWSER_TRY(library->find("PMIx_Value_destruct", &functions.destroy_value));
  HAWSER_TRY(library->find("PMIx_Error_string", &functions.error_text));
  HAWSER_TRY(library->find("PMIx_Get_version", &functions.version));
  return functions;
}

std::string PmixLibrary::version_text() const {
  // What follows, after a comma or in parentheses, tells of its repository and of the standard.
  std::string_view text = version();
  text = text.substr(0, text.find_first_of(",("));
  return std::string(text.substr(0, text.find_last_not_of(' ') + 1));
}

}  // namespace hawser::bootstrap
