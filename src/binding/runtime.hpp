// Runtime: the one global of the library (DESIGN §7). It is what exists without MPI_Init: handle
// tables, predefined objects, error classes, keyvals; and the slot for the process that
// initialisation puts in.
//
// Ownership: created at first use and never destroyed, since MPI may be called by destructors of
//            the program.
// Threads:   the tables lock themselves; process and phase are set by initialisation alone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "binding/fortran_abi.hpp"
#include "binding/handles.hpp"
#include "core/attribute/attribute.hpp"
#include "core/errhandler/errhandler.hpp"

namespace hawser::session {
class Process;
}

namespace hawser::binding {

/// What the binding asks of a process beyond the calls into it.
class Job {
 public:
  virtual ~Job() = default;
  /// Ends the job with CODE; SENTENCE has been printed already.
  [[noreturn]] virtual void abort(int code, std::string_view sentence) = 0;
  /// Rank in MPI_COMM_WORLD (for the text of errors).
  [[nodiscard]] virtual int world_rank() const = 0;
  [[nodiscard]] virtual base::Identity identity() const = 0;
};

/// The values behind the predefined attributes of communicators; the user gets their addresses.
struct PredefinedAttributes {
  int tag_ub = p2p::tag_max;
  int io = MPI_ANY_SOURCE;
  int host = MPI_PROC_NULL;
  int wtime_is_global = 0;
  int last_used_code = 0;  // brought up to date when asked for
  int appnum = MPI_UNDEFINED;
  int universe_size = MPI_UNDEFINED;
};

enum class Phase : std::uint8_t { before_init, running, finalized };

class Runtime {
 public:
  static Runtime& get() {
    Runtime* const runtime = instance_.load(std::memory_order_acquire);
    return runtime != nullptr ? *runtime : create();
  }

  /// Null unless MPI is initialised, and not yet finalised.
  static Runtime* running() {
    Runtime* const runtime = instance_.load(std::memory_order_acquire);
    return runtime != nullptr && runtime->phase() == Phase::running ? runtime : nullptr;
  }

  [[nodiscard]] Phase phase() const { return phase_.load(std::memory_order_acquire); }
  /// `running` from MPI_Init, or the first MPI_Session_init, on; `finalized` once the last of them
  /// has ended.
  void set_phase(Phase phase) { phase_.store(phase, std::memory_order_release); }

  /// The process, while there is one. The binding's own needs go through JOB.
  [[nodiscard]] session::Process* process() const { return process_; }
  [[nodiscard]] Job* job() const { return job_; }
  void attach(session::Process* process, Job* job) {
    process_ = process;
    job_ = job;
  }

  template <class T>
  [[nodiscard]] HandleTable& table() {
    return tables_[static_cast<std::size_t>(HandleTraits<T>::kind) - 1];
  }

  /// The object behind a handle of T's type; null for null handles, stale ones and garbage.
  template <class T>
  [[nodiscard, gnu::always_inline]] T* find(typename HandleTraits<T>::c_type handle) {
    const std::uint64_t raw = raw_handle(handle);
    if (raw >= predefined_end) [[likely]]
      return static_cast<T*>(table<T>().find(raw));
    const bool in_range = raw >= HandleTraits<T>::first && raw <= HandleTraits<T>::last;
    return in_range ? static_cast<T*>(predefined_[raw]) : nullptr;
  }

  /// Shows OBJECT to the user under a handle of its own (or the one that it has).
  template <class T>
  typename HandleTraits<T>::c_type show(Ref<T> object) {
    if (!object) return null_handle<T>();
    if constexpr (is_shown_once(HandleTraits<T>::kind)) {
      return c_handle<T>(table<T>().insert(std::move(object)));
    } else {
      return c_handle<T>(table<T>().share(std::move(object)));
    }
  }

  /// show() of an object that is never shown twice; takes over a reference to it.
  template <class T>
  [[gnu::always_inline]] typename HandleTraits<T>::c_type show_owned(T& object) {
    static_assert(is_shown_once(HandleTraits<T>::kind));
    return c_handle<T>(table<T>().insert_owned(object));
  }

  /// The object of a predefined handle; null takes it out again. Borrowed for object classes that
  /// end with the process (MPI_COMM_WORLD, MPI_COMM_SELF).
  void set_predefined(std::uint64_t handle, core::Object* object);
  template <class T>
  [[nodiscard]] T& predefined(std::uint64_t handle) {
    return static_cast<T&>(*predefined_[handle]);
  }
  /// MPI_COMM_WORLD and MPI_COMM_SELF; null unless the world model is initialised.
  [[nodiscard]] core::Comm* world() { return static_cast<core::Comm*>(predefined_[0x101]); }
  [[nodiscard]] core::Comm* self() { return static_cast<core::Comm*>(predefined_[0x102]); }

  [[nodiscard]] core::TypeTable& types() { return types_; }
  [[nodiscard]] core::ErrorTable& errors() { return errors_; }
  [[nodiscard]] core::KeyvalTable& keyvals() { return keyvals_; }
  [[nodiscard]] PredefinedAttributes& attributes() { return attributes_; }
  [[nodiscard]] FortranAbi& fortran() { return fortran_; }
  [[nodiscard]] core::Errhandler& errors_are_fatal() {
    return predefined<core::Errhandler>(raw_handle(MPI_ERRORS_ARE_FATAL));
  }
  /// Of errors that belong to no object: MPI_COMM_SELF's, a session's, or the initial one.
  [[nodiscard]] core::Errhandler& initial_errhandler() { return *initial_errhandler_; }
  void set_initial_errhandler(Ref<core::Errhandler> errhandler) {
    initial_errhandler_ = std::move(errhandler);
  }
  /// Of MPI_FILE_NULL: inherited by files that are opened (MPI-5.0 §14.7).
  [[nodiscard]] core::Errhandler& file_errhandler() { return *file_errhandler_; }
  void set_file_errhandler(Ref<core::Errhandler> errhandler) {
    file_errhandler_ = std::move(errhandler);
  }

 private:
  Runtime();
  static Runtime& create();

  inline static constinit std::atomic<Runtime*> instance_{nullptr};

  std::array<HandleTable, 15> tables_{HandleTable(HandleKind::comm),
                                      HandleTable(HandleKind::group),
                                      HandleTable(HandleKind::datatype),
                                      HandleTable(HandleKind::op),
                                      HandleTable(HandleKind::request),
                                      HandleTable(HandleKind::message),
                                      HandleTable(HandleKind::info),
                                      HandleTable(HandleKind::errhandler),
                                      HandleTable(HandleKind::session),
                                      HandleTable(HandleKind::win),
                                      HandleTable(HandleKind::file),
                                      HandleTable(HandleKind::enumeration),
                                      HandleTable(HandleKind::control_handle),
                                      HandleTable(HandleKind::performance_handle),
                                      HandleTable(HandleKind::performance_session)};
  std::array<core::Object*, predefined_handles> predefined_{};
  std::atomic<Phase> phase_{Phase::before_init};
  session::Process* process_ = nullptr;
  Job* job_ = nullptr;
  core::TypeTable types_;
  core::ErrorTable errors_;
  core::KeyvalTable keyvals_;
  PredefinedAttributes attributes_;
  FortranAbi fortran_;
  Ref<core::Errhandler> initial_errhandler_;
  Ref<core::Errhandler> file_errhandler_;
};

}  // namespace hawser::binding
