// ParameterRegistry: what a user can set, under names like "shm.queue_slots".
//
// A component keeps its settings in a plain struct and registers the members here once; afterwards
// it reads the members and knows nothing of names, texts and sources.
// Ownership: the registry borrows the members; they must outlive it. Texts are copied.
// Threads:   none; parameters are set before a process starts to communicate.
// Invariant: a member holds a value inside its bounds, and it is the one of the source with the
//            highest precedence that set it. A set() that fails changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace hawser::base {

/// Who gave a parameter its value, in rising precedence.
enum class ParameterSource : std::uint8_t {
  default_value,
  file,
  environment,
  command_line,
  program
};

/// "default", "file", "environment", "command line", "program".
const char* source_name(ParameterSource source);

struct FlagTraits {
  std::string sentence = {};
};

/// A number whose unit is "bytes" also takes and prints the suffixes K, M, G and T (powers of
/// 1024).
template <class T>
struct NumberTraits {
  std::string sentence = {};
  std::string unit = {};
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
};

struct TextTraits {
  std::string sentence = {};
  std::vector<std::string> allowed = {};  // empty: anything
};

/// A parameter as `hawser info` and the tools interface show it.
struct ParameterDescription {
  std::string name;
  std::string environment_name;
  std::string type;      // "flag", "integer", "real", "text"
  std::string expected;  // type and bounds in words: "an integer from 16 to 65536"
  std::string unit;
  std::string sentence;
  std::string default_text;
  std::string current_text;
  ParameterSource source = ParameterSource::default_value;
  std::string origin;  // where exactly: "/etc/hawser.toml:3"; may be empty
};

class ParameterRegistry {
 public:
  ParameterRegistry() = default;
  ParameterRegistry(const ParameterRegistry&) = delete;
  ParameterRegistry& operator=(const ParameterRegistry&) = delete;

  /// Registers *target under NAME: words of a-z, 0-9 and '_', joined by dots. Its value now is the
  /// default.
  void add(std::string_view name, bool* target, FlagTraits traits);
  void add(std::string_view name, std::int32_t* target, NumberTraits<std::int32_t> traits);
  void add(std::string_view name, std::uint32_t* target, NumberTraits<std::uint32_t> traits);
  void add(std::string_view name, std::int64_t* target, NumberTraits<std::int64_t> traits);
  void add(std::string_view name, std::uint64_t* target, NumberTraits<std::uint64_t> traits);
  void add(std::string_view name, double* target, NumberTraits<double> traits);
  void add(std::string_view name, std::string* target, TextTraits traits);

  /// Gives NAME the value that TEXT says, unless a source of higher precedence has set it already.
  /// ORIGIN is kept for descriptions. MPI_ERR_ARG for an unknown name or a malformed text, which is
  /// checked in either case.
  Result<void> set(std::string_view name, std::string_view text, ParameterSource source,
                   std::string_view origin = {});

  /// The parameter that the environment VARIABLE names, if there is one.
  [[nodiscard]] std::optional<std::string> name_of_variable(std::string_view variable) const;
  [[nodiscard]] std::optional<ParameterDescription> find(std::string_view name) const;
  /// Every parameter, in the order of their names.
  [[nodiscard]] std::vector<ParameterDescription> describe() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    ParameterDescription description;
    /// Checks a text and, if told to, stores its value. False: malformed, and nothing has changed.
    std::function<bool(std::string_view, bool store)> parse;
    std::function<std::string()> print;
  };

  template <class T>
  void add_number(std::string_view name, T* target, NumberTraits<T> traits);
  void insert(std::string_view name, Entry entry);
  static ParameterDescription describe(const Entry& entry);

  std::map<std::string, Entry, std::less<>> entries_;
};

/// The environment variable of a parameter: "shm.queue_slots" is HAWSER_SHM_QUEUE_SLOTS.
std::string variable_of_parameter(std::string_view name);

}  // namespace hawser::base
