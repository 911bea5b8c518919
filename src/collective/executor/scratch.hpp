// Scratch: temporary memory that lives as long as one collective operation.
//
// Small requests of a blocking call are served from the object itself, which stands on the stack.
// Memory is not initialised and is aligned for any type.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/ids.hpp"

namespace hawser::collective {

template <std::size_t inline_bytes>
class Scratch {
 public:
  std::byte* allocate(base::Count bytes) {
    constexpr std::size_t alignment = alignof(std::max_align_t);
    const std::size_t needed = (static_cast<std::size_t>(bytes) + alignment - 1) & ~(alignment - 1);
    if (needed <= inline_bytes - used_) {
      std::byte* memory = inline_.data() + used_;
      used_ += needed;
      return memory;
    }
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(needed));
    return blocks_.back().get();
  }

 private:
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  alignas(std::max_align_t) std::array<std::byte, inline_bytes> inline_;
};

}  // namespace hawser::collective
