// ControlVariables: the parameters of a process as a tool sees them (MPI-5.0 §15.3.6): each has a
// type of C, perhaps an enumeration of its values, and is read and written as bytes.
//
//   flag                      int, with the enumeration false, true
//   integer                   int, unsigned, or 64 bits of either kind
//   real                      double
//   text                      char[4096], ended by a zero
//   text with allowed values  int, with the enumeration of those
//
// Ownership: copies of descriptions; the values stay in the registry. Threads: constant once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/parameters.hpp"
#include "core/object.hpp"

namespace hawser::tool {

/// How the elements of a variable look in the memory of the tool.
enum class ElementType : std::uint8_t { int32, uint32, int64, uint64, real, character };

/// Names for the values 0, 1, … of a variable. Never freed.
class Enumeration final : public core::Object {
 public:
  Enumeration(std::string name, std::vector<std::string> items)
      : name_(std::move(name)), items_(std::move(items)) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& items() const { return items_; }

 private:
  const std::string name_;
  const std::vector<std::string> items_;
};

struct ControlVariable {
  base::ParameterDescription description;
  ElementType type;
  int count;  // elements
  base::Ref<Enumeration> enumeration;

  /// Writes VALUE, one of this variable, to the `count` elements at TO.
  void put(const base::ParameterValue& value, void* to) const;
  /// The value at FROM; MPI_T_ERR_INVALID if it is no item of the enumeration. A text may end
  /// before it has `count` bytes, by a zero.
  [[nodiscard]] base::Result<base::ParameterValue> get(const void* from) const;
};

/// One that a tool holds. VARIABLE outlives it.
class ControlHandle final : public core::Object {
 public:
  explicit ControlHandle(const ControlVariable& variable) : variable_(variable) {}
  [[nodiscard]] const ControlVariable& variable() const { return variable_; }

 private:
  const ControlVariable& variable_;
};

/// All parameters of REGISTRY, in the order of their names.
std::vector<ControlVariable> make_control_variables(const base::ParameterRegistry& registry);

}  // namespace hawser::tool
