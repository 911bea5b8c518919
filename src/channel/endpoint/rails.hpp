// Rails: the links to one peer that go by several ports or interfaces of one network, in order of
// preference, and which of them is used.
//
// The first that is up is used, unless it is suspect: its peer was silent for a while, but answered
// by another rail when asked there. After suspect_ns it gets another chance. That takes two answers
// with nothing heard by the rail in use between them: a peer that has computed for long answers all
// questions at once, by all rails.
//
// Pure state machine: fed events and `now`. Ownership: one per peer that has more than one link;
// borrows the links. Threads: the lane lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/time.hpp"
#include "transport/transport.hpp"

namespace hawser::channel {

class Rails {
 public:
  static constexpr std::uint8_t rails_max = transport::rails_max;
  static constexpr std::uint64_t suspect_ns = 1'000'000'000;
  static constexpr std::uint32_t answers_to_suspect = 2;

  /// LINK, the first one or another one, goes by rail NUMBER.
  void add(std::uint8_t number, transport::Link& link) {
    if (count_++ == 0) used_ = number;
    rails_.at(number) = {&link, link.is_up(), 0};
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// The link by rail NUMBER; null if there is none.
  [[nodiscard]] transport::Link* link(std::uint8_t number) const {
    return number < rails_max ? rails_[number].link : nullptr;
  }
  /// The number of the one in use.
  [[nodiscard]] std::uint8_t used() const { return used_; }
  /// Rail NUMBER is there, up, and not suspect.
  [[nodiscard]] bool is_usable(std::uint8_t number) const {
    const Rail& rail = rails_.at(number);
    return rail.link != nullptr && rail.is_up && rail.suspect_until_ns == 0;
  }

  void set_up(std::uint8_t number, bool is_up) {
    rails_.at(number).is_up = is_up;
    // Who has come back is not what it was suspected for.
    if (is_up) rails_.at(number).suspect_until_ns = 0;
  }
  /// The rail in use has left so many ATTEMPTS in a row unanswered. Another one by which the peer
  /// is to be asked; nothing if there is none, or nothing new since the last time.
  std::optional<std::uint8_t> next_to_ask(std::uint32_t attempts);
  /// The peer was heard by rail NUMBER.
  void on_heard(std::uint8_t number, std::uint64_t now_ns);
  /// Chooses which one is used; true if it is another one now.
  bool choose(std::uint64_t now_ns);
  /// When choose() has something to do by itself.
  [[nodiscard]] std::uint64_t deadline_ns() const;

 private:
  struct Rail {
    transport::Link* link = nullptr;
    bool is_up = false;
    std::uint64_t suspect_until_ns = 0;  // 0: not suspect
  };

  std::array<Rail, rails_max> rails_{};
  std::size_t count_ = 0;
  std::uint8_t used_ = 0;
  std::uint8_t asked_ = 0;           // the last one by which the peer was asked
  std::uint32_t attempts_ = 0;       // unanswered ones at that time; 0: it was heard since
  std::uint32_t other_answers_ = 0;  // by other rails, since something was heard by the used one
};

}  // namespace hawser::channel
