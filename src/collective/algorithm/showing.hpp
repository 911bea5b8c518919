// What a member of a team shows of a user's buffer.
#pragma once

#include "collective/arguments.hpp"
#include "collective/team/team.hpp"

namespace hawser::collective {

/// Writes the LENGTH bytes of BUFFER from OFFSET on to PLACE, where this member shows them.
inline void show(Team& team, const ConstBuffer& buffer, Count offset, std::byte* place,
                 Count length) {
  const auto copy = [&](std::byte* to, const std::byte* from, std::size_t bytes) {
    team.copy_in(to, from, bytes);
  };
  p2p::pack_by(copy, buffer, offset, place, length);
}

/// The same where MEMBER alone reads them.
inline void show_to(Team& team, int member, const ConstBuffer& buffer, Count offset,
                    std::byte* place, Count length) {
  const auto copy = [&](std::byte* to, const std::byte* from, std::size_t bytes) {
    team.copy_to(member, to, from, bytes);
  };
  p2p::pack_by(copy, buffer, offset, place, length);
}

}  // namespace hawser::collective
