#include "tool/control_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/assert.hpp"

namespace hawser::tool {
namespace {

using base::Error;
using base::ErrorClass;
using base::ParameterDescription;
using base::ParameterValue;
using base::Ref;
using base::Result;

/// Room for the longest text and its end.
constexpr int text_count = static_cast<int>(base::parameter_text_bytes_max) + 1;

bool is_flag(const ParameterDescription& description) { return description.type == "flag"; }

ElementType type_of(const ParameterValue& value, bool is_enumerated) {
  if (is_enumerated) return ElementType::int32;
  if (std::holds_alternative<std::string>(value)) return ElementType::character;
  if (std::holds_alternative<std::uint32_t>(value)) return ElementType::uint32;
  if (std::holds_alternative<std::int64_t>(value)) return ElementType::int64;
  if (std::holds_alternative<std::uint64_t>(value)) return ElementType::uint64;
  if (std::holds_alternative<double>(value)) return ElementType::real;
  return ElementType::int32;
}

void put_text(const std::string& text, char* to) { std::memcpy(to, text.c_str(), text.size() + 1); }

std::int32_t item_of(const Enumeration& enumeration, const std::string& name) {
  const auto found = std::ranges::find(enumeration.items(), name);
  HAWSER_ASSERT(found != enumeration.items().end());
  return static_cast<std::int32_t>(found - enumeration.items().begin());
}

template <class T>
ParameterValue get_number(const void* from) {
  T number{};
  std::memcpy(&number, from, sizeof(number));
  return number;
}

ParameterValue get_text(const void* from) {
  const char* const text = static_cast<const char*>(from);
  // Without an end it is too long by one, which the registry refuses.
  return std::string(text, strnlen(text, text_count));
}

}  // namespace

void ControlVariable::put(const ParameterValue& value, void* to) const {
  std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, std::string>) {
          if (enumeration) {
            const std::int32_t item = item_of(*enumeration, content);
            std::memcpy(to, &item, sizeof(item));
          } else {
            put_text(content, static_cast<char*>(to));
          }
        } else if constexpr (std::is_same_v<T, bool>) {
          const std::int32_t flag = content ? 1 : 0;
          std::memcpy(to, &flag, sizeof(flag));
        } else {
          std::memcpy(to, &content, sizeof(content));
        }
      },
      value);
}

Result<ParameterValue> ControlVariable::get(const void* from) const {
  if (enumeration) {
    const auto item = std::get<std::int32_t>(get_number<std::int32_t>(from));
    const auto& items = enumeration->items();
    if (item < 0 || static_cast<std::size_t>(item) >= items.size()) {
      return Error(ErrorClass::t_invalid,
                   fmt::format("{} is no value for '{}'; its values are in [0,{})", item,
                               description.name, items.size()));
    }
    if (is_flag(description)) return ParameterValue(item != 0);
    return ParameterValue(items[static_cast<std::size_t>(item)]);
  }
  switch (type) {
    case ElementType::int32:
      return get_number<std::int32_t>(from);
    case ElementType::uint32:
      return get_number<std::uint32_t>(from);
    case ElementType::int64:
      return get_number<std::int64_t>(from);
    case ElementType::uint64:
      return get_number<std::uint64_t>(from);
    case ElementType::real:
      return get_number<double>(from);
    case ElementType::character:
      break;
  }
  return get_text(from);
}

std::vector<ControlVariable> make_control_variables(const base::ParameterRegistry& registry) {
  const auto flags = base::make_ref<Enumeration>("flag", std::vector<std::string>{"false", "true"});
  std::vector<ControlVariable> variables;
  for (ParameterDescription& description : registry.describe()) {
    Ref<Enumeration> enumeration;
    if (is_flag(description)) enumeration = flags;
    if (!description.allowed.empty())
      enumeration = base::make_ref<Enumeration>(description.name, description.allowed);
    const ElementType type =
        type_of(*registry.value(description.name), static_cast<bool>(enumeration));
    variables.push_back({std::move(description), type,
                         type == ElementType::character ? text_count : 1, std::move(enumeration)});
  }
  return variables;
}

}  // namespace hawser::tool
