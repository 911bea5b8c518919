// What a rank asks of a PMI-1 launcher to have a job started, and what it leaves for the new
// processes: pure functions.
//
//   mcmd=spawn nprocs=N execname=PROGRAM totspawns=PROGRAMS spawnssofar=NUMBER arg1=… argcnt=N
//   preput_num=N preput_key_0=… preput_val_0=… info_num=N info_key_0=… info_val_0=… endcmd
//
// one of these a line, once for each program. What is "preput" the new processes find on their
// board: here variables for their environment, which PMI-1 does not carry otherwise, and which on a
// command line everybody could read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/spawn.hpp"
#include "bootstrap/value_text.hpp"

namespace hawser::bootstrap::pmi {

/// Of text NUMBER, from 0, of the variables that are left for new processes.
std::string variables_key(std::uint32_t number);

using Variables = std::vector<std::pair<std::string, std::string>>;
/// VARIABLES in pieces that can be carried, and back. Nothing unless all names begin with HAWSER_.
Values pack_variables(const Variables& variables);
std::optional<Variables> unpack_variables(const Values& pieces);

/// All lines, without the last new line. The programs have directories; TEXTS are what is left on
/// the board. MPI_ERR_SPAWN if it can't be said in lines.
base::Result<std::string> spawn_lines(const SpawnRequest& request,
                                      std::span<const std::string> texts);

}  // namespace hawser::bootstrap::pmi
