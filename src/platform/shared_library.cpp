#include "platform/shared_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>

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

bool is_symbol_known(const char* name) { return ::dlsym(RTLD_DEFAULT, name) != nullptr; }

std::string folder_of_this_library() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&folder_of_this_library), &info) == 0) return ".";
  std::error_code failed;
  const auto path = std::filesystem::canonical(info.dli_fname, failed);
  return failed ? "." : path.parent_path().string();
}

}  // namespace hawser::platform
