#include "softrdma/verbs/strict_mode.hpp"

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

namespace softrdma::verbs {

using hawser::platform::ChangedMemory;
using hawser::platform::MemoryChange;

namespace {

/// A program that goes on for ever must not fill a disk.
constexpr int sentences_max = 100;

memory::Change change_of(MemoryChange change) {
  switch (change) {
    case MemoryChange::unmapped:
      return memory::Change::unmapped;
    case MemoryChange::moved:
      return memory::Change::moved;
    case MemoryChange::discarded:
      break;
  }
  return memory::Change::discarded;
}

const char* text_of(memory::Change change) {
  switch (change) {
    case memory::Change::unmapped:
      return "unmapped";
    case memory::Change::moved:
      return "moved by mremap";
    case memory::Change::discarded:
      break;
  }
  return "discarded by madvise";
}

void say(const std::string& sentence) {
  std::fprintf(stderr, "softrdma: process %d, strict mode: %s\n", static_cast<int>(::getpid()),
               sentence.c_str());
}

}  // namespace

StrictMode::StrictMode(hawser::platform::MemoryWatch& watch, device::Device& device,
                       Attachment& attachment)
    : watch_(watch), device_(device), attachment_(attachment), position_(watch.position()) {
  device.regions().observe(*this);
  watch.listen(*this);
}

StrictMode::~StrictMode() { watch_.ignore(*this); }

void StrictMode::before_registration(std::span<const std::byte> memory, unsigned access) {
  watch_.settle();
  before_access();
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) return;
  const auto watched = watch_.watch(memory);
  if (watched.ok() || told_of_unwatched_) return;
  told_of_unwatched_ = true;
  say(fmt::format(
      "the region at {} of {} bytes can't be watched, and others may follow that can't; "
      "nobody will tell if their memory is unmapped: {}",
      fmt::ptr(memory.data()), memory.size(), watched.error().sentence()));
}

void StrictMode::before_access() {
  std::array<ChangedMemory, 16> changes;
  for (std::size_t count; (count = watch_.take(&position_, changes)) > 0;)
    for (const ChangedMemory& changed : std::span(changes).first(count)) {
      const bool has_any = device_.regions().mark_stale(
          {.begin = changed.begin, .end = changed.end, .change = change_of(changed.change)});
      // Packets that name it may wait for whoever reads it.
      if (has_any)
        device_.withdraw(
            {reinterpret_cast<const std::byte*>(changed.begin), changed.end - changed.begin});
    }
}

void StrictMode::on_stale_access(const memory::StaleAccess& access) {
  if (sentences_ >= sentences_max) return;
  ++sentences_;
  const memory::Region& region = access.region;
  say(
      fmt::format("an access to {} bytes at {:#x} with key {:#x} fails, as {:#x} to {:#x} of its "
                  "region ({} bytes at {}) was {} after it was registered; it has to be registered "
                  "again after that{}",
                  access.bytes, access.address, access.key, access.part.begin, access.part.end,
                  region.bytes, fmt::ptr(region.memory), text_of(access.part.change),
                  sentences_ == sentences_max ? " (more accesses that fail are not told)" : ""));
}

}  // namespace softrdma::verbs
