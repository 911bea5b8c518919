#include "platform/name_space.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "platform/file_identity.hpp"

namespace hawser::platform {

std::optional<std::uint64_t> name_space(NameSpace kind) {
  const char* const path = kind == NameSpace::pid ? "/proc/self/ns/pid" : "/proc/self/ns/net";
  const FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));  // NOLINT(*-vararg)
  return file_identity(file.get());
}

Result<FileDescriptor> open_descriptor_of(pid_t pid, int number) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, number);
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));  // NOLINT(*-vararg)
  if (!file.is_open())
    return Error(ErrorClass::other, fmt::format("open of {}: {}", path, std::strerror(errno)));
  return file;
}

}  // namespace hawser::platform
