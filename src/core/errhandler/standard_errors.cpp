#include "core/errhandler/standard_errors.hpp"

#include <algorithm>
#include <iterator>

namespace hawser::core {
namespace {

struct StandardError {
  int code;
  std::string_view text;
};

// Ascending, for the binary search.
constexpr StandardError standard_errors[] = {
    {0, "MPI_SUCCESS: no error"},
    {1, "MPI_ERR_BUFFER: invalid buffer address"},
    {2, "MPI_ERR_COUNT: invalid count"},
    {3, "MPI_ERR_TYPE: invalid or uncommitted datatype"},
    {4, "MPI_ERR_TAG: invalid tag"},
    {5, "MPI_ERR_COMM: invalid communicator"},
    {6, "MPI_ERR_RANK: invalid rank"},
    {7, "MPI_ERR_REQUEST: invalid request"},
    {8, "MPI_ERR_ROOT: invalid root"},
    {9, "MPI_ERR_GROUP: invalid group"},
    {10, "MPI_ERR_OP: invalid reduction operation"},
    {11, "MPI_ERR_TOPOLOGY: invalid or missing process topology"},
    {12, "MPI_ERR_DIMS: invalid number or extent of dimensions"},
    {13, "MPI_ERR_ARG: invalid argument"},
    {14, "MPI_ERR_UNKNOWN: unknown error"},
    {15, "MPI_ERR_TRUNCATE: the message is longer than the receive buffer"},
    {16, "MPI_ERR_OTHER: an error that has no class of its own"},
    {17, "MPI_ERR_INTERN: internal error of the MPI library"},
    {18, "MPI_ERR_PENDING: the operation has neither failed nor completed yet"},
    {19, "MPI_ERR_IN_STATUS: the error codes are in the statuses"},
    {20, "MPI_ERR_ACCESS: no permission to access the file"},
    {21, "MPI_ERR_AMODE: invalid access mode of a file"},
    {22, "MPI_ERR_ASSERT: invalid assertion about a window"},
    {23, "MPI_ERR_BAD_FILE: invalid file name"},
    {24, "MPI_ERR_BASE: invalid base address of memory"},
    {25, "MPI_ERR_CONVERSION: a user's data conversion function failed"},
    {26, "MPI_ERR_DISP: invalid displacement"},
    {27, "MPI_ERR_DUP_DATAREP: the data representation is already defined"},
    {28, "MPI_ERR_FILE_EXISTS: the file exists"},
    {29, "MPI_ERR_FILE_IN_USE: the file is open in some process"},
    {30, "MPI_ERR_FILE: invalid file handle"},
    {31, "MPI_ERR_INFO_KEY: the info key is empty or too long"},
    {32, "MPI_ERR_INFO_NOKEY: the info object has no such key"},
    {33, "MPI_ERR_INFO_VALUE: the info value is too long or invalid"},
    {34, "MPI_ERR_INFO: invalid info object"},
    {35, "MPI_ERR_IO: input or output failed"},
    {36, "MPI_ERR_KEYVAL: invalid attribute key"},
    {37, "MPI_ERR_LOCKTYPE: invalid lock type"},
    {38, "MPI_ERR_NAME: the service name is not published"},
    {39, "MPI_ERR_NO_MEM: out of memory"},
    {40, "MPI_ERR_NOT_SAME: an argument differs between the processes of a collective call"},
    {41, "MPI_ERR_NO_SPACE: no space left for the file"},
    {42, "MPI_ERR_NO_SUCH_FILE: the file does not exist"},
    {43, "MPI_ERR_PORT: invalid port name"},
    {44, "MPI_ERR_QUOTA: the file quota is exceeded"},
    {45, "MPI_ERR_READ_ONLY: the file or its file system is read-only"},
    {46, "MPI_ERR_RMA_ATTACH: the memory cannot be attached to the window"},
    {47, "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window"},
    {48, "MPI_ERR_RMA_RANGE: the target memory is not part of the window"},
    {49, "MPI_ERR_RMA_SHARED: the memory cannot be shared by the processes"},
    {50, "MPI_ERR_RMA_SYNC: wrong synchronisation of a window"},
    {51, "MPI_ERR_SERVICE: invalid service name to unpublish"},
    {52, "MPI_ERR_SIZE: invalid size"},
    {53, "MPI_ERR_SPAWN: processes could not be started"},
    {54, "MPI_ERR_UNSUPPORTED_DATAREP: unsupported data representation"},
    {55, "MPI_ERR_UNSUPPORTED_OPERATION: unsupported operation"},
    {56, "MPI_ERR_WIN: invalid window"},
    {57, "MPI_ERR_RMA_FLAVOR: the window is of the wrong flavor"},
    {58, "MPI_ERR_PROC_ABORTED: a process that takes part has aborted"},
    {59, "MPI_ERR_VALUE_TOO_LARGE: the value does not fit in the type of the argument"},
    {60, "MPI_ERR_SESSION: invalid session"},
    {61, "MPI_ERR_ERRHANDLER: invalid error handler"},
    {62, "MPI_ERR_ABI: the ABI does not offer what was asked for"},
    {1001, "MPI_T_ERR_CANNOT_INIT: the tool interface cannot be initialised"},
    {1002, "MPI_T_ERR_NOT_ACCESSIBLE: the tool information is not accessible now"},
    {1003, "MPI_T_ERR_NOT_INITIALIZED: the tool interface is not initialised"},
    {1004, "MPI_T_ERR_NOT_SUPPORTED: the tool interface does not support this"},
    {1005, "MPI_T_ERR_MEMORY: out of memory in the tool interface"},
    {1006, "MPI_T_ERR_INVALID: invalid use of the tool interface"},
    {1007, "MPI_T_ERR_INVALID_INDEX: invalid index of a variable or category"},
    {1008, "MPI_T_ERR_INVALID_ITEM: invalid index of an item of an enumeration"},
    {1009, "MPI_T_ERR_INVALID_SESSION: invalid tool session"},
    {1010, "MPI_T_ERR_INVALID_HANDLE: invalid handle of a variable or event"},
    {1011, "MPI_T_ERR_INVALID_NAME: no variable or category has this name"},
    {1012, "MPI_T_ERR_OUT_OF_HANDLES: no more variable handles are available"},
    {1013, "MPI_T_ERR_OUT_OF_SESSIONS: no more tool sessions are available"},
    {1014, "MPI_T_ERR_CVAR_SET_NOT_NOW: the control variable cannot be set at this time"},
    {1015, "MPI_T_ERR_CVAR_SET_NEVER: the control variable cannot be set until the program ends"},
    {1016, "MPI_T_ERR_PVAR_NO_WRITE: the performance variable is read-only"},
    {1017, "MPI_T_ERR_PVAR_NO_STARTSTOP: the performance variable cannot be started or stopped"},
    {1018, "MPI_T_ERR_PVAR_NO_ATOMIC: the performance variable has no atomic read and reset"},
    {2001, "MPIX_ERR_PROC_FAILED: a process that is needed for the operation has died"},
    {2002, "MPIX_ERR_PROC_FAILED_PENDING: a process that might have been the sender has died"},
    {2003, "MPIX_ERR_REVOKED: the communicator has been revoked"},
    {16383, "MPI_ERR_LASTCODE: the last error code of the standard"},
};

constexpr bool code_precedes(const StandardError& a, const StandardError& b) {
  return a.code < b.code;
}
static_assert(std::is_sorted(std::begin(standard_errors), std::end(standard_errors),
                             code_precedes));

}  // namespace

std::optional<std::string_view> standard_error_string(int code) {
  const StandardError* found =
      std::lower_bound(std::begin(standard_errors), std::end(standard_errors),
                       StandardError{code, {}}, code_precedes);
  if (found == std::end(standard_errors) || found->code != code) return std::nullopt;
  return found->text;
}

}  // namespace hawser::core
