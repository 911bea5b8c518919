// PmixLibrary: the functions of libpmix, opened at run time where a launcher offers PMIx.
//
// Any library of the ABI generation 2 will do (OpenPMIx 4 and 5); its structures are those of the
// header. Ownership: a view; the library stays in the process.
#pragma once

#include <pmix.h>

#include <string>

#include "base/result.hpp"

namespace hawser::bootstrap {

struct PmixLibrary {
  /// What the dynamic linker looks for.
  static constexpr const char* file_name = "libpmix.so.2";
  /// MPI_ERR_OTHER if it is not installed, with what to install.
  static base::Result<PmixLibrary> open();

  /// "OpenPMIx 4.2.2".
  [[nodiscard]] std::string version_text() const;

  decltype(&PMIx_Init) init;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Abort) abort;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence) fence;
  decltype(&PMIx_Fence_nb) start_fence;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Spawn_nb) start_spawn;
  decltype(&PMIx_Publish_nb) start_publish;
  decltype(&PMIx_Lookup_nb) start_lookup;
  decltype(&PMIx_Unpublish_nb) start_unpublish;
  decltype(&PMIx_Register_event_handler) register_handler;
  decltype(&PMIx_Value_destruct) destroy_value;
  decltype(&PMIx_Error_string) error_text;
  decltype(&PMIx_Get_version) version;
};

}  // namespace hawser::bootstrap
