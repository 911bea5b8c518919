// A callback may set and delete other attributes of the same object, so nothing here keeps a
// position in `entries_` over a callback: it is looked up again. A value stays visible until its
// delete callback has returned.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "core/attribute/attribute.hpp"

namespace hawser::core {
namespace {

auto find_entry(auto& entries, int keyval) {
  return std::find_if(entries.begin(), entries.end(),
                      [keyval](const auto& entry) { return entry.keyval->id() == keyval; });
}

void remove_entry(auto& entries, int keyval) {
  if (const auto entry = find_entry(entries, keyval); entry != entries.end()) entries.erase(entry);
}

Error callback_failed(const char* which, int keyval, int code) {
  return Error::from_code(code, fmt::format("the {} callback of keyval {} returned error code {}",
                                            which, keyval, code));
}

/// The caller holds KEYVAL: the callback may free it, or delete the entry that it came from.
Result<void> call_delete(Object& owner, const Keyval& keyval, void* value) {
  if (!keyval.destroy()) return {};
  const int code = keyval.destroy()(owner, keyval.id(), value);
  if (code != 0) return callback_failed("delete", keyval.id(), code);
  return {};
}

}  // namespace

Result<void> AttributeSet::set(Object& owner, Ref<Keyval> keyval, void* value) {
  // The standard defines replacing as deleting and setting anew, so the new value is the youngest.
  if (find_entry(entries_, keyval->id()) != entries_.end()) HAWSER_TRY(erase(owner, keyval->id()));
  entries_.push_back({std::move(keyval), value});
  return {};
}

bool AttributeSet::get(int keyval, void** value) const {
  const auto entry = find_entry(entries_, keyval);
  if (entry == entries_.end()) return false;
  *value = entry->value;
  return true;
}

Result<void> AttributeSet::erase(Object& owner, int keyval) {
  const auto entry = find_entry(entries_, keyval);
  if (entry == entries_.end()) {
    return Error(ErrorClass::keyval, fmt::format("there is no attribute under keyval {}", keyval));
  }
  const Entry doomed = *entry;
  HAWSER_TRY(call_delete(owner, *doomed.keyval, doomed.value));
  remove_entry(entries_, keyval);
  return {};
}

Result<void> AttributeSet::copy_to(Object& owner, AttributeSet& target) const {
  HAWSER_ASSERT(target.empty());
  const std::vector<Entry> entries = entries_;
  for (const Entry& entry : entries) {
    const AttributeCopy& copy = entry.keyval->copy();
    const int id = entry.keyval->id();
    void* value_in = nullptr;
    if (!copy || !get(id, &value_in)) continue;
    void* value_out = nullptr;
    bool copied = false;
    const int code = copy(owner, id, value_in, &value_out, &copied);
    if (code != 0) return callback_failed("copy", id, code);
    if (copied) target.entries_.push_back({entry.keyval, value_out});
  }
  return {};
}

Result<void> AttributeSet::clear(Object& owner) {
  Result<void> first_failure;
  // Attributes that a callback sets meanwhile are deleted too.
  while (!entries_.empty()) {
    const Entry last = entries_.back();
    Result<void> deleted = call_delete(owner, *last.keyval, last.value);
    if (!deleted.ok() && first_failure.ok()) first_failure = std::move(deleted);
    remove_entry(entries_, last.keyval->id());
  }
  return first_failure;
}

}  // namespace hawser::core
