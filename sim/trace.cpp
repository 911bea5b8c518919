#include "sim/trace.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include "base/ids.hpp"

namespace hawser::sim {

void Trace::note(std::uint64_t now_ns, std::string_view format,
                 std::initializer_list<std::uint64_t> numbers) {
  ++events_;
  hash_ = base::mix64(hash_ ^ now_ns);
  for (const char letter : format) hash_ = hash_ * 31 + static_cast<unsigned char>(letter);
  for (const std::uint64_t number : numbers) hash_ = base::mix64(hash_ ^ number);
  if (!verbose_) return;
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const std::uint64_t number : numbers) arguments.push_back(number);
  remark(now_ns, fmt::vformat(format, arguments));
}

void Trace::remark(std::uint64_t now_ns, std::string_view text) const {
  if (verbose_) fmt::print("{:>12} ns  {}\n", now_ns, text);
}

}  // namespace hawser::sim
