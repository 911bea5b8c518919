// Advice to the kernel about this process's own memory.
#pragma once

#include <cstddef>

namespace hawser::platform {

/// Asks for huge pages behind MEMORY; a wish, without an answer.
void prefer_huge_pages(void* memory, std::size_t bytes);

}  // namespace hawser::platform
