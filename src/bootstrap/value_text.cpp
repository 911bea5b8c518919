#include "bootstrap/value_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "bootstrap/hexadecimal.hpp"
#include "bootstrap/published_value.hpp"

namespace hawser::bootstrap {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

/// "64.", with which the first text begins.
constexpr std::size_t count_bytes_max = 3;

Error damaged(std::string_view reason) {
  return {ErrorClass::other,
          fmt::format("what a process published came damaged from the launcher: {}", reason)};
}

void append(std::vector<std::byte>& blob, std::span<const std::byte> bytes) {
  blob.push_back(static_cast<std::byte>(bytes.size()));
  blob.insert(blob.end(), bytes.begin(), bytes.end());
}

/// Takes a length and as many bytes from the front of BLOB.
std::optional<std::span<const std::byte>> take(std::span<const std::byte>& blob) {
  if (blob.empty()) return std::nullopt;
  const auto bytes = std::to_integer<std::size_t>(blob.front());
  if (blob.size() - 1 < bytes) return std::nullopt;
  const auto taken = blob.subspan(1, bytes);
  blob = blob.subspan(1 + bytes);
  return taken;
}

Result<Values> parse_blob(std::span<const std::byte> blob) {
  Values values;
  while (!blob.empty()) {
    const auto key = take(blob);
    const auto value = key ? take(blob) : std::nullopt;
    if (!value) return damaged("it ends in the middle of a value");
    const std::string name(reinterpret_cast<const char*>(key->data()), key->size());
    if (!check_publishable(name, *value)) return damaged("it has a key or value of a wrong length");
    values[name] = {value->begin(), value->end()};
  }
  return values;
}

}  // namespace

Result<std::vector<std::string>> write_values(const Values& values, std::size_t text_bytes_max) {
  HAWSER_ASSERT(text_bytes_max >= value_text_bytes_min);
  std::vector<std::byte> blob;
  for (const auto& [key, value] : values) {
    append(blob, std::as_bytes(std::span(key)));
    append(blob, value);
  }
  const std::string digits = to_hexadecimal(blob);
  const std::size_t texts = std::max<std::size_t>(
      (digits.size() + count_bytes_max + text_bytes_max - 1) / text_bytes_max, 1);
  if (texts > value_texts_max)
    return Error(ErrorClass::no_mem,
                 fmt::format("{} values are too much to publish in {} texts of {} bytes",
                             values.size(), value_texts_max, text_bytes_max));
  std::vector<std::string> parts;
  for (std::size_t at = 0; parts.size() < texts;) {
    std::string part = parts.empty() ? fmt::format("{}.", texts) : std::string();
    const std::size_t room = text_bytes_max - (parts.empty() ? count_bytes_max : 0);
    part += digits.substr(at, room);
    at = std::min(at + room, digits.size());
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<std::uint32_t> count_texts(std::string_view first) {
  std::uint32_t count = 0;
  const char* const end = first.data() + first.size();
  const auto [rest, failure] = std::from_chars(first.data(), end, count);
  if (failure != std::errc() || rest == end || *rest != '.')
    return damaged("it does not begin with a number");
  if (count < 1 || count > value_texts_max)
    return damaged(fmt::format("{} texts are not in [1,{}]", count, value_texts_max));
  return count;
}

Result<Values> read_values(std::span<const std::string> texts) {
  if (texts.empty()) return damaged("there is nothing of it");
  const Result<std::uint32_t> count = count_texts(texts.front());
  if (!count) return count.error();
  if (*count != texts.size())
    return damaged(fmt::format("there are {} of {} texts", texts.size(), *count));
  std::string digits = texts.front().substr(texts.front().find('.') + 1);
  for (const std::string& text : texts.subspan(1)) digits += text;
  const auto blob = from_hexadecimal(digits);
  if (!blob) return damaged("it is not made of hexadecimal digits");
  return parse_blob(*blob);
}

}  // namespace hawser::bootstrap
