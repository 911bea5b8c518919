#include "hawser/rules.hpp"

#include <fmt/format.h>

#include <ranges>
#include <string_view>
#include <vector>

#include "hawser/table.hpp"

namespace hawser::tools {
namespace {

/// LINES: a rule each, `condition -> channel`.
std::string chain_text(std::string_view lines) {
  constexpr std::string_view arrow = " -> ";
  Table table({{"rule", Align::right}, {"condition"}, {"channel"}});
  int number = 0;
  for (const auto part : std::views::split(lines, '\n')) {
    const std::string_view line(part.begin(), part.end());
    const std::size_t at = line.find(arrow);
    if (at == std::string_view::npos) continue;
    table.add_row({std::to_string(++number), std::string(line.substr(0, at)),
                   std::string(line.substr(at + arrow.size()))});
  }
  return number == 0 ? "  no rules\n" : table.text();
}

}  // namespace

base::Result<std::string> rules_text(const channel::PolicySettings& settings) {
  const base::Result<channel::Policy> policy = channel::Policy::parse(settings, {});
  if (!policy) return policy.error();
  return fmt::format(
      "Which channel carries a message: the first rule that holds, and whose channel the peer has\n"
      "(channel.send_rules)\n{}\n"
      "When a peer earns a channel of its own (channel.earn_rules)\n{}",
      chain_text(policy->send_rules_text()), chain_text(policy->earn_rules_text()));
}

}  // namespace hawser::tools
