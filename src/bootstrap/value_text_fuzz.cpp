// Texts out of random bytes, cut at new lines: what is read must be publishable, and be the same
// once it is written and read again.
#include "bootstrap/value_text.hpp"

#include <cstdlib>
#include <ranges>
#include <string>
#include <vector>

#include "bootstrap/host_offer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hawser::bootstrap;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static_cast<void>(parse_offer(input));
  std::vector<std::string> texts;
  for (const auto part : std::views::split(input, '\n'))
    texts.emplace_back(part.begin(), part.end());
  const auto values = read_values(texts);
  if (!values) return 0;
  constexpr std::size_t text_bytes_max = 1024;
  const auto written = write_values(*values, text_bytes_max);
  if (!written) return 0;
  const auto again = read_values(*written);
  if (!again || *again != *values) std::abort();
  return 0;
}
