#include "base/parameter_cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace hawser::base {
namespace {

constexpr std::string_view suffixes = "KMGT";
constexpr std::string_view small_suffixes = "kmgt";

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
  const std::size_t place = std::min(suffixes.find(text[0]), small_suffixes.find(text[0]));
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
class TypedCell : public ParameterCell {
 public:
  explicit TypedCell(T* target) : target_(target) {}
  [[nodiscard]] ParameterValue load() const override { return *target_; }
  void store(const ParameterValue& value) override { *target_ = std::get<T>(value); }

 private:
  T* const target_;
};

class FlagCell final : public TypedCell<bool> {
 public:
  using TypedCell::TypedCell;
  [[nodiscard]] std::optional<ParameterValue> parse(std::string_view text) const override {
    return parse_flag(text);
  }
  [[nodiscard]] bool accepts(const ParameterValue& value) const override {
    return std::holds_alternative<bool>(value);
  }
  [[nodiscard]] std::string print(const ParameterValue& value) const override {
    return std::get<bool>(value) ? "true" : "false";
  }
  [[nodiscard]] const char* type() const override { return "flag"; }
  [[nodiscard]] std::string expected() const override { return "true or false"; }
};

template <class T>
class NumberCell final : public TypedCell<T> {
 public:
  NumberCell(T* target, T min, T max, bool in_bytes)
      : TypedCell<T>(target), min_(min), max_(max), in_bytes_(in_bytes) {}
  [[nodiscard]] std::optional<ParameterValue> parse(std::string_view text) const override {
    return parse_number<T>(text, in_bytes_);
  }
  [[nodiscard]] bool accepts(const ParameterValue& value) const override {
    const T* const number = std::get_if<T>(&value);
    return number != nullptr && *number >= min_ && *number <= max_;
  }
  [[nodiscard]] std::string print(const ParameterValue& value) const override {
    return print_number(std::get<T>(value), in_bytes_);
  }
  [[nodiscard]] const char* type() const override {
    return std::is_integral_v<T> ? "integer" : "real";
  }
  [[nodiscard]] std::string expected() const override;

 private:
  const T min_;
  const T max_;
  const bool in_bytes_;
};

template <class T>
std::string NumberCell<T>::expected() const {
  const char* noun = std::is_floating_point_v<T> ? "a number"
                     : in_bytes_                 ? "a number of bytes"
                                                 : "an integer";
  const std::string min = print_number(min_, in_bytes_);
  const std::string max = print_number(max_, in_bytes_);
  const bool has_min = min_ != std::numeric_limits<T>::lowest() || std::is_unsigned_v<T>;
  const bool has_max = max_ != std::numeric_limits<T>::max();
  if (has_min && has_max) return fmt::format("{} from {} to {}", noun, min, max);
  if (has_min) return fmt::format("{} of at least {}", noun, min);
  if (has_max) return fmt::format("{} of at most {}", noun, max);
  return noun;
}

class TextCell final : public TypedCell<std::string> {
 public:
  TextCell(std::string* target, std::vector<std::string> allowed)
      : TypedCell(target), allowed_(std::move(allowed)) {}
  [[nodiscard]] std::optional<ParameterValue> parse(std::string_view text) const override {
    return std::string(text);
  }
  [[nodiscard]] bool accepts(const ParameterValue& value) const override {
    const std::string* const text = std::get_if<std::string>(&value);
    if (text == nullptr || text->size() > parameter_text_bytes_max) return false;
    return allowed_.empty() || std::find(allowed_.begin(), allowed_.end(), *text) != allowed_.end();
  }
  [[nodiscard]] std::string print(const ParameterValue& value) const override {
    return std::get<std::string>(value);
  }
  [[nodiscard]] const char* type() const override { return "text"; }
  [[nodiscard]] std::string expected() const override {
    if (!allowed_.empty()) return fmt::format("one of {}", fmt::join(allowed_, ", "));
    return fmt::format("a text of at most {} bytes", parameter_text_bytes_max);
  }

 private:
  const std::vector<std::string> allowed_;
};

}  // namespace

std::unique_ptr<ParameterCell> make_flag_cell(bool* target) {
  return std::make_unique<FlagCell>(target);
}

template <class T>
std::unique_ptr<ParameterCell> make_number_cell(T* target, T min, T max, bool in_bytes) {
  return std::make_unique<NumberCell<T>>(target, min, max, in_bytes);
}
template std::unique_ptr<ParameterCell> make_number_cell(std::int32_t*, std::int32_t, std::int32_t,
                                                         bool);
template std::unique_ptr<ParameterCell> make_number_cell(std::uint32_t*, std::uint32_t,
                                                         std::uint32_t, bool);
template std::unique_ptr<ParameterCell> make_number_cell(std::int64_t*, std::int64_t, std::int64_t,
                                                         bool);
template std::unique_ptr<ParameterCell> make_number_cell(std::uint64_t*, std::uint64_t,
                                                         std::uint64_t, bool);
template std::unique_ptr<ParameterCell> make_number_cell(double*, double, double, bool);

std::unique_ptr<ParameterCell> make_text_cell(std::string* target,
                                              std::vector<std::string> allowed) {
  return std::make_unique<TextCell>(target, std::move(allowed));
}

}  // namespace hawser::base
