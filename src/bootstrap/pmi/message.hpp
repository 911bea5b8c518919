// Lines of PMI-1, the protocol between MPICH's launcher and its processes: pure functions.
//
//   cmd=NAME FIELD=VALUE FIELD=VALUE …
//
// There is no standard; these are the facts on which launchers agree (docs/decisions/0020).
// What is parsed came from outside.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace hawser::bootstrap::pmi {

struct Message {
  std::string command;
  std::map<std::string, std::string, std::less<>> fields;

  /// The value of FIELD; empty if there is none.
  [[nodiscard]] std::string_view text(std::string_view field) const;
  /// The same as a number of 32 bits; nothing if it is none.
  [[nodiscard]] std::optional<int> number(std::string_view field) const;
  /// It does not say that what was asked failed.
  [[nodiscard]] bool is_success() const;
};

/// Nothing if LINE has no command. Words that are no field are left out; of two fields of one name
/// the first counts.
std::optional<Message> parse_message(std::string_view line);

}  // namespace hawser::bootstrap::pmi
