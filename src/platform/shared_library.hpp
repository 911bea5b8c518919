// SharedLibrary: a library that is opened at run time, where it is needed and if it is there.
//
// Ownership: it stays in the process until that ends, since nobody knows what of it is still in
//            use: handlers, hooks, threads. So this is a view; copies are free.
// Errors:    sentences with the dynamic linker's reason.
#pragma once

#include <string>

#include "platform/file.hpp"

namespace hawser::platform {

class SharedLibrary {
 public:
  /// Opens FILE_NAME (as the dynamic linker looks for it) with all that it needs. Its symbols
  /// become nobody else's.
  static Result<SharedLibrary> open(const std::string& file_name);

  /// *FUNCTION becomes the function NAME of it or of a library that it needs.
  template <class Function>
  [[nodiscard]] Result<void> find(const std::string& name, Function** function) const {
    auto found = symbol(name);
    if (!found.ok()) return found.take_error();
    *function = reinterpret_cast<Function*>(*found);
    return {};
  }

 private:
  SharedLibrary(void* handle, std::string file_name)
      : handle_(handle), file_name_(std::move(file_name)) {}
  [[nodiscard]] Result<void*> symbol(const std::string& name) const;

  void* handle_;
  std::string file_name_;
};

/// Some library of the process, or the program, has symbol NAME for everyone.
bool is_symbol_known(const char* name);
/// The folder of the library, or program, that this code is part of.
std::string folder_of_this_library();

}  // namespace hawser::platform
