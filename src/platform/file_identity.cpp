#include "platform/file_identity.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/ids.hpp"
#include "platform/file.hpp"

namespace hawser::platform {

namespace {

/// What the kernel drew when it started; nothing if it does not say.
std::optional<std::uint64_t> start_of_kernel() {
  const FileDescriptor file(
      ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));  // NOLINT(*-vararg)
  std::array<char, 64> text{};
  const ssize_t length = file.is_open() ? ::read(file.get(), text.data(), text.size()) : -1;
  if (length <= 0) return std::nullopt;
  std::uint64_t mixed = 0;
  for (const char each : std::span(text).first(static_cast<std::size_t>(length)))
    mixed = base::mix64(mixed ^ static_cast<unsigned char>(each));
  return mixed;
}

}  // namespace

std::optional<std::uint64_t> file_identity(int descriptor) {
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return std::nullopt;
  const auto kernel = start_of_kernel();
  if (!kernel) return std::nullopt;
  const std::uint64_t mixed = base::mix64(base::mix64(*kernel ^ status.st_dev) ^ status.st_ino);
  return std::max<std::uint64_t>(mixed, 1);
}

}  // namespace hawser::platform
