#include "base/parameters.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/assert.hpp"
#include "base/closest_match.hpp"
#include "base/parameter_cell.hpp"

namespace hawser::base {
namespace {

constexpr std::string_view bytes_unit = "bytes";

constexpr bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_parameter_name(std::string_view name) {
  char before = '.';
  for (const char c : name) {
    if (c == '.' ? before == '.' : !is_name_character(c)) return false;
    before = c;
  }
  return before != '.';
}

constexpr char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

}  // namespace

const char* source_name(ParameterSource source) {
  switch (source) {
    case ParameterSource::default_value:
      return "default";
    case ParameterSource::file:
      return "file";
    case ParameterSource::environment:
      return "environment";
    case ParameterSource::command_line:
      return "command line";
    case ParameterSource::program:
      return "program";
  }
  return "";
}

std::string variable_of_parameter(std::string_view name) {
  std::string variable = "HAWSER_";
  for (const char c : name) variable += c == '.' ? '_' : to_upper(c);
  return variable;
}

ParameterRegistry::ParameterRegistry() = default;
ParameterRegistry::~ParameterRegistry() = default;

void ParameterRegistry::add(std::string_view name, bool* target, FlagTraits traits) {
  insert(name, make_flag_cell(target),
         {.sentence = std::move(traits.sentence), .handling = traits.handling});
}

template <class T>
void ParameterRegistry::add_number(std::string_view name, T* target, NumberTraits<T> traits) {
  HAWSER_ASSERT(*target >= traits.min && *target <= traits.max);
  const bool in_bytes = traits.unit == bytes_unit;
  insert(name, make_number_cell<T>(target, traits.min, traits.max, in_bytes),
         {.unit = std::move(traits.unit),
          .sentence = std::move(traits.sentence),
          .handling = traits.handling});
}

void ParameterRegistry::add(std::string_view name, std::int32_t* target,
                            NumberTraits<std::int32_t> traits) {
  add_number(name, target, std::move(traits));
}
void ParameterRegistry::add(std::string_view name, std::uint32_t* target,
                            NumberTraits<std::uint32_t> traits) {
  add_number(name, target, std::move(traits));
}
void ParameterRegistry::add(std::string_view name, std::int64_t* target,
                            NumberTraits<std::int64_t> traits) {
  add_number(name, target, std::move(traits));
}
void ParameterRegistry::add(std::string_view name, std::uint64_t* target,
                            NumberTraits<std::uint64_t> traits) {
  add_number(name, target, std::move(traits));
}
void ParameterRegistry::add(std::string_view name, double* target, NumberTraits<double> traits) {
  add_number(name, target, std::move(traits));
}

void ParameterRegistry::add(std::string_view name, std::string* target, TextTraits traits) {
  std::unique_ptr<ParameterCell> cell = make_text_cell(target, traits.allowed);
  insert(name, std::move(cell),
         {.sentence = std::move(traits.sentence),
          .allowed = std::move(traits.allowed),
          .handling = traits.handling});
}

void ParameterRegistry::insert(std::string_view name, std::unique_ptr<ParameterCell> cell,
                               ParameterDescription description) {
  HAWSER_ASSERT(is_parameter_name(name));
  const ParameterValue value = cell->load();
  HAWSER_ASSERT(cell->accepts(value));
  description.name = name;
  description.environment_name = variable_of_parameter(name);
  description.type = cell->type();
  description.expected = cell->expected();
  description.default_text = cell->print(value);
  HAWSER_ASSERT(!name_of_variable(description.environment_name));
  entries_.emplace(name, Entry{std::move(description), std::move(cell), {}});
}

Result<ParameterRegistry::Entry*> ParameterRegistry::entry_of(std::string_view name) {
  const auto found = entries_.find(name);
  if (found != entries_.end()) return &found->second;
  std::vector<std::string> names;
  for (const auto& [known, entry] : entries_) names.push_back(known);
  return Error(ErrorClass::arg,
               fmt::format("there is no parameter '{}'{}", name, did_you_mean(name, names)));
}

Result<void> ParameterRegistry::set(std::string_view name, std::string_view text,
                                    ParameterSource source, std::string_view origin) {
  const Result<Entry*> entry = entry_of(name);
  if (!entry) return entry.error();
  const std::optional<ParameterValue> value = (*entry)->cell->parse(text);
  if (!value || !(*entry)->cell->accepts(*value)) return refuse(**entry, text);
  return assign(**entry, *value, source, origin);
}

Result<void> ParameterRegistry::set_value(std::string_view name, const ParameterValue& value,
                                          ParameterSource source, std::string_view origin) {
  const Result<Entry*> entry = entry_of(name);
  if (!entry) return entry.error();
  ParameterCell& cell = *(*entry)->cell;
  HAWSER_ASSERT(value.index() == cell.load().index());
  if (!cell.accepts(value)) return refuse(**entry, cell.print(value));
  return assign(**entry, value, source, origin);
}

Error ParameterRegistry::refuse(const Entry& entry, std::string_view text) {
  return {ErrorClass::arg, fmt::format("'{}' is no value for parameter '{}', which takes {}", text,
                                       entry.description.name, entry.description.expected)};
}

Result<void> ParameterRegistry::assign(Entry& entry, const ParameterValue& value,
                                       ParameterSource source, std::string_view origin) {
  ParameterDescription& description = entry.description;
  if (source < description.source) return {};
  if (running_ && !description.handling.changes_at_run_time) {
    return Error(
        ErrorClass::t_cvar_set_not_now,
        fmt::format("parameter '{}' has to be set before MPI is initialised", description.name));
  }
  const ParameterValue before = entry.cell->load();
  entry.cell->store(value);
  if (entry.listener) {
    Result<void> heard = entry.listener();
    if (!heard) {
      entry.cell->store(before);
      return heard;
    }
  }
  description.source = source;
  description.origin = origin;
  return {};
}

void ParameterRegistry::listen(std::string_view name, Listener listener) {
  const auto found = entries_.find(name);
  HAWSER_ASSERT(found != entries_.end());
  HAWSER_ASSERT(found->second.description.handling.changes_at_run_time);
  found->second.listener = std::move(listener);
}

std::optional<ParameterValue> ParameterRegistry::value(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  return found->second.cell->load();
}

std::optional<std::string> ParameterRegistry::name_of_variable(std::string_view variable) const {
  for (const auto& [name, entry] : entries_)
    if (entry.description.environment_name == variable) return name;
  return std::nullopt;
}

ParameterDescription ParameterRegistry::describe(const Entry& entry) {
  ParameterDescription description = entry.description;
  description.current_text = entry.cell->print(entry.cell->load());
  return description;
}

std::optional<ParameterDescription> ParameterRegistry::find(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  return describe(found->second);
}

std::vector<ParameterDescription> ParameterRegistry::describe() const {
  std::vector<ParameterDescription> descriptions;
  descriptions.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) descriptions.push_back(describe(entry));
  return descriptions;
}

}  // namespace hawser::base
