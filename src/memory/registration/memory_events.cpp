#include "memory/registration/memory_events.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "memory/registration/ucm_interface.hpp"
#include "platform/file.hpp"
#include "platform/shared_library.hpp"
#include "platform/signal_handlers.hpp"

namespace hawser::memory {

struct UcmFunctions {
  UcmSetEventHandler* set_event_handler;
  UcmUnsetEventHandler* unset_event_handler;
  UcsStatusString* status_string;
};

namespace {

constexpr const char* library_name = "libucs.so.0";

constexpr int events_we_need = ucm_event_vm_unmapped | ucm_event_mremap | ucm_event_madvise;

/// Below 0: before the call is made, for the events that are of one call.
constexpr int before_the_call = -1;

/// Discards pages, but libucm does not count it among the advice that does: MADV_DONTNEED_LOCKED
/// (Linux 5.18) and MADV_GUARD_INSTALL (6.13).
constexpr std::array more_advice_that_discards = {24, 102};

Result<UcmFunctions> find_ucm() {
  const platform::KeptSignalHandlers kept;
  auto library = platform::SharedLibrary::open(library_name);
  if (!library.ok()) return library.take_error();
  UcmFunctions ucm{};
  HAWSER_TRY(library->find("ucm_set_event_handler", &ucm.set_event_handler));
  HAWSER_TRY(library->find("ucm_unset_event_handler", &ucm.unset_event_handler));
  HAWSER_TRY(library->find("ucs_status_string", &ucm.status_string));
  return ucm;
}

Result<UcmFunctions> open_ucm() {
  auto ucm = find_ucm();
  if (ucm.ok()) return ucm;
  return Error(ErrorClass::other,
               fmt::format("memory events: {}; install UCX (libucx0), and registered memory can be "
                           "kept between messages",
                           ucm.error().sentence()));
}

Result<void> listen(const UcmFunctions& ucm, UcmCallback* callback, void* argument) {
  const UcsStatus status =
      ucm.set_event_handler(events_we_need, before_the_call, callback, argument);
  if (status == 0) return {};
  return Error(ErrorClass::other,
               fmt::format("memory events: libucm can't watch memory ({}); UCX_MEM_EVENTS and "
                           "UCX_MEM_MMAP_HOOK_MODE must not switch it off",
                           ucm.status_string(status)));
}

void hear_nothing(int, UcmEvent*, void*) {}

}  // namespace

MemoryEvents::MemoryEvents(RegistrationCache& cache, std::unique_ptr<const UcmFunctions> ucm)
    : cache_(cache), ucm_(std::move(ucm)) {}

Result<void> MemoryEvents::prepare() {
  const auto ucm = open_ucm();
  if (!ucm.ok()) return ucm.error();
  HAWSER_TRY(listen(*ucm, &hear_nothing, nullptr));
  ucm->unset_event_handler(events_we_need, &hear_nothing, nullptr);
  return {};
}

Result<std::unique_ptr<MemoryEvents>> MemoryEvents::start(RegistrationCache& cache) {
  auto ucm = open_ucm();
  if (!ucm.ok()) return ucm.take_error();
  std::unique_ptr<MemoryEvents> events(
      new MemoryEvents(cache, std::make_unique<const UcmFunctions>(*ucm)));
  HAWSER_TRY(listen(*events->ucm_, &MemoryEvents::on_event, events.get()));
  HAWSER_TRY(events->check());
  return events;
}

MemoryEvents::~MemoryEvents() {
  ucm_->unset_event_handler(events_we_need, &MemoryEvents::on_event, this);
}

/// The program may have told libucm that it calls it itself, and then does not.
Result<void> MemoryEvents::check() const {
  { const auto page = platform::Mapping::reserve(platform::page_bytes()); }
  if (has_heard_.load(std::memory_order_relaxed)) return {};
  return Error(ErrorClass::other,
               "memory events: libucm says nothing when memory is unmapped; nobody may have made "
               "that an external event (ucm_set_external_event)");
}

void MemoryEvents::on_event(int type, UcmEvent* event, void* self) {
  static_cast<MemoryEvents*>(self)->tell(type, *event);
}

/// Inside of the program's call, with locks of the heap held: no memory, no waiting.
void MemoryEvents::tell(int type, const UcmEvent& event) {
  if (!has_heard_.load(std::memory_order_relaxed))
    has_heard_.store(true, std::memory_order_relaxed);
  if (type == ucm_event_vm_unmapped) {
    if (event.vm_unmapped.bytes == 0) return cache_.invalidate_everything();
    return cache_.invalidate(event.vm_unmapped.address, event.vm_unmapped.bytes);
  }
  if (type == ucm_event_mremap) {
    // What is moved comes as unmapped; what it is moved over does not, nor do older ones say where.
    if ((event.mremap.flags & MREMAP_FIXED) != 0) cache_.invalidate_everything();
    return;
  }
  if (std::ranges::find(more_advice_that_discards, event.madvise.advice) !=
      more_advice_that_discards.end())
    cache_.invalidate(event.madvise.address, event.madvise.bytes);
}

}  // namespace hawser::memory
