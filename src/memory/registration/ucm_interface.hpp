// What we use of the binary interface of libucm, as its header <ucm/api/ucm.h> declares it. It has
// been the same from UCX 1.12 to 1.18: later ones only append to what is here (mremap's new
// address, 1.14).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hawser::memory {

/// Types of events, which are also bits of a set.
inline constexpr int ucm_event_mremap = 1 << 2;
inline constexpr int ucm_event_madvise = 1 << 6;
inline constexpr int ucm_event_vm_unmapped = 1 << 17;

/// The member that the type of the event says.
union UcmEvent {
  struct {
    void* result;
    std::uintptr_t address;
    std::size_t old_bytes;
    std::size_t new_bytes;
    int flags;
  } mremap;
  struct {
    int result;
    std::uintptr_t address;
    std::size_t bytes;
    int advice;
  } madvise;
  /// Comes before the call is made, whatever the priority of who listens.
  struct {
    std::uintptr_t address;
    std::size_t bytes;  // 0: libucm does not know
  } vm_unmapped;
};

/// ucs_status_t is an enumeration of one byte; 0 is success.
using UcsStatus = std::int8_t;
using UcmCallback = void(int type, UcmEvent* event, void* argument);
using UcmSetEventHandler = UcsStatus(int events, int priority, UcmCallback* callback,
                                     void* argument);
/// Returns when no callback with ARGUMENT runs any more.
using UcmUnsetEventHandler = void(int events, UcmCallback* callback, void* argument);
using UcsStatusString = const char*(UcsStatus status);

}  // namespace hawser::memory
