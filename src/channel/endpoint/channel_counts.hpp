// ChannelCounts: what crossed the channels to and from one peer. It has room for those only that
// something has crossed, since a peer has few of all the kinds that there are.
//
// Ownership: a member of Endpoint. Threads: the lane lock.
// Charged:   an entry for each channel, to the ledger, for the life of the endpoint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/counters.hpp"
#include "memory/ledger/ledger.hpp"
#include "transport/transport.hpp"

namespace hawser::channel {

class ChannelCounts {
 public:
  struct Entry {
    base::ChannelCounters sent;
    base::ChannelCounters received;
  };

  explicit ChannelCounts(memory::Ledger& ledger) : ledger_(ledger) { places_.fill(none); }

  /// To be counted in, until the next channel is.
  [[nodiscard]] Entry& of(transport::ChannelKind kind) {
    const std::uint8_t place = places_[static_cast<std::size_t>(kind)];
    return place == none ? add(kind) : entries_[place];
  }
  [[nodiscard]] const Entry& operator[](transport::ChannelKind kind) const {
    static constexpr Entry nothing{};
    const std::uint8_t place = places_[static_cast<std::size_t>(kind)];
    return place == none ? nothing : entries_[place];
  }
  /// Of all channels that were counted.
  [[nodiscard]] std::span<const Entry> all() const { return {entries_.get(), count_}; }

 private:
  static constexpr std::uint8_t none = 0xff;

  [[gnu::noinline]] Entry& add(transport::ChannelKind kind) {
    auto entries = std::make_unique<Entry[]>(count_ + 1U);
    for (std::size_t i = 0; i < count_; ++i) entries[i] = entries_[i];
    entries_ = std::move(entries);
    ledger_.charge(memory::Account::endpoints, sizeof(Entry));
    places_[static_cast<std::size_t>(kind)] = count_;
    return entries_[count_++];
  }

  memory::Ledger& ledger_;
  std::unique_ptr<Entry[]> entries_;
  std::array<std::uint8_t, transport::channel_kind_count> places_;
  std::uint8_t count_ = 0;
};

}  // namespace hawser::channel
