#include "bootstrap/managed_bootstrap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bootstrap/abort_message.hpp"
#include "bootstrap/hexadecimal.hpp"
#include "platform/this_process.hpp"

namespace hawser::bootstrap {

namespace {

constexpr std::string_view secret_key = "job";
constexpr std::string_view offer_key = "host";
constexpr std::uint32_t rank_of_secret = 0;
constexpr std::uint64_t death_look_ns = 250'000'000;
constexpr std::size_t job_number_bytes = sizeof(std::uint64_t);

std::string key_of_text(std::uint32_t commit, std::uint32_t text) {
  return fmt::format("values.{}.{}", commit, text);
}

Error wrong_claim(const ManagedJob& job, const std::string& what) {
  return {ErrorClass::other, fmt::format("{} says of job {} {}", job.launcher, job.name, what)};
}

Result<void> check(const ManagedJob& job) {
  if (job.size < 1 || job.size > INT32_MAX || job.rank >= job.size)
    return wrong_claim(job, fmt::format("that we are rank {} of {}", job.rank, job.size));
  const auto& local = job.claimed_local;
  if (local.size() > job_processes_max || !std::ranges::is_sorted(local, std::less_equal<>()) ||
      !std::ranges::binary_search(local, job.rank) || local.back() >= job.size)
    return wrong_claim(job, fmt::format("that {} ranks are on this host, without rank {} or with "
                                        "one twice",
                                        local.size(), job.rank));
  if (job.value_bytes_max < value_text_bytes_min)
    return wrong_claim(job, fmt::format("that it carries texts of {} bytes; {} are needed",
                                        job.value_bytes_max, value_text_bytes_min));
  return {};
}

}  // namespace

Result<std::unique_ptr<Bootstrap>> ManagedBootstrap::connect(
    std::unique_ptr<ProcessManager> manager, std::uint64_t arrival_ns) {
  const ManagedJob& job = manager->job();
  HAWSER_TRY(check(job));
  if (job.rank == rank_of_secret) HAWSER_TRY(put_secret(*manager));
  Result<LocalGroup> group = find_group(*manager);  // passes the first exchange
  if (!group) return group.take_error();
  const Result<Secret> secret = get_secret(*manager);
  if (!secret) return secret.error();
  HAWSER_TRY(group->share_cores());
  HAWSER_TRY(manager->exchange());
  return std::unique_ptr<Bootstrap>(
      new ManagedBootstrap(std::move(manager), *std::move(group), *secret, arrival_ns));
}

Result<void> ManagedBootstrap::put_secret(ProcessManager& manager) {
  std::array<std::byte, job_number_bytes + sizeof(JobKey)> secret{};
  platform::random_bytes(secret);
  return manager.put(secret_key, to_hexadecimal(secret));
}

Result<ManagedBootstrap::Secret> ManagedBootstrap::get_secret(ProcessManager& manager) {
  const auto text = manager.get(rank_of_secret, secret_key);
  if (!text) return text.error();
  const auto bytes = from_hexadecimal(text->value_or(""));
  if (!bytes || bytes->size() != job_number_bytes + sizeof(JobKey))
    return wrong_claim(manager.job(), "something else than rank 0 left for the others");
  Secret secret{};
  std::memcpy(&secret.job, bytes->data(), job_number_bytes);
  std::copy(bytes->begin() + job_number_bytes, bytes->end(), secret.key.begin());
  return secret;
}

Result<LocalGroup> ManagedBootstrap::find_group(ProcessManager& manager) {
  const ManagedJob& job = manager.job();
  const auto claimed = static_cast<std::uint32_t>(job.claimed_local.size());
  const std::uint32_t leader = job.claimed_local.front();
  if (leader == job.rank) {
    Result<LocalGroup> group = LocalGroup::lead(claimed);
    if (!group) return group.take_error();
    HAWSER_TRY(manager.put(offer_key, to_text(group->offer())));
    HAWSER_TRY(manager.exchange());
    return group;
  }
  HAWSER_TRY(manager.exchange());
  const auto text = manager.get(leader, offer_key);
  if (!text) return text.error();
  if (const auto offer = parse_offer(text->value_or(""))) {
    const auto self = std::ranges::lower_bound(job.claimed_local, job.rank);
    const auto place = static_cast<std::uint32_t>(self - job.claimed_local.begin());
    if (Result<LocalGroup> group = LocalGroup::join(*offer, place, claimed)) return group;
  }
  return LocalGroup::lead(1);
}

std::vector<ManagedBootstrap::Member> ManagedBootstrap::members_of(const LocalGroup& group,
                                                                   const ManagedJob& job) {
  if (group.size() != job.claimed_local.size()) return {{job.rank, group.place()}};  // alone
  std::vector<Member> members;
  for (std::uint32_t place = 0; place < group.size(); ++place)
    if (group.has_joined(place)) members.push_back({job.claimed_local[place], place});
  return members;
}

ManagedBootstrap::ManagedBootstrap(std::unique_ptr<ProcessManager> manager, LocalGroup group,
                                   const Secret& secret, std::uint64_t arrival_ns)
    : manager_(std::move(manager)),
      group_(std::move(group)),
      members_(members_of(group_, manager_->job())),
      is_one_host_(members_.size() == manager_->job().size),
      arrival_ns_(arrival_ns) {
  const ManagedJob& job = manager_->job();
  placement_.self = {secret.job, job.rank, 0};
  placement_.size = job.size;
  placement_.key = secret.key;
  placement_.app_number = job.app_number;
  placement_.universe_size = std::max(job.universe_size, static_cast<int>(job.size));
  placement_.local_rank = local_rank_of(job.rank).value_or(0);
  placement_.local_size = static_cast<std::uint32_t>(members_.size());
  placement_.host_cores = group_.shared_cores();
  placement_.launcher = job.launcher;
  // Ranks of a host are siblings, below the launcher's process there.
  platform::let_read_us(platform::parent_process_id());
}

Result<void> ManagedBootstrap::publish(std::string_view key, std::span<const std::byte> value) {
  HAWSER_TRY(publish_value(group_.own_entry().values, key, value));
  const std::lock_guard lock(mutex_);
  unpublished_[std::string(key)] = {value.begin(), value.end()};
  return {};
}

Result<void> ManagedBootstrap::commit() {
  const std::lock_guard lock(mutex_);
  if (!is_one_host_) {
    const auto texts = write_values(unpublished_, manager_->job().value_bytes_max);
    if (!texts) return texts.error();
    for (std::uint32_t i = 0; i < texts->size(); ++i)
      HAWSER_TRY(manager_->put(key_of_text(commits_, i), (*texts)[i]));
  }
  HAWSER_TRY(manager_->exchange());
  unpublished_.clear();
  ++commits_;
  return {};
}

Result<std::optional<std::vector<std::byte>>> ManagedBootstrap::look_up(std::uint32_t index,
                                                                        std::string_view key) {
  using Found = std::optional<std::vector<std::byte>>;
  if (index >= placement_.size)
    return Error(ErrorClass::arg,
                 fmt::format("process {} is not in [0,{})", index, placement_.size));
  if (const auto local = local_rank_of(index))
    return find_value(group_.segment().entry(members_[*local].place).values, key);
  const std::lock_guard lock(mutex_);
  Peer& peer = peers_[index];
  HAWSER_TRY(fetch(index, peer));
  const auto found = peer.values.find(key);
  return found == peer.values.end() ? Found() : Found(found->second);
}

Result<void> ManagedBootstrap::fetch(std::uint32_t index, Peer& peer) {
  for (; peer.commits < commits_; ++peer.commits) {
    if (has_left_)
      return Error(ErrorClass::other,
                   fmt::format("process {} was not heard of before MPI_Finalize, and afterwards {} "
                               "tells no more of it",
                               index, placement_.launcher));
    Result<Values> values = fetch_commit(index, peer.commits);
    if (!values) return values.take_error();
    peer.values.merge(*values);
  }
  return {};
}

Result<Values> ManagedBootstrap::fetch_commit(std::uint32_t index, std::uint32_t commit) {
  std::vector<std::string> texts;
  for (std::uint32_t count = 1; texts.size() < count;) {
    const auto text =
        manager_->get(index, key_of_text(commit, static_cast<std::uint32_t>(texts.size())));
    if (!text) return text.error();
    if (!*text)
      return Error(ErrorClass::other, fmt::format("{} does not know what process {} has published",
                                                  placement_.launcher, index));
    texts.push_back(**text);
    if (texts.size() > 1) continue;
    const Result<std::uint32_t> told = count_texts(texts.front());
    if (!told) return told.error();
    count = *told;
  }
  return read_values(texts);
}

std::optional<Bootstrap::HostMemory> ManagedBootstrap::host_memory() const {
  const JobSegment::Facts& facts = group_.segment().facts();
  return HostMemory{&group_.segment().fd(), facts.host_offset, facts.host_bytes};
}

std::optional<std::uint32_t> ManagedBootstrap::local_rank_of(std::uint32_t index) const {
  const auto found = std::ranges::lower_bound(members_, index, {}, &Member::index);
  if (found == members_.end() || found->index != index) return std::nullopt;
  return static_cast<std::uint32_t>(found - members_.begin());
}

std::uint32_t ManagedBootstrap::ended_count() const { return group_.segment().ended_count(); }

Bootstrap::Ending ManagedBootstrap::ending_of(std::uint32_t index) const {
  const auto local = local_rank_of(index);
  if (!local || !group_.segment().has_ended(members_[*local].place)) return Ending::none;
  const auto& state = group_.segment().entry(members_[*local].place).state;
  return state.load(std::memory_order_acquire) ==
                 static_cast<std::uint32_t>(ProcessState::finalized)
             ? Ending::finalized
             : Ending::died;
}

void ManagedBootstrap::look_for_ended() {
  const JobSegment& segment = group_.segment();
  for (const Member& member : members_) {
    if (segment.has_ended(member.place)) continue;
    if (!platform::is_process_there(segment.entry(member.place).pid))
      segment.record_end(member.place);
  }
}

std::uint64_t ManagedBootstrap::look_interval_ns() const {
  return members_.size() > 1 ? death_look_ns : 0;
}

void ManagedBootstrap::arrive_at_end() {
  if (is_one_host_) group_.segment().record_arrival(group_.place());
  const std::lock_guard lock(mutex_);
  has_arrived_ = true;
  // Without the launcher nobody can be waited for.
  if (!is_one_host_ && !manager_->start_barrier()) have_all_arrived_ = true;
}

bool ManagedBootstrap::have_all_arrived_at_end() const {
  if (is_one_host_) return group_.segment().have_all_arrived();
  const std::lock_guard lock(mutex_);
  if (have_all_arrived_ || !has_arrived_) return have_all_arrived_;
  const Result<bool> done = manager_->is_barrier_done();
  have_all_arrived_ = !done || *done;
  return have_all_arrived_;
}

int ManagedBootstrap::descriptor() const { return is_one_host_ ? -1 : manager_->descriptor(); }

void ManagedBootstrap::take_leave() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(has_left_, true)) return;
  // If the launcher is gone there is nobody to tell.
  for (const std::string& name : names_) static_cast<void>(manager_->unpublish_name(name));
  static_cast<void>(manager_->finalize());
}

void ManagedBootstrap::report_initialized() {
  group_.own_entry().state = static_cast<std::uint32_t>(ProcessState::initialized);
}

void ManagedBootstrap::report_finalized() {
  group_.own_entry().state = static_cast<std::uint32_t>(ProcessState::finalized);
  // Sessions may come and go before MPI_Init; after MPI_Finalize there is no other world.
  if (has_arrived_) take_leave();
}

void ManagedBootstrap::report_exit() { take_leave(); }

void ManagedBootstrap::abort(int code, std::string_view sentence) {
  print_abort(code, sentence);
  manager_->abort(exit_code_of(code), sentence);
  platform::end_process(code);  // not reached; GCC does not see that through the virtual call
}

}  // namespace hawser::bootstrap
