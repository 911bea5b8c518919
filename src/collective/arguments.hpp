// What each collective is called with (MPI-5.0 chapter 6): plain structs that the binding fills.
//
// Ownership: everything is borrowed. A blocking call needs it until it returns. A nonblocking call
//            reads the argument arrays at once, retains types and operation, and needs the data
//            buffers until its request completes.
// Roots:     ranks of the communicator; on an intercommunicator root_here, proc_null or a rank of
//            the remote group.
// In place:  `in_place` says that this process passed MPI_IN_PLACE where the standard allows it;
//            the buffer it replaces is then not looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/comm/comm.hpp"
#include "core/datatype/datatype.hpp"
#include "core/op/op.hpp"
#include "p2p/backend.hpp"

namespace hawser::collective {

using base::Count;
using core::Comm;
using core::Datatype;
using core::Error;
using core::ErrorClass;
using core::Op;
using core::Ref;
using core::Request;
using core::Result;
using p2p::Buffer;
using p2p::ConstBuffer;

/// MPI_ROOT: this process is the root of an operation on an intercommunicator.
inline constexpr int root_here = -4;

/// A user's array of counts or displacements, as it came: int, or 64 bits wide (MPI_Count,
/// MPI_Aint). Null means absent.
struct CountView {
  const void* data = nullptr;
  bool wide = false;

  explicit operator bool() const { return data != nullptr; }
  Count operator[](int index) const {
    return wide ? static_cast<const std::int64_t*>(data)[index]
                : static_cast<const int*>(data)[index];
  }
};

// In all of them `algorithm` forces an algorithm by name where it can do the job; empty: the table
// in select/ decides. It must be the same on all members.

struct BarrierArguments {
  std::string_view algorithm{};
};

struct BcastArguments {
  Buffer buffer;
  int root = 0;
  std::string_view algorithm{};
};

/// `receive.count` items from each member; significant at the root only.
struct GatherArguments {
  ConstBuffer send;
  Buffer receive;
  int root = 0;
  bool in_place = false;
  std::string_view algorithm{};
};

/// `receive.count` is not used. Displacements count in extents of the type.
struct GathervArguments {
  ConstBuffer send;
  Buffer receive;
  CountView counts;
  CountView displacements;
  int root = 0;
  bool in_place = false;
  std::string_view algorithm{};
};

/// `send.count` items to each member; significant at the root only.
struct ScatterArguments {
  ConstBuffer send;
  Buffer receive;
  int root = 0;
  bool in_place = false;
  std::string_view algorithm{};
};

/// `send.count` is not used.
struct ScattervArguments {
  ConstBuffer send;
  CountView counts;
  CountView displacements;
  Buffer receive;
  int root = 0;
  bool in_place = false;
  std::string_view algorithm{};
};

struct AllgatherArguments {
  ConstBuffer send;
  Buffer receive;
  bool in_place = false;
  std::string_view algorithm{};
};

/// `receive.count` is not used.
struct AllgathervArguments {
  ConstBuffer send;
  Buffer receive;
  CountView counts;
  CountView displacements;
  bool in_place = false;
  std::string_view algorithm{};
};

/// `send.count` and `receive.count` items for and from each member.
struct AlltoallArguments {
  ConstBuffer send;
  Buffer receive;
  bool in_place = false;
  std::string_view algorithm{};
};

/// `send.count` and `receive.count` are not used.
struct AlltoallvArguments {
  ConstBuffer send;
  CountView send_counts;
  CountView send_displacements;
  Buffer receive;
  CountView receive_counts;
  CountView receive_displacements;
  bool in_place = false;
  std::string_view algorithm{};
};

/// Displacements are bytes; one type per peer.
struct AlltoallwArguments {
  const void* send = nullptr;
  CountView send_counts;
  CountView send_displacements;
  Datatype* const* send_types = nullptr;
  void* receive = nullptr;
  CountView receive_counts;
  CountView receive_displacements;
  Datatype* const* receive_types = nullptr;
  bool in_place = false;
  std::string_view algorithm{};
};

/// COUNT items of TYPE, combined by OP (whose check() has passed).
struct ReduceArguments {
  const void* send = nullptr;
  void* receive = nullptr;  // significant at the root only
  Count count = 0;
  Datatype* type = nullptr;
  Op* op = nullptr;
  int root = 0;
  bool in_place = false;
  std::string_view algorithm{};
};

struct AllreduceArguments {
  const void* send = nullptr;
  void* receive = nullptr;
  Count count = 0;
  Datatype* type = nullptr;
  Op* op = nullptr;
  bool in_place = false;
  std::string_view algorithm{};
};

/// `counts[r]` items of the result go to member r.
struct ReduceScatterArguments {
  const void* send = nullptr;
  void* receive = nullptr;
  CountView counts;
  Datatype* type = nullptr;
  Op* op = nullptr;
  bool in_place = false;
  std::string_view algorithm{};
};

/// COUNT items of the result go to each member.
struct ReduceScatterBlockArguments {
  const void* send = nullptr;
  void* receive = nullptr;
  Count count = 0;
  Datatype* type = nullptr;
  Op* op = nullptr;
  bool in_place = false;
  std::string_view algorithm{};
};

struct ScanArguments {
  const void* send = nullptr;
  void* receive = nullptr;
  Count count = 0;
  Datatype* type = nullptr;
  Op* op = nullptr;
  bool in_place = false;
  std::string_view algorithm{};
};

struct ExscanArguments {
  const void* send = nullptr;
  void* receive = nullptr;
  Count count = 0;
  Datatype* type = nullptr;
  Op* op = nullptr;
  bool in_place = false;
  std::string_view algorithm{};
};

/// Algorithms that the user forces, by collective; the binding hands them on in `algorithm`.
struct Tuning {
  std::string barrier, bcast, gather, gatherv, scatter, scatterv, allgather, allgatherv, alltoall,
      alltoallv, alltoallw, reduce, allreduce, reduce_scatter, reduce_scatter_block, scan, exscan;
};

}  // namespace hawser::collective
