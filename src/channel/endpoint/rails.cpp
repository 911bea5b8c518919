#include "channel/endpoint/rails.hpp"

#include <algorithm>
#include <utility>

namespace hawser::channel {

std::optional<std::uint8_t> Rails::next_to_ask(std::uint32_t attempts) {
  if (attempts == std::exchange(attempts_, attempts)) return std::nullopt;
  for (std::uint8_t step = 1; step <= rails_max; ++step) {
    const auto number = static_cast<std::uint8_t>((asked_ + step) % rails_max);
    if (number == used_ || rails_[number].link == nullptr || !rails_[number].is_up) continue;
    asked_ = number;
    return number;
  }
  return std::nullopt;
}

void Rails::on_heard(std::uint8_t number, std::uint64_t now_ns) {
  if (number == used_) {
    attempts_ = 0;
    other_answers_ = 0;
    return;
  }
  if (std::exchange(attempts_, 0) == 0 || ++other_answers_ < answers_to_suspect) return;
  other_answers_ = 0;
  rails_.at(used_).suspect_until_ns = now_ns + suspect_ns;
}

bool Rails::choose(std::uint64_t now_ns) {
  for (Rail& rail : rails_)
    if (rail.suspect_until_ns <= now_ns) rail.suspect_until_ns = 0;
  // Of those that are up, one that is suspect is better than none.
  std::uint8_t chosen = used_;
  for (std::uint8_t number = rails_max; number-- > 0;)
    if (rails_[number].is_up && !rails_[used_].is_up) chosen = number;
  for (std::uint8_t number = rails_max; number-- > 0;)
    if (is_usable(number)) chosen = number;
  if (chosen == used_) return false;
  used_ = chosen;
  attempts_ = 0;
  other_answers_ = 0;
  return true;
}

std::uint64_t Rails::deadline_ns() const {
  std::uint64_t first = base::never_ns;
  for (const Rail& rail : rails_)
    if (rail.suspect_until_ns != 0) first = std::min(first, rail.suspect_until_ns);
  return first;
}

}  // namespace hawser::channel
