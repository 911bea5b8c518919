#include "sim/workload.hpp"

#include <algorithm>
#include <array>

#include "sim/workloads/workloads.hpp"

namespace hawser::sim {

namespace {

constexpr std::array workload_table = {
    WorkloadEntry{"ring", "a growing token goes round with blocking sends", make_ring},
    WorkloadEntry{"messages", "every way to send against every way to receive", make_messages},
    WorkloadEntry{"shifting", "partners that change from phase to phase", make_shifting},
    WorkloadEntry{"transfers", "long messages between pairs, one of which may compute",
                  make_transfers},
    WorkloadEntry{"flood", "many sends that nobody receives for a while", make_flood},
    WorkloadEntry{"collectives", "every collective, blocking or several at a time",
                  make_collectives},
    WorkloadEntry{"communicators", "trees of communicators, each tried out", make_communicators},
    WorkloadEntry{"survivors", "questions and answers among ranks that may die", make_survivors,
                  true},
};

}  // namespace

std::span<const WorkloadEntry> workloads() { return workload_table; }

const WorkloadEntry* find_workload(std::string_view name) {
  const auto found =
      std::find_if(workload_table.begin(), workload_table.end(),
                   [name](const WorkloadEntry& entry) { return entry.name == name; });
  return found == workload_table.end() ? nullptr : &*found;
}

}  // namespace hawser::sim
