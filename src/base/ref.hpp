// RefCounted and Ref<T>: intrusive, thread-safe reference counts for the objects behind handles.
//
// Ownership: a new object has one reference, which adopt() takes over. The last Ref deletes. An
//            object that is kept until the OS process ends may be pinned: it is not counted then,
//            which saves the fast path atomic operations.
// Threads:   counts are atomic; the object itself is guarded by its owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace hawser::base {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const {
    if (references_.load(std::memory_order_relaxed) == pinned) return;
    references_.fetch_add(1, std::memory_order_relaxed);
  }
  /// The same for an object that no other thread knows yet.
  void retain_unshared() const {
    references_.store(references_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void release() const {
    // acquire: the deleter must see every write that other owners made before they let go. Nobody
    // else can add a reference to an object that has one, ours.
    const std::uint32_t references = references_.load(std::memory_order_acquire);
    if (references != 1 &&
        (references == pinned || references_.fetch_sub(1, std::memory_order_acq_rel) != 1))
      return;
    dispose();
  }
  /// release() where no other thread can have the last reference, or any to give up.
  [[gnu::always_inline]] void release_unshared() const {
    const std::uint32_t references = references_.load(std::memory_order_relaxed);
    if (references == pinned) return;
    if (references == 1) {
      dispose();
    } else {
      references_.store(references - 1, std::memory_order_relaxed);
    }
  }
  /// Never deletes this object from now on.
  void pin() const { references_.store(pinned, std::memory_order_relaxed); }
  [[nodiscard]] bool is_pinned() const {
    return references_.load(std::memory_order_relaxed) == pinned;
  }
  [[nodiscard]] std::uint32_t reference_count() const {
    return references_.load(std::memory_order_relaxed);
  }

 protected:
  virtual ~RefCounted() = default;
  /// Called once, by the last release. Pooled objects override it to return to their pool.
  virtual void dispose() const { delete this; }
  /// For pooled objects that start a new life: one reference.
  void reset_references() const { references_.store(1, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t pinned = 0xffffffff;

  mutable std::atomic<std::uint32_t> references_{1};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT
  /// Shares OBJECT: adds a reference.
  static Ref share(T* object) {
    if (object != nullptr) object->retain();
    return adopt(object);
  }
  /// Takes over the reference that the caller held.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  Ref(Ref<U> other) : object_(other.leak()) {}  // NOLINT
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }

  [[nodiscard]] T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  /// Gives the reference away; the caller must release it.
  [[nodiscard]] T* leak() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

template <class T, class... Arguments>
Ref<T> make_ref(Arguments&&... arguments) {
  return Ref<T>::adopt(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace hawser::base
