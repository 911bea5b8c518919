// The processes that stem from this one, however deep. mpirun is the reaper of its descendants
// (PR_SET_CHILD_SUBREAPER): the orphans of a rank become its children and can't escape.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>
#include <vector>

namespace hawser::launcher {

/// Makes this process the reaper of its descendants.
void become_reaper();
/// Whether this process has a child, ended or not.
bool has_children();
/// Direct children of this process.
std::vector<pid_t> children();
/// Everything below this process that still runs, without EXCLUDED children and what is below them.
std::vector<pid_t> descendants(std::span<const pid_t> excluded);

/// The parent in a line of /proc/PID/stat; 0 if the process has ended or the line is broken.
pid_t parent_in_stat_line(std::string_view line);

}  // namespace hawser::launcher
