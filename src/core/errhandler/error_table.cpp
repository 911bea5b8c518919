#include <fmt/format.h>

#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/assert.hpp"
#include "core/errhandler/errhandler.hpp"
#include "core/errhandler/standard_errors.hpp"

namespace hawser::core {
namespace {

Error no_such_code(int code) {
  return Error(ErrorClass::arg,
               fmt::format("{} is neither an error class or code of the standard nor one that was "
                           "added and not removed",
                           code));
}

Error not_made_by_user(int code, const char* what) {
  return Error(ErrorClass::arg,
               fmt::format("{} is not an error {} that was added and not removed", code, what));
}

}  // namespace

struct ErrorTable::State {
  struct UserCode {
    int error_class;      // its own number if it is a class
    int codes_of_it = 0;  // a class: how many codes hold on to it
    std::optional<std::string> text;
  };

  mutable std::mutex mutex;
  int last_used = last_standard_code;
  std::unordered_map<int, UserCode> user_codes;

  int add(std::optional<int> error_class) {
    HAWSER_ASSERT(last_used < std::numeric_limits<int>::max());
    ++last_used;
    user_codes.emplace(last_used, UserCode{error_class.value_or(last_used), 0, {}});
    return last_used;
  }

  UserCode* find(int code) {
    const auto found = user_codes.find(code);
    return found == user_codes.end() ? nullptr : &found->second;
  }

  Result<void> remove(int code, UserCode& entry) {
    if (entry.text.has_value()) {
      return Error(ErrorClass::arg,
                   fmt::format("{} still has the string \"{}\", which must be removed first", code,
                               *entry.text));
    }
    if (UserCode* owner = find(entry.error_class); owner != nullptr && owner != &entry) {
      --owner->codes_of_it;
    }
    user_codes.erase(code);
    return {};
  }
};

ErrorTable::ErrorTable() : state_(std::make_unique<State>()) {}
ErrorTable::~ErrorTable() = default;

int ErrorTable::add_class() {
  const std::lock_guard lock(state_->mutex);
  return state_->add(std::nullopt);
}

Result<int> ErrorTable::add_code(int error_class) {
  const std::lock_guard lock(state_->mutex);
  if (State::UserCode* owner = state_->find(error_class)) {
    if (owner->error_class != error_class) {
      return Error(ErrorClass::arg, fmt::format("{} is an error code of class {}, not a class",
                                                error_class, owner->error_class));
    }
    ++owner->codes_of_it;
  } else if (!standard_error_string(error_class)) {
    return no_such_code(error_class);
  }
  return state_->add(error_class);
}

Result<void> ErrorTable::add_string(int code, std::string_view text) {
  const std::lock_guard lock(state_->mutex);
  State::UserCode* entry = state_->find(code);
  if (entry == nullptr) return not_made_by_user(code, "class or code");
  if (text.size() > string_bytes_max) {
    return Error(ErrorClass::arg, fmt::format("the error string has {} bytes, at most {} are kept",
                                              text.size(), string_bytes_max));
  }
  entry->text = std::string(text);
  return {};
}

Result<void> ErrorTable::remove_class(int error_class) {
  const std::lock_guard lock(state_->mutex);
  State::UserCode* entry = state_->find(error_class);
  if (entry == nullptr || entry->error_class != error_class) {
    return not_made_by_user(error_class, "class");
  }
  if (entry->codes_of_it != 0) {
    return Error(ErrorClass::arg,
                 fmt::format("error class {} still has {} codes, which must be removed first",
                             error_class, entry->codes_of_it));
  }
  return state_->remove(error_class, *entry);
}

Result<void> ErrorTable::remove_code(int code) {
  const std::lock_guard lock(state_->mutex);
  State::UserCode* entry = state_->find(code);
  if (entry == nullptr || entry->error_class == code) return not_made_by_user(code, "code");
  return state_->remove(code, *entry);
}

Result<void> ErrorTable::remove_string(int code) {
  const std::lock_guard lock(state_->mutex);
  State::UserCode* entry = state_->find(code);
  if (entry == nullptr) return not_made_by_user(code, "class or code");
  if (!entry->text.has_value()) {
    return Error(ErrorClass::arg, fmt::format("error code {} has no string to remove", code));
  }
  entry->text.reset();
  return {};
}

Result<int> ErrorTable::class_of(int code) const {
  if (standard_error_string(code)) return code;
  const std::lock_guard lock(state_->mutex);
  const State::UserCode* entry = state_->find(code);
  if (entry == nullptr) return no_such_code(code);
  return entry->error_class;
}

Result<std::string> ErrorTable::string_of(int code) const {
  if (const auto text = standard_error_string(code)) return std::string(*text);
  const std::lock_guard lock(state_->mutex);
  const State::UserCode* entry = state_->find(code);
  if (entry == nullptr) return no_such_code(code);
  return entry->text.value_or(std::string());
}

int ErrorTable::last_used_code() const {
  const std::lock_guard lock(state_->mutex);
  return state_->last_used;
}

}  // namespace hawser::core
