// DescriptorSet: several descriptors that are waited for as one.
//
// Ownership: of a descriptor of its own; its members must outlive it. Threads: any.
#pragma once

#include <span>

#include "platform/file.hpp"

namespace hawser::platform {

class DescriptorSet {
 public:
  static Result<DescriptorSet> make(std::span<const int> members);

  /// Readable while one of the members is.
  [[nodiscard]] int descriptor() const { return set_.get(); }

 private:
  explicit DescriptorSet(FileDescriptor set) : set_(std::move(set)) {}
  FileDescriptor set_;
};

}  // namespace hawser::platform
