#include "base/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"
#include "base/closest_match.hpp"

namespace hawser::base {
namespace {

constexpr std::string_view bytes_unit = "bytes";
constexpr std::string_view suffixes = "KMGT";

constexpr bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_parameter_name(std::string_view name) {
  char before = '.';
  for (const char c : name) {
    if (c == '.' ? before == '.' : !is_name_character(c)) return false;
    before = c;
  }
  return before != '.';
}

constexpr char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

std::optional<bool> parse_flag(std::string_view text) {
  for (const std::string_view yes : {"true", "yes", "on", "1"})
    if (text == yes) return true;
  for (const std::string_view no : {"false", "no", "off", "0"})
    if (text == no) return false;
  return std::nullopt;
}

/// The power of two that a suffix multiplies by: 10 for K and so on.
std::optional<int> suffix_shift(std::string_view text) {
  if (text.size() != 1) return std::nullopt;
  const std::size_t place = suffixes.find(to_upper(text[0]));
  if (place == std::string_view::npos) return std::nullopt;
  return 10 * (static_cast<int>(place) + 1);
}

template <class T>
std::optional<T> parse_number(std::string_view text, bool in_bytes) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, reason] = std::from_chars(text.data(), end, value);
  if (reason != std::errc()) return std::nullopt;
  if (rest == end) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) return std::nullopt;
    }
    return value;
  }
  const auto shift = suffix_shift({rest, static_cast<std::size_t>(end - rest)});
  if (!in_bytes || !shift) return std::nullopt;
  if constexpr (std::is_integral_v<T>) {
    T scaled{};
    T factor{};
    if (__builtin_mul_overflow(std::int64_t{1} << *shift, T{1}, &factor)) return std::nullopt;
    if (__builtin_mul_overflow(value, factor, &scaled)) return std::nullopt;
    return scaled;
  } else {
    return std::ldexp(value, *shift);
  }
}

template <class T>
std::string print_number(T value, bool in_bytes) {
  if constexpr (std::is_integral_v<T>) {
    if (in_bytes && value != 0) {
      for (std::size_t i = suffixes.size(); i-- > 0;) {
        const std::int64_t factor = std::int64_t{1} << (10 * (i + 1));
        if (!std::in_range<T>(factor) || value % static_cast<T>(factor) != 0) continue;
        return fmt::format("{}{}", value / static_cast<T>(factor), suffixes[i]);
      }
    }
  }
  return fmt::format("{}", value);
}

template <class T>
std::string expected_number(const NumberTraits<T>& traits, bool in_bytes) {
  const char* noun = std::is_floating_point_v<T> ? "a number"
                     : in_bytes                  ? "a number of bytes"
                                                 : "an integer";
  const std::string min = print_number(traits.min, in_bytes);
  const std::string max = print_number(traits.max, in_bytes);
  const bool has_min = traits.min != std::numeric_limits<T>::lowest() || std::is_unsigned_v<T>;
  const bool has_max = traits.max != std::numeric_limits<T>::max();
  if (has_min && has_max) return fmt::format("{} from {} to {}", noun, min, max);
  if (has_min) return fmt::format("{} of at least {}", noun, min);
  if (has_max) return fmt::format("{} of at most {}", noun, max);
  return noun;
}

}  // namespace

const char* source_name(ParameterSource source) {
  switch (source) {
    case ParameterSource::default_value:
      return "default";
    case ParameterSource::file:
      return "file";
    case ParameterSource::environment:
      return "environment";
    case ParameterSource::command_line:
      return "command line";
    case ParameterSource::program:
      return "program";
  }
  return "";
}

std::string variable_of_parameter(std::string_view name) {
  std::string variable = "HAWSER_";
  for (const char c : name) variable += c == '.' ? '_' : to_upper(c);
  return variable;
}

void ParameterRegistry::add(std::string_view name, bool* target, FlagTraits traits) {
  Entry entry;
  entry.description.type = "flag";
  entry.description.expected = "true or false";
  entry.description.sentence = std::move(traits.sentence);
  entry.parse = [target](std::string_view text, bool store) {
    const std::optional<bool> value = parse_flag(text);
    if (value && store) *target = *value;
    return value.has_value();
  };
  entry.print = [target] { return std::string(*target ? "true" : "false"); };
  insert(name, std::move(entry));
}

