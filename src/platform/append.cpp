#include "platform/append.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "platform/file.hpp"

namespace hawser::platform {

base::Result<void> append_to_file(const std::string& path, std::string_view text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (!file.is_open())
    return Error(ErrorClass::arg, fmt::format("opening '{}': {}", path, std::strerror(errno)));
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written < 0)
    return Error(ErrorClass::arg, fmt::format("writing to '{}': {}", path, std::strerror(errno)));
  if (static_cast<std::size_t>(written) != text.size()) {
    return Error(ErrorClass::arg, fmt::format("'{}' took {} of {} bytes; is its disk full?", path,
                                              written, text.size()));
  }
  return {};
}

}  // namespace hawser::platform
