// ParameterRegistry: what a user can set, under names like "shm.queue_slots".
//
// A component keeps its settings in a plain struct and registers the members here once; afterwards
// it reads the members and knows nothing of names, texts and sources.
// Ownership: the registry borrows the members; they must outlive it. Texts are copied.
// Threads:   none; the owner locks. Once the process runs (begin_run), only parameters that say so
//            can be set, and that under the lane lock.
// Invariant: a member holds a value inside its bounds, and it is the one of the source with the
//            highest precedence that set it. A set() that fails changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/verbosity.hpp"

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

/// A text is at most this long, so that tools know how much room a value takes.
inline constexpr std::size_t parameter_text_bytes_max = 4095;

/// A value of any type that a parameter may have.
using ParameterValue = std::variant<bool, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t,
                                    double, std::string>;

/// Which processes must give a parameter the same value.
enum class ParameterScope : std::uint8_t {
  process,  // none: each may have its own
  job       // all processes of the job
};

/// Who sets a parameter, where and when.
struct ParameterHandling {
  Verbosity verbosity = Verbosity::tuner_basic;
  ParameterScope scope = ParameterScope::process;
  /// It may be set while the process runs: its member is read anew each time it matters, or a
  /// listener (ParameterRegistry::listen) passes the new value on.
  bool changes_at_run_time = false;
};

struct FlagTraits {
  std::string sentence = {};
  ParameterHandling handling = {};
};

/// A number whose unit is "bytes" also takes and prints the suffixes K, M, G and T (powers of
/// 1024).
template <class T>
struct NumberTraits {
  std::string sentence = {};
  std::string unit = {};
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
  ParameterHandling handling = {};
};

struct TextTraits {
  std::string sentence = {};
  std::vector<std::string> allowed = {};  // empty: anything
  ParameterHandling handling = {};
};

/// A parameter as `hawser info` and the tools interface show it.
struct ParameterDescription {
  std::string name = {};
  std::string environment_name = {};
  std::string type = {};      // "flag", "integer", "real", "text"
  std::string expected = {};  // type and bounds in words: "an integer from 16 to 65536"
  std::string unit = {};
  std::string sentence = {};
  std::string default_text = {};
  std::string current_text = {};
  ParameterSource source = ParameterSource::default_value;
  std::string origin = {};                // where exactly: "/etc/hawser.toml:3"; may be empty
  std::vector<std::string> allowed = {};  // the texts that may be chosen from; empty: any value
  ParameterHandling handling = {};
};

class ParameterCell;

class ParameterRegistry {
 public:
  /// Told that a member has a new value; an error takes it back.
  using Listener = std::function<Result<void>()>;

  ParameterRegistry();
  ~ParameterRegistry();
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
  /// checked in either case. MPI_T_ERR_CVAR_SET_NOT_NOW once the process runs, unless the
  /// parameter changes at run time; then also the error of its listener.
  Result<void> set(std::string_view name, std::string_view text, ParameterSource source,
                   std::string_view origin = {});
  /// The same with a value, which must have the parameter's type.
  Result<void> set_value(std::string_view name, const ParameterValue& value, ParameterSource source,
                         std::string_view origin = {});

  /// The process has taken its settings over.
  void begin_run() { running_ = true; }
  /// LISTENER hears of each change of NAME, a parameter that changes at run time, from whoever sets
  /// it and under the locks that they hold.
  void listen(std::string_view name, Listener listener);

  /// The current value; nothing for an unknown name.
  [[nodiscard]] std::optional<ParameterValue> value(std::string_view name) const;

  /// The parameter that the environment VARIABLE names, if there is one.
  [[nodiscard]] std::optional<std::string> name_of_variable(std::string_view variable) const;
  [[nodiscard]] std::optional<ParameterDescription> find(std::string_view name) const;
  /// Every parameter, in the order of their names.
  [[nodiscard]] std::vector<ParameterDescription> describe() const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    ParameterDescription description;
    std::unique_ptr<ParameterCell> cell;
    Listener listener;
  };

  template <class T>
  void add_number(std::string_view name, T* target, NumberTraits<T> traits);
  void insert(std::string_view name, std::unique_ptr<ParameterCell> cell,
              ParameterDescription description);
  Result<Entry*> entry_of(std::string_view name);
  static Error refuse(const Entry& entry, std::string_view text);
  Result<void> assign(Entry& entry, const ParameterValue& value, ParameterSource source,
                      std::string_view origin);
  static ParameterDescription describe(const Entry& entry);

  std::map<std::string, Entry, std::less<>> entries_;
  bool running_ = false;
};

/// The environment variable of a parameter: "shm.queue_slots" is HAWSER_SHM_QUEUE_SLOTS.
std::string variable_of_parameter(std::string_view name);

}  // namespace hawser::base
