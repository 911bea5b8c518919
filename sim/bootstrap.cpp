#include "sim/bootstrap.hpp"

#include <algorithm>

namespace hawser::sim {

Directory::Directory(Scheduler& scheduler, std::uint64_t seed, std::uint32_t processes)
    : scheduler_(scheduler),
      random_(seed, 3),
      job_(random_.next()),
      processes_(processes),
      per_host_(random_.between<std::uint32_t>(1, processes)),
      publish_ns_max_(std::uint64_t{100} << random_.below(14)),
      last_visible_ns_(processes) {}

bootstrap::Placement Directory::placement(std::uint32_t index) const {
  const std::uint32_t first_of_host = index - index % per_host_;
  bootstrap::Placement placement;
  placement.self = {job_, index, 0};
  placement.size = processes_;
  placement.universe_size = static_cast<int>(processes_);
  placement.local_rank = index - first_of_host;
  placement.local_size = std::min(per_host_, processes_ - first_of_host);
  placement.launcher = "simulator";
  return placement;
}

std::optional<std::uint32_t> Directory::local_rank(std::uint32_t of,
                                                   std::uint32_t seen_from) const {
  if (of >= processes_ || of / per_host_ != seen_from / per_host_) return std::nullopt;
  return of % per_host_;
}

void Directory::publish(std::uint32_t index, std::string_view key,
                        std::span<const std::byte> value) {
  scheduler_.note("{} publishes {} bytes", index, value.size());
  std::uint64_t& last_ns = last_visible_ns_[index];
  last_ns = std::max(last_ns, scheduler_.now_ns() + random_.below(publish_ns_max_));
  scheduler_.after(
      last_ns - scheduler_.now_ns(),
      [this, entry = Key(index, key), bytes = std::vector<std::byte>(value.begin(), value.end())] {
        visible_.emplace(entry, bytes);
        for (std::uint32_t i = 0; i < processes_; ++i) scheduler_.wake(i);
      });
}

void Directory::arrive_at_end() {
  scheduler_.after(random_.below(publish_ns_max_), [this] {
    ++arrived_at_end_;
    if (!have_all_arrived_at_end()) return;
    for (std::uint32_t i = 0; i < processes_; ++i) scheduler_.wake(i);
  });
}

std::optional<std::vector<std::byte>> Directory::look_up(std::uint32_t index,
                                                         std::string_view key) const {
  const auto found = visible_.find({index, std::string(key)});
  if (found == visible_.end()) return std::nullopt;
  return found->second;
}

}  // namespace hawser::sim
