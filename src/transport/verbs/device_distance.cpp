#include "transport/verbs/device_distance.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <fstream>

namespace hawser::transport::verbs {

unsigned distance_to(const ibv_device& device) {
  int device_node = -1;  // as the kernel says it of one that is equally far from all
  std::ifstream(fmt::format("{}/device/numa_node", device.ibdev_path)) >> device_node;
  unsigned cpu = 0;
  unsigned node = 0;
  if (device_node < 0 || ::getcpu(&cpu, &node) != 0) return local_distance;
  std::ifstream table(fmt::format("/sys/devices/system/node/node{}/distance", node));
  unsigned distance = local_distance;
  for (int each = 0; each <= device_node; ++each)
    if (!(table >> distance)) return local_distance;
  return distance;
}

}  // namespace hawser::transport::verbs
