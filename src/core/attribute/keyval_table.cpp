#include <fmt/format.h>

#include <limits>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "core/attribute/attribute.hpp"

namespace hawser::core {
namespace {

constexpr int first_user_keyval = 10000;

const char* kind_name(KeyvalKind kind) {
  switch (kind) {
    case KeyvalKind::comm:
      return "communicators";
    case KeyvalKind::type:
      return "datatypes";
    case KeyvalKind::win:
      return "windows";
  }
  return "objects";
}

}  // namespace

struct KeyvalTable::State {
  mutable std::mutex mutex;
  int next_id = first_user_keyval;
  std::unordered_map<int, Ref<Keyval>> keyvals;

  Result<std::unordered_map<int, Ref<Keyval>>::iterator> find(KeyvalKind kind, int id) {
    const auto found = keyvals.find(id);
    if (found == keyvals.end()) {
      return Error(ErrorClass::keyval,
                   fmt::format("keyval {} was never created, or was freed", id));
    }
    if (found->second->kind() != kind) {
      return Error(ErrorClass::keyval,
                   fmt::format("keyval {} is for attributes of {}, not of {}", id,
                               kind_name(found->second->kind()), kind_name(kind)));
    }
    return found;
  }
};

KeyvalTable::KeyvalTable() : state_(std::make_unique<State>()) {}
KeyvalTable::~KeyvalTable() = default;

int KeyvalTable::create(KeyvalKind kind, AttributeCopy copy, AttributeDelete destroy) {
  const std::lock_guard lock(state_->mutex);
  HAWSER_ASSERT(state_->next_id < std::numeric_limits<int>::max());
  const int id = state_->next_id++;
  state_->keyvals.emplace(id,
                          base::make_ref<Keyval>(kind, id, std::move(copy), std::move(destroy)));
  return id;
}

Result<Ref<Keyval>> KeyvalTable::find(KeyvalKind kind, int id) const {
  const std::lock_guard lock(state_->mutex);
  auto found = state_->find(kind, id);
  if (!found.ok()) return found.take_error();
  return (*found)->second;
}

Result<void> KeyvalTable::free(KeyvalKind kind, int id) {
  // Declared before the lock, so that the callbacks' destructors run after it was released.
  Ref<Keyval> freed;
  const std::lock_guard lock(state_->mutex);
  auto found = state_->find(kind, id);
  if (!found.ok()) return found.take_error();
  freed = std::move((*found)->second);
  state_->keyvals.erase(*found);
  return {};
}

}  // namespace hawser::core
