#include "transport/tcp/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ranges>

namespace hawser::transport::tcp {

namespace {

constexpr std::uint8_t address_version = 1;

struct AddressHeader {
  std::uint8_t version = address_version;
  std::uint8_t count = 0;
  std::uint16_t port = 0;
  std::uint32_t reserved = 0;
  std::uint64_t host_mark = 0;
};
static_assert(sizeof(AddressHeader) == 16);

/// A word of tcp.include or tcp.exclude: an interface, or a subnet.
struct Selector {
  std::string interface;
  IpAddress subnet;
  unsigned prefix_bits = 0;

  [[nodiscard]] bool matches(const InterfaceAddress& each) const {
    return interface.empty() ? platform::are_in_one_subnet(subnet, each.address, prefix_bits)
                             : interface == each.interface;
  }
};

bool is_interface_name(std::string_view word) {
  constexpr std::size_t bytes_max = 15;
  constexpr std::string_view others = "-_.@";
  return !word.empty() && word.size() <= bytes_max && std::ranges::all_of(word, [&](char each) {
    return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
           (each >= 'A' && each <= 'Z') || others.find(each) != std::string_view::npos;
  });
}

std::string_view without_blanks(std::string_view word) {
  while (word.starts_with(' ')) word.remove_prefix(1);
  while (word.ends_with(' ')) word.remove_suffix(1);
  return word;
}

/// "10.0.0.0/8", or an address, which is a subnet of its own.
std::optional<Selector> parse_subnet(std::string_view word) {
  const std::size_t slash = word.find('/');
  const std::optional<IpAddress> address = platform::parse_ip_address(word.substr(0, slash));
  if (!address) return std::nullopt;
  const unsigned bits_max = address->is_v6 ? 128 : 32;
  unsigned bits = bits_max;
  if (slash != std::string_view::npos) {
    const std::string_view text = word.substr(slash + 1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
    if (error != std::errc() || end != text.data() + text.size() || bits > bits_max)
      return std::nullopt;
  }
  return Selector{{}, *address, bits};
}

Result<std::vector<Selector>> parse_selectors(std::string_view parameter, std::string_view text) {
  std::vector<Selector> selectors;
  if (text.empty()) return selectors;
  for (const auto part : std::views::split(text, ',')) {
    const std::string_view word = without_blanks({part.begin(), part.end()});
    if (const auto subnet = parse_subnet(word)) {
      selectors.push_back(*subnet);
    } else if (is_interface_name(word)) {
      selectors.push_back({std::string(word), {}, 0});
    } else {
      return Error(ErrorClass::arg,
                   fmt::format("{}: '{}' is neither an interface like eth0 nor a subnet like "
                               "10.0.0.0/8",
                               parameter, word));
    }
  }
  return selectors;
}

bool any_matches(const std::vector<Selector>& selectors, const InterfaceAddress& each) {
  return std::ranges::any_of(selectors, [&](const Selector& one) { return one.matches(each); });
}

std::string list_of(const std::vector<InterfaceAddress>& all) {
  std::string list;
  for (const InterfaceAddress& each : all)
    list += fmt::format("{}{} {}/{}", list.empty() ? "" : ", ", each.interface,
                        text_of(each.address), each.prefix_bits);
  return list.empty() ? "none" : list;
}

}  // namespace

std::vector<std::byte> bytes_of(const Address& address) {
  std::vector<std::byte> bytes(sizeof(AddressHeader));
  AddressHeader header{.port = address.port, .host_mark = address.host_mark};
  for (const IpAddress& each : address.addresses) {
    const auto significant = std::as_bytes(each.significant());
    if (bytes.size() + 1 + significant.size() > Address::bytes_max) break;
    bytes.push_back(std::byte{each.is_v6 ? std::uint8_t{6} : std::uint8_t{4}});
    bytes.insert(bytes.end(), significant.begin(), significant.end());
    ++header.count;
  }
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::optional<Address> parse_address(std::span<const std::byte> bytes) {
  AddressHeader header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != address_version || header.port == 0) return std::nullopt;
  Address address{header.port, header.host_mark, {}};
  bytes = bytes.subspan(sizeof(header));
  for (int i = 0; i < header.count; ++i) {
    if (bytes.empty()) return std::nullopt;
    IpAddress each;
    each.is_v6 = bytes[0] == std::byte{6};
    const std::size_t length = each.significant().size();
    if ((!each.is_v6 && bytes[0] != std::byte{4}) || bytes.size() < 1 + length) return std::nullopt;
    std::memcpy(each.bytes.data(), bytes.data() + 1, length);
    bytes = bytes.subspan(1 + length);
    address.addresses.push_back(each);
  }
  return address;
}

Result<std::vector<InterfaceAddress>> choose_addresses(const std::vector<InterfaceAddress>& all,
                                                       const Settings& settings) {
  const auto included = parse_selectors("tcp.include", settings.include);
  if (!included) return included.error();
  const auto excluded = parse_selectors("tcp.exclude", settings.exclude);
  if (!excluded) return excluded.error();
  std::vector<InterfaceAddress> chosen;
  for (const InterfaceAddress& each : all)
    if ((included->empty() || any_matches(*included, each)) && !any_matches(*excluded, each))
      chosen.push_back(each);
  if (chosen.empty())
    return Error(ErrorClass::arg,
                 fmt::format("tcp.include='{}' and tcp.exclude='{}' leave no address to be reached "
                             "by; this host has: {}",
                             settings.include, settings.exclude, list_of(all)));
  const auto is_wide = [](const InterfaceAddress& each) {
    return !each.address.is_link_local() && !each.address.is_loopback();
  };
  if (std::ranges::any_of(chosen, is_wide))
    std::erase_if(chosen, [](const auto& each) { return each.address.is_link_local(); });
  std::ranges::stable_partition(chosen,
                                [](const auto& each) { return !each.address.is_loopback(); });
  return chosen;
}

std::vector<IpAddress> order_candidates(const Address& peer,
                                        const std::vector<InterfaceAddress>& own,
                                        std::uint64_t host_mark) {
  const auto is_near = [&](const IpAddress& address) {
    return std::ranges::any_of(own, [&](const InterfaceAddress& each) {
      return !each.address.is_loopback() &&
             platform::are_in_one_subnet(each.address, address, each.prefix_bits);
    });
  };
  std::vector<IpAddress> near;
  std::vector<IpAddress> others;
  std::vector<IpAddress> loopback;
  for (const IpAddress& address : peer.addresses) {
    if (address.is_loopback()) {
      if (host_mark != 0 && host_mark == peer.host_mark) loopback.push_back(address);
    } else if (address.is_link_local()) {
      // By any interface of ours: the peer's number of its own means nothing here.
      for (const InterfaceAddress& each : own) {
        if (!each.address.is_link_local()) continue;
        IpAddress scoped = address;
        scoped.scope = each.address.scope;
        others.push_back(scoped);
      }
    } else {
      (is_near(address) ? near : others).push_back(address);
    }
  }
  near.insert(near.end(), others.begin(), others.end());
  near.insert(near.end(), loopback.begin(), loopback.end());
  return near;
}

}  // namespace hawser::transport::tcp
