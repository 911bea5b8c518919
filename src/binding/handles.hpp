// HandleTraits<T>: the C handle type of an object class T, its numbers in the ABI, and the error
// class of a wrong one.
#pragma once

#include <bit>
#include <cstdint>

#include "base/result.hpp"
#include "binding/handle_table.hpp"
#include "binding/mpi_abi.hpp"
#include "binding/objects.hpp"
#include "core/comm/comm.hpp"
#include "core/datatype/datatype.hpp"
#include "core/op/op.hpp"
#include "core/request/request.hpp"
#include "p2p/backend.hpp"

namespace hawser::binding {

using base::ErrorClass;

template <class T>
struct HandleTraits;

/// Numbers [first, last] are predefined; the null handle is the first of them.
template <class C, HandleKind Kind, std::uint64_t First, std::uint64_t Last, ErrorClass Wrong>
struct HandleNumbers {
  using c_type = C;
  static constexpr HandleKind kind = Kind;
  static constexpr std::uint64_t first = First;
  static constexpr std::uint64_t last = Last;
  static constexpr ErrorClass wrong = Wrong;
};

template <>
struct HandleTraits<core::Op> : HandleNumbers<MPI_Op, HandleKind::op, 0x20, 0x3f, ErrorClass::op> {
  static constexpr const char* name = "MPI_Op";
};
template <>
struct HandleTraits<core::Comm>
    : HandleNumbers<MPI_Comm, HandleKind::comm, 0x100, 0x107, ErrorClass::comm> {
  static constexpr const char* name = "MPI_Comm";
};
template <>
struct HandleTraits<core::Group>
    : HandleNumbers<MPI_Group, HandleKind::group, 0x108, 0x10f, ErrorClass::group> {
  static constexpr const char* name = "MPI_Group";
};
template <>
struct HandleTraits<Win> : HandleNumbers<MPI_Win, HandleKind::win, 0x110, 0x117, ErrorClass::win> {
  static constexpr const char* name = "MPI_Win";
};
template <>
struct HandleTraits<File>
    : HandleNumbers<MPI_File, HandleKind::file, 0x118, 0x11f, ErrorClass::file> {
  static constexpr const char* name = "MPI_File";
};
template <>
struct HandleTraits<Session>
    : HandleNumbers<MPI_Session, HandleKind::session, 0x120, 0x127, ErrorClass::session> {
  static constexpr const char* name = "MPI_Session";
};
template <>
struct HandleTraits<p2p::Message>
    : HandleNumbers<MPI_Message, HandleKind::message, 0x128, 0x12f, ErrorClass::request> {
  static constexpr const char* name = "MPI_Message";
};
template <>
struct HandleTraits<core::Info>
    : HandleNumbers<MPI_Info, HandleKind::info, 0x130, 0x13f, ErrorClass::info> {
  static constexpr const char* name = "MPI_Info";
};
template <>
struct HandleTraits<core::Errhandler>
    : HandleNumbers<MPI_Errhandler, HandleKind::errhandler, 0x140, 0x17f, ErrorClass::errhandler> {
  static constexpr const char* name = "MPI_Errhandler";
};
template <>
struct HandleTraits<core::Request>
    : HandleNumbers<MPI_Request, HandleKind::request, 0x180, 0x1ff, ErrorClass::request> {
  static constexpr const char* name = "MPI_Request";
};
template <>
struct HandleTraits<core::Datatype>
    : HandleNumbers<MPI_Datatype, HandleKind::datatype, 0x200, 0x2ff, ErrorClass::type> {
  static constexpr const char* name = "MPI_Datatype";
};

inline constexpr std::size_t predefined_handles = 0x300;

template <class C>
std::uint64_t raw_handle(C handle) {
  return std::bit_cast<std::uint64_t>(handle);
}

template <class T>
typename HandleTraits<T>::c_type c_handle(std::uint64_t handle) {
  return std::bit_cast<typename HandleTraits<T>::c_type>(handle);
}

template <class T>
typename HandleTraits<T>::c_type null_handle() {
  return c_handle<T>(HandleTraits<T>::first);
}

}  // namespace hawser::binding
