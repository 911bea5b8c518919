// For tests: the first bytes of the functions of libc by which memory comes and goes, as they are
// now. Hooks like libucm's change them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "platform/shared_library.hpp"

namespace hawser::memory {

inline constexpr std::array functions_of_memory = {"mmap", "munmap", "mremap", "madvise",
                                                   "brk",  "sbrk",   "shmat",  "shmdt"};
using CodeOfLibc = std::array<std::array<unsigned char, 16>, functions_of_memory.size()>;

inline CodeOfLibc code_of_libc() {
  CodeOfLibc code{};
  const auto libc = platform::SharedLibrary::open("libc.so.6");
  for (std::size_t i = 0; i < code.size(); ++i) {
    void (*function)() = nullptr;
    const bool is_found = libc.ok() && libc->find(functions_of_memory[i], &function).ok();
    EXPECT_TRUE(is_found) << functions_of_memory[i];
    if (is_found) std::memcpy(&code[i], reinterpret_cast<const void*>(function), sizeof(code[i]));
  }
  return code;
}

}  // namespace hawser::memory
