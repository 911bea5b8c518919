#include "bootstrap/pmi/message.hpp"

#include <charconv>
#include <ranges>

namespace hawser::bootstrap::pmi {

std::string_view Message::text(std::string_view field) const {
  const auto found = fields.find(field);
  return found == fields.end() ? std::string_view() : found->second;
}

std::optional<int> Message::number(std::string_view field) const {
  const std::string_view value = text(field);
  int number = 0;
  const auto [rest, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (failure != std::errc() || rest != value.data() + value.size()) return std::nullopt;
  return number;
}

bool Message::is_success() const {
  // Slurm says info=fail instead of a return code.
  if (fields.contains("info") && text("info") != "ok") return false;
  return !fields.contains("rc") || number("rc") == 0;
}

std::optional<Message> parse_message(std::string_view line) {
  Message message;
  for (const auto part : std::views::split(line, ' ')) {
    const std::string_view word(part.begin(), part.end());
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    message.fields.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  message.command = message.text("cmd");
  if (message.command.empty()) return std::nullopt;
  return message;
}

}  // namespace hawser::bootstrap::pmi
