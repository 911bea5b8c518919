#include "binding/generated/info.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "platform/process.hpp"

namespace hawser::calls {

namespace {

using base::Error;
using base::ErrorClass;

Result<void> check_writable(const core::Info& info) {
  if (info.handle() != raw_handle(MPI_INFO_ENV)) return {};
  return Error(ErrorClass::info, "MPI_INFO_ENV can't be changed");
}

Result<void> check_key(std::string_view key) {
  if (!key.empty() && key.size() <= core::Info::key_bytes_max) return {};
  return Error(ErrorClass::info_key, fmt::format("a key of {} bytes; it must have 1 to {}",
                                                 key.size(), core::Info::key_bytes_max));
}

/// Sets a key of the environment; what is too long for an info object is left out.
void describe(core::Info& info, std::string_view key, const std::string& value) {
  if (value.size() <= core::Info::value_bytes_max) static_cast<void>(info.set(key, value));
}

}  // namespace

Result<void> info_create(Runtime&, HandleOut<core::Info> info) {
  info.set(base::make_ref<core::Info>());
  return {};
}

Result<void> info_create_env(Runtime& runtime, int argc, char** argv, HandleOut<core::Info> info) {
  auto created = runtime.predefined<core::Info>(raw_handle(MPI_INFO_ENV)).duplicate();
  if (argv != nullptr && argc > 0 && argv[0] != nullptr) {
    describe(*created, "command", argv[0]);
    std::string arguments;
    for (int i = 1; i < argc && argv[i] != nullptr; ++i) {
      arguments += (arguments.empty() ? "" : " ") + std::string(argv[i]);
    }
    if (!arguments.empty()) describe(*created, "argv", arguments);
  }
  std::error_code ignored;
  describe(*created, "wdir", std::filesystem::current_path(ignored).string());
  describe(*created, "host", platform::host_name());
  info.set(std::move(created));
  return {};
}

Result<void> info_dup(Runtime&, core::Info& info, HandleOut<core::Info> newinfo) {
  newinfo.set(info.duplicate());
  return {};
}

Result<void> info_free(Runtime&, HandleInOut<core::Info> info) {
  HAWSER_TRY(check_writable(*info));
  static_cast<void>(info.take());
  return {};
}

Result<void> info_set(Runtime&, core::Info& info, std::string_view key, std::string_view value) {
  HAWSER_TRY(check_writable(info));
  return info.set(key, value);
}

Result<void> info_delete(Runtime&, core::Info& info, std::string_view key) {
  HAWSER_TRY(check_writable(info));
  HAWSER_TRY(check_key(key));
  return info.erase(key);
}

Result<void> info_get(Runtime&, core::Info& info, std::string_view key, int, StringOut value,
                      int& flag) {
  HAWSER_TRY(check_key(key));
  const auto found = info.get(key);
  if (found) value.set(*found);
  flag = found ? 1 : 0;
  return {};
}

Result<void> info_get_string(Runtime&, core::Info& info, std::string_view key, int& buflen,
                             StringOut value, int& flag) {
  HAWSER_TRY(check_key(key));
  const auto found = info.get(key);
  flag = found ? 1 : 0;
  if (found) {
    if (buflen > 0) value.set(*found);
    buflen = static_cast<int>(found->size()) + 1;
  }
  return {};
}

Result<void> info_get_valuelen(Runtime&, core::Info& info, std::string_view key, int& valuelen,
                               int& flag) {
  HAWSER_TRY(check_key(key));
  const auto found = info.get(key);
  if (found) valuelen = static_cast<int>(found->size());
  flag = found ? 1 : 0;
  return {};
}

Result<void> info_get_nkeys(Runtime&, core::Info& info, int& nkeys) {
  nkeys = info.size();
  return {};
}

Result<void> info_get_nthkey(Runtime&, core::Info& info, int n, StringOut key) {
  auto found = info.key(n);
  if (!found.ok()) return found.take_error();
  key.set(found.value());
  return {};
}

}  // namespace hawser::calls
