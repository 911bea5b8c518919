// RecordingRegistrar: a device for tests. It knows what is registered and refuses on demand.
#pragma once

#include <fmt/format.h>

#include <map>

#include "memory/registration/address_range.hpp"
#include "memory/registration/registrar.hpp"

namespace hawser::memory {

class RecordingRegistrar final : public Registrar {
 public:
  Result<RegistrationHandle> add(std::uintptr_t address, std::size_t bytes) override {
    ++asked;
    if (registered_bytes + bytes > room_bytes)
      return Error(ErrorClass::no_mem, "the device has no room");
    const AddressRange pages{address, address + bytes};
    if (refused.overlaps(pages))
      return Error(ErrorClass::buffer, fmt::format("no memory at {:#x}", refused.begin));
    registered_bytes += bytes;
    registered.emplace(++last_handle, pages);
    return last_handle;
  }
  void remove(RegistrationHandle handle) override {
    const auto found = registered.find(handle);
    if (found == registered.end()) {
      ++unknown_removed;
      return;
    }
    registered_bytes -= found->second.bytes();
    registered.erase(found);
  }

  [[nodiscard]] bool covers(RegistrationHandle handle, const AddressRange& range) const {
    const auto found = registered.find(handle);
    return found != registered.end() && found->second.covers(range);
  }

  std::map<RegistrationHandle, AddressRange> registered;
  std::size_t registered_bytes = 0;
  RegistrationHandle last_handle = 0;
  int asked = 0;
  int unknown_removed = 0;
  std::size_t room_bytes = SIZE_MAX;
  AddressRange refused{};
};

}  // namespace hawser::memory
