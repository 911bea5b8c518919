#include "binding/generated/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>

#include "base/cache_line.hpp"
#include "platform/clock.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"
#include "session/process.hpp"
#include "session/version.hpp"

namespace hawser::calls {

namespace {

constexpr std::size_t alignment_bytes_max = std::size_t{1} << 30;

/// The hint mpi_minimum_memory_alignment (MPI-5.0 §9.2), if it is a power of two; else a cache
/// line.
std::size_t alignment_of(const core::Info* info) {
  std::size_t asked = 0;
  if (info != nullptr) {
    if (const auto text = info->get("mpi_minimum_memory_alignment")) {
      std::from_chars(text->data(), text->data() + text->size(), asked);
    }
  }
  const bool is_usable = std::has_single_bit(asked) && asked <= alignment_bytes_max;
  return is_usable ? std::max(asked, base::cache_line_bytes) : base::cache_line_bytes;
}

}  // namespace

Result<void> get_version(Runtime&, int& version, int& subversion) {
  version = MPI_VERSION;
  subversion = MPI_SUBVERSION;
  return {};
}

Result<void> get_library_version(Runtime&, StringOut version, int& resultlen) {
  resultlen = version.set(fmt::format("Hawser {}", session::version()));
  return {};
}

Result<void> get_processor_name(Runtime&, StringOut name, int& resultlen) {
  resultlen = name.set(platform::host_name());
  return {};
}

/// Of the resources that MPI_Comm_split_type knows by type, those that this process is bound to.
Result<void> get_hw_resource_info(Runtime&, HandleOut<core::Info> hw_info) {
  auto info = base::make_ref<core::Info>();
  HAWSER_TRY(info->set("mpi_shared_memory", "true"));
  hw_info.set(std::move(info));
  return {};
}

double wtime() { return static_cast<double>(platform::monotonic_ns()) * 1e-9; }

double wtick() { return 1e-9; }

/// Adapters register whole pages: what is as long as one shares none with others, and is noted.
Result<void> alloc_mem(Runtime& runtime, Count size, core::Info* info, void** baseptr) {
  const auto wanted = static_cast<std::size_t>(size);
  const std::size_t page = platform::page_bytes();
  const std::size_t alignment = std::max(alignment_of(info), wanted < page ? 1 : page);
  const std::size_t bytes = (wanted + alignment - 1) & ~(alignment - 1);
  *baseptr = bytes == 0 ? nullptr : std::aligned_alloc(alignment, bytes);
  if (bytes == 0) return {};
  if (*baseptr == nullptr)
    return base::Error(base::ErrorClass::no_mem, fmt::format("no memory for {} bytes", size));
  if (bytes >= page) runtime.process()->note_allocated(*baseptr, bytes);
  return {};
}

Result<void> free_mem(Runtime& runtime, void* base) {
  if (base != nullptr) runtime.process()->note_freed(base);
  std::free(base);
  return {};
}

}  // namespace hawser::calls
