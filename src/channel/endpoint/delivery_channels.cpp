#include "channel/endpoint/delivery_channels.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/closest_match.hpp"

namespace hawser::channel {

namespace {

using base::Error;
using base::ErrorClass;
using transport::ChannelKind;

constexpr std::array frame_kinds = {
    ChannelKind::shared_queue, ChannelKind::ring,    ChannelKind::ud_send,  ChannelKind::rc_send,
    ChannelKind::rc_fast_path, ChannelKind::rc_rdma, ChannelKind::xrc_send, ChannelKind::tcp};
constexpr std::array checked_kinds = {
    ChannelKind::shared_queue, ChannelKind::ring,         ChannelKind::single_copy,
    ChannelKind::ud_send,      ChannelKind::rc_send,      ChannelKind::rc_fast_path,
    ChannelKind::rc_rdma,      ChannelKind::ud_zero_copy, ChannelKind::xrc_send,
    ChannelKind::tcp,          ChannelKind::tcp_zero_copy};

std::string_view trimmed(std::string_view word) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = word.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return word.substr(first, word.find_last_not_of(blanks) - first + 1);
}

/// A parameter that is NONE, "on" or a list of names of KINDS.
class ListParser {
 public:
  ListParser(std::string_view parameter, std::string_view none, std::span<const ChannelKind> kinds)
      : parameter_(parameter), none_(none), kinds_(kinds) {}

  [[nodiscard]] Result<ChannelSet> parse(std::string_view text) const {
    ChannelSet set;
    if (trimmed(text) == none_) return set;
    if (trimmed(text) == "on") {
      for (const ChannelKind kind : kinds_) set.add(kind);
      return set;
    }
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      HAWSER_TRY(add(trimmed(text.substr(at, end - at)), &set));
      at = end + 1;
    }
    return set;
  }

 private:
  [[nodiscard]] Result<void> add(std::string_view word, ChannelSet* set) const {
    for (const ChannelKind kind : kinds_) {
      if (transport::channel_name(kind) != word) continue;
      set->add(kind);
      return {};
    }
    std::vector<std::string> known = {std::string(none_), "on"};
    for (const ChannelKind kind : kinds_) known.emplace_back(transport::channel_name(kind));
    return Error(ErrorClass::arg,
                 fmt::format("{}: '{}' is none of {}{}", parameter_, word, fmt::join(known, ", "),
                             base::did_you_mean(word, known)));
  }

  const std::string_view parameter_;
  const std::string_view none_;
  const std::span<const ChannelKind> kinds_;
};

ChannelSet intersection(ChannelSet one, ChannelSet other) {
  ChannelSet both;
  for (const ChannelKind kind : checked_kinds)
    if (one.has(kind) && other.has(kind)) both.add(kind);
  return both;
}

}  // namespace

Result<DeliveryChannels> DeliveryChannels::parse(const AssuranceSettings& settings) {
  if (settings.flip_one_in == 1)
    return Error(
        ErrorClass::arg,
        "delivery.flip_one_in is 1, and no frame would ever arrive; it is 0 or at least 2");
  const auto checked = ListParser("delivery.crc", "off", checked_kinds).parse(settings.crc);
  if (!checked) return checked.error();
  const auto acknowledged =
      ListParser("delivery.acknowledged", "needed", frame_kinds).parse(settings.acknowledged);
  if (!acknowledged) return acknowledged.error();
  return DeliveryChannels{*checked, *acknowledged};
}

DeliveryChannels DeliveryChannels::of_link(ChannelSet possible) const {
  if (possible.has(ChannelKind::self)) return {};
  return {intersection(checked, possible), intersection(acknowledged, possible)};
}

bool DeliveryChannels::need_assurance() const {
  const auto is_named = [this](ChannelKind kind) {
    return checked.has(kind) || acknowledged.has(kind);
  };
  return std::ranges::any_of(frame_kinds, is_named);
}

}  // namespace hawser::channel
