// SimBootstrap: the bootstrap of one simulated process; what it publishes becomes visible to the
// others after a while.
//
// Ownership: borrows the Directory, which all processes of the job share.
// Threads:   one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "sim/random.hpp"
#include "sim/scheduler.hpp"

namespace hawser::sim {

/// What the processes of a job published, which hosts they are on, and who has come to its end.
class Directory {
 public:
  Directory(Scheduler& scheduler, std::uint64_t seed, std::uint32_t processes);

  [[nodiscard]] bootstrap::Placement placement(std::uint32_t index) const;
  [[nodiscard]] std::optional<std::uint32_t> local_rank(std::uint32_t of,
                                                        std::uint32_t seen_from) const;
  void publish(std::uint32_t index, std::string_view key, std::span<const std::byte> value);
  [[nodiscard]] std::optional<std::vector<std::byte>> look_up(std::uint32_t index,
                                                              std::string_view key) const;
  void arrive_at_end();
  [[nodiscard]] bool have_all_arrived_at_end() const { return arrived_at_end_ >= processes_; }
  /// Others can see something that process INDEX has published.
  [[nodiscard]] bool is_visible(std::uint32_t index) const {
    const auto first = visible_.lower_bound({index, std::string()});
    return first != visible_.end() && first->first.first == index;
  }
  [[noreturn]] void abort(std::string_view sentence) { scheduler_.fail(std::string(sentence)); }

 private:
  using Key = std::pair<std::uint32_t, std::string>;

  Scheduler& scheduler_;
  Random random_;
  const std::uint64_t job_;
  const std::uint32_t processes_;
  const std::uint32_t per_host_;
  const std::uint64_t publish_ns_max_;  // until others see what one says
  std::map<Key, std::vector<std::byte>> visible_;
  std::vector<std::uint64_t> last_visible_ns_;  // of each process: when all that it published is
  std::uint32_t arrived_at_end_ = 0;
};

class SimBootstrap final : public bootstrap::Bootstrap {
 public:
  SimBootstrap(Directory& directory, std::uint32_t index)
      : directory_(directory), placement_(directory.placement(index)) {}

  [[nodiscard]] const bootstrap::Placement& placement() const override { return placement_; }
  bootstrap::Result<void> publish(std::string_view key, std::span<const std::byte> value) override {
    directory_.publish(placement_.self.index, key, value);
    return {};
  }
  bootstrap::Result<std::optional<std::vector<std::byte>>> look_up(std::uint32_t index,
                                                                   std::string_view key) override {
    return directory_.look_up(index, key);
  }
  [[nodiscard]] std::optional<HostMemory> host_memory() const override { return std::nullopt; }
  [[nodiscard]] std::optional<std::uint32_t> local_rank_of(std::uint32_t index) const override {
    return directory_.local_rank(index, placement_.self.index);
  }
  void arrive_at_end() override { directory_.arrive_at_end(); }
  [[nodiscard]] bool have_all_arrived_at_end() const override {
    return directory_.have_all_arrived_at_end();
  }
  void report_initialized() override {}
  void report_finalized() override {}
  [[noreturn]] void abort(int, std::string_view sentence) override { directory_.abort(sentence); }

 private:
  Directory& directory_;
  const bootstrap::Placement placement_;
};

}  // namespace hawser::sim
