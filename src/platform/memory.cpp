#include "platform/memory.hpp"

#include <sys/mman.h>

namespace hawser::platform {

void prefer_huge_pages(void* memory, std::size_t bytes) { ::madvise(memory, bytes, MADV_HUGEPAGE); }

}  // namespace hawser::platform
