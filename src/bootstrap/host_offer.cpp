#include "bootstrap/host_offer.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

namespace hawser::bootstrap {

namespace {

constexpr int hexadecimal = 16;

/// Takes a number and what ends it, a dot or the end, from the front of TEXT.
std::optional<std::uint64_t> take_number(std::string_view& text, bool is_last) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, hexadecimal);
  if (failure != std::errc() || (is_last ? rest != end : rest == end || *rest != '.'))
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()) + (is_last ? 0 : 1));
  return number;
}

}  // namespace

std::string to_text(const HostOffer& offer) {
  return fmt::format("{:x}.{:x}.{:x}.{:x}.{:x}", offer.pid, offer.descriptor, offer.cookie,
                     offer.pid_space, offer.network_space);
}

std::optional<HostOffer> parse_offer(std::string_view text) {
  std::array<std::uint64_t, 5> numbers{};
  for (std::uint64_t& number : numbers) {
    const auto taken = take_number(text, &number == &numbers.back());
    if (!taken) return std::nullopt;
    number = *taken;
  }
  constexpr std::uint64_t positive_max = std::numeric_limits<std::int32_t>::max();
  if (numbers[0] < 1 || numbers[0] > positive_max || numbers[1] > positive_max) return std::nullopt;
  return HostOffer{static_cast<std::int32_t>(numbers[0]), static_cast<std::int32_t>(numbers[1]),
                   numbers[2], numbers[3], numbers[4]};
}

}  // namespace hawser::bootstrap
