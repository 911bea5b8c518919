// ParameterCell: one parameter's member in a component's settings, and what its type allows; a
// private part of parameters.hpp.
//
// Ownership: owned by the registry; borrows the member. Threads: the registry's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/parameters.hpp"

namespace hawser::base {

class ParameterCell {
 public:
  virtual ~ParameterCell() = default;
  /// The value that TEXT says; nothing for a malformed one. It may be out of bounds.
  [[nodiscard]] virtual std::optional<ParameterValue> parse(std::string_view text) const = 0;
  /// Whether VALUE has the member's type and is inside its bounds.
  [[nodiscard]] virtual bool accepts(const ParameterValue& value) const = 0;
  [[nodiscard]] virtual ParameterValue load() const = 0;
  /// VALUE is one that this accepts.
  virtual void store(const ParameterValue& value) = 0;
  /// As parse() takes it. VALUE has the member's type.
  [[nodiscard]] virtual std::string print(const ParameterValue& value) const = 0;
  /// "integer", and so on.
  [[nodiscard]] virtual const char* type() const = 0;
  /// Type and bounds in words.
  [[nodiscard]] virtual std::string expected() const = 0;
};

std::unique_ptr<ParameterCell> make_flag_cell(bool* target);
/// For the five types of numbers that a parameter may have.
template <class T>
std::unique_ptr<ParameterCell> make_number_cell(T* target, T min, T max, bool in_bytes);
std::unique_ptr<ParameterCell> make_text_cell(std::string* target,
                                              std::vector<std::string> allowed);

}  // namespace hawser::base
