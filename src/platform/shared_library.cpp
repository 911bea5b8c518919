#include "platform/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace hawser::platform {

Result<SharedLibrary> SharedLibrary::open(const std::string& file_name) {
  // Everything is bound now: a symbol that is missing is an error here and no end of the process
  // later.
  void* const handle = ::dlopen(file_name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) return Error(ErrorClass::other, fmt::format("dlopen: {}", ::dlerror()));
  return SharedLibrary(handle, file_name);
}

Result<void*> SharedLibrary::symbol(const std::string& name) const {
  void* const found = ::dlsym(handle_, name.c_str());
  if (found == nullptr)
    return Error(ErrorClass::other, fmt::format("{} has no function {}", file_name_, name));
  return found;
}

}  // namespace hawser::platform