template <class T>
void ParameterRegistry::add_number(std::string_view name, T* target, NumberTraits<T> traits) {
  HAWSER_ASSERT(*target >= traits.min && *target <= traits.max);
  const bool in_bytes = traits.unit == bytes_unit;
  Entry entry;
  entry.description.type = std::is_integral_v<T> ? "integer" : "real";
  entry.description.expected = expected_number(traits, in_bytes);
  entry.description.unit = std::move(traits.unit);
  entry.description.sentence = std::move(traits.sentence);
  entry.parse = [target, in_bytes, min = traits.min, max = traits.max](std::string_view text,
                                                                       bool store) {
    const std::optional<T> value = parse_number<T>(text, in_bytes);
    if (!value || *value < min || *value > max) return false;
    if (store) *target = *value;
    return true;
  };
  entry.print = [target, in_bytes] { return print_number(*target, in_bytes); };
  insert(name, std::move(entry));
}

void ParameterRegistry::add(std::string_view name, std::int32_t* target,
                            NumberTraits<std::int32_t> traits) {
  add_number(name, target, std::move(traits));
}
void ParameterRegistry::add(std::string_view name, std::uint32_t* target,
                            NumberTraits<std::uint32_t> traits) {
  add_number(name, target, std::move(traits));
}
void ParameterRegistry::add(std::string_view name, std::int64_t* target,
                            NumberTraits<std::int64_t> traits) {
  add_number(name, target, std::move(traits));
}
void ParameterRegistry::add(std::string_view name, std::uint64_t* target,
                            NumberTraits<std::uint64_t> traits) {
  add_number(name, target, std::move(traits));
}
void ParameterRegistry::add(std::string_view name, double* target, NumberTraits<double> traits) {
  add_number(name, target, std::move(traits));
}

void ParameterRegistry::add(std::string_view name, std::string* target, TextTraits traits) {
  const auto is_allowed = [allowed = traits.allowed](std::string_view text) {
    return allowed.empty() || std::find(allowed.begin(), allowed.end(), text) != allowed.end();
  };
  HAWSER_ASSERT(is_allowed(*target));
  Entry entry;
  entry.description.type = "text";
  entry.description.expected =
      traits.allowed.empty() ? "a text" : fmt::format("one of {}", fmt::join(traits.allowed, ", "));
  entry.description.sentence = std::move(traits.sentence);
  entry.parse = [target, is_allowed](std::string_view text, bool store) {
    if (!is_allowed(text)) return false;
    if (store) *target = text;
    return true;
  };
  entry.print = [target] { return *target; };
  insert(name, std::move(entry));
}

void ParameterRegistry::insert(std::string_view name, Entry entry) {
  HAWSER_ASSERT(is_parameter_name(name));
  entry.description.name = name;
  entry.description.environment_name = variable_of_parameter(name);
  entry.description.default_text = entry.print();
  HAWSER_ASSERT(!name_of_variable(entry.description.environment_name));
  entries_.emplace(name, std::move(entry));
}

Result<void> ParameterRegistry::set(std::string_view name, std::string_view text,
                                    ParameterSource source, std::string_view origin) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, entry] : entries_) names.push_back(known);
    return Error(ErrorClass::arg,
                 fmt::format("there is no parameter '{}'{}", name, did_you_mean(name, names)));
  }
  auto& [description, parse, print] = found->second;
  const bool store = source >= description.source;
  if (!parse(text, store)) {
    return Error(ErrorClass::arg, fmt::format("'{}' is no value for parameter '{}', which takes {}",
                                              text, name, description.expected));
  }
  if (store) {
    description.source = source;
    description.origin = origin;
  }
  return {};
}

std::optional<std::string> ParameterRegistry::name_of_variable(std::string_view variable) const {
  for (const auto& [name, entry] : entries_)
    if (entry.description.environment_name == variable) return name;
  return std::nullopt;
}

ParameterDescription ParameterRegistry::describe(const Entry& entry) {
  ParameterDescription description = entry.description;
  description.current_text = entry.print();
  return description;
}

std::optional<ParameterDescription> ParameterRegistry::find(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  return describe(found->second);
}

std::vector<ParameterDescription> ParameterRegistry::describe() const {
  std::vector<ParameterDescription> descriptions;
  descriptions.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) descriptions.push_back(describe(entry));
  return descriptions;
}

}  // namespace hawser::base
