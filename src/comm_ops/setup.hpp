// Meeting: processes that agree on something before they have a communicator in common.
//
// Messages:  travel under context 0, which every process listens on, as Traffic::setup. What sets
//            one meeting apart from others is the hash of all that its members know of it: 30 bits
//            are the tag, all 128 are in each message, so that a clash is found and is an error.
// Ownership: lives on the caller's stack.
// Threads:   several meetings of a process may go on at once, in different threads.
#pragma once

#include <string_view>

#include "comm_ops/assemble.hpp"

namespace hawser::comm_ops {

/// The hash of what the members of a meeting know. Not meant to withstand forgery.
class Agenda {
 public:
  enum class Kind : std::uint64_t { create_group, from_group, from_groups, leaders };

  explicit Agenda(Kind kind) { add(static_cast<std::uint64_t>(kind)); }
  Agenda& add(std::uint64_t value);
  Agenda& add(std::string_view text);
  Agenda& add(const Group& members);
  [[nodiscard]] const core::GlobalId& hash() const { return hash_; }

 private:
  core::GlobalId hash_{};
};

/// A communicator of the setup context, with this process as rank RANK of GROUP.
Ref<Comm> make_setup_comm(Ref<Group> group, int rank, Ref<core::Errhandler> errhandler);

class Meeting {
 public:
  /// This process is member RANK of GROUP.
  Meeting(p2p::Engine& engine, Ref<Group> group, int rank, const Agenda& agenda,
          Ref<core::Errhandler> errhandler);

  [[nodiscard]] Comm& comm() { return *comm_; }
  [[nodiscard]] const core::GlobalId& hash() const { return hash_; }
  [[nodiscard]] int tag() const { return static_cast<int>(hash_[0] & 0x3fffffff); }

  /// Everybody tells everybody: in a line to the first member, and back.
  Result<std::vector<Numbers>> exchange(const Numbers& mine);

 private:
  Result<void> hear_members(std::vector<Numbers>& all);
  Result<void> answer_members(const std::vector<Numbers>& all, int code);
  Result<void> hear_answer(std::vector<Numbers>& all);
  [[nodiscard]] p2p::Envelope envelope(int peer);
  Result<void> send(int peer, const void* data, std::size_t bytes);
  Result<void> receive(int peer, void* data, std::size_t bytes);

  p2p::Engine& engine_;
  const core::GlobalId hash_;
  const Ref<Comm> comm_;
};

}  // namespace hawser::comm_ops
