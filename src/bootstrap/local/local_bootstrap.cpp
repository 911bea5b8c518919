#include "bootstrap/local/local_bootstrap.hpp"

#include <fmt/format.h>

#include "bootstrap/abort_message.hpp"
#include "bootstrap/local/spawned_job.hpp"
#include "bootstrap/variables.hpp"
#include "platform/process.hpp"
#include "platform/this_process.hpp"

namespace hawser::bootstrap {

Result<std::unique_ptr<Bootstrap>> LocalBootstrap::connect() {
  const std::optional<std::string> fd_text = take_variable(job_fd_variable);
  const std::optional<std::string> index_text = take_variable(job_index_variable);
  if (!fd_text && !index_text) return singleton();
  if (!fd_text || !index_text)
    return Error(ErrorClass::other, fmt::format("{} is set without {}; mpirun sets both or none",
                                                fd_text ? job_fd_variable : job_index_variable,
                                                fd_text ? job_index_variable : job_fd_variable));
  const Result<std::uint32_t> number = parse_variable(job_fd_variable, *fd_text);
  if (!number) return Error(number.error());
  const Result<std::uint32_t> index = parse_variable(job_index_variable, *index_text);
  if (!index) return Error(index.error());

  platform::FileDescriptor fd(static_cast<int>(*number));
  Result<std::unique_ptr<Bootstrap>> joined = join(fd, *index);
  // Refused: whoever opened that number still needs it.
  if (fd.is_open()) static_cast<void>(fd.release());
  return joined;
}

Result<std::unique_ptr<Bootstrap>> LocalBootstrap::singleton() {
  Result<JobSegment> segment = JobSegment::create({.host_cores = platform::granted_cores()});
  if (!segment) return segment.take_error();
  return claim(*std::move(segment), 0);
}

Result<std::unique_ptr<Bootstrap>> LocalBootstrap::join(platform::FileDescriptor& fd,
                                                        std::uint32_t index) {
  Result<JobSegment> segment = JobSegment::attach(fd);
  if (!segment)
    return Error(ErrorClass::other, fmt::format("the descriptor that {} names: {}", job_fd_variable,
                                                segment.error().sentence()));
  platform::close_on_exec(segment->fd());
  return claim(*std::move(segment), index);
}

Result<std::unique_ptr<Bootstrap>> LocalBootstrap::claim(JobSegment segment, std::uint32_t index) {
  const std::uint32_t size = segment.facts().size;
  if (index >= size)
    return Error(ErrorClass::other,
                 fmt::format("{} is {}, which is not in [0,{})", job_index_variable, index, size));
  std::int32_t owner = 0;
  if (!segment.entry(index).pid.compare_exchange_strong(owner, platform::process_id(),
                                                        std::memory_order_acq_rel))
    return Error(ErrorClass::other,
                 fmt::format("rank {} of this job was already taken by process {}; mpirun can give "
                             "each rank to one MPI program only",
                             index, owner));
  return std::unique_ptr<Bootstrap>(new LocalBootstrap(std::move(segment), index));
}

LocalBootstrap::LocalBootstrap(JobSegment segment, std::uint32_t index)
    : segment_(std::move(segment)), entry_(segment_.entry(index)) {
  const JobSegment::Facts& facts = segment_.facts();
  placement_.self = {facts.job, index, 0};
  placement_.size = facts.size;
  placement_.key = facts.key;
  placement_.app_number = entry_.app_number;
  placement_.universe_size = static_cast<int>(facts.size);
  placement_.local_rank = index;
  placement_.local_size = facts.size;
  placement_.host_cores = facts.host_cores;
  placement_.launcher = facts.launcher_pid == 0 ? "none" : "hawser mpirun";
  // The ranks of a job are siblings; all descend from the launcher.
  if (facts.launcher_pid != 0) platform::let_read_us(facts.launcher_pid);
}

Result<void> LocalBootstrap::publish(std::string_view key, std::span<const std::byte> value) {
  return publish_value(entry_.values, key, value);
}

Result<std::optional<std::vector<std::byte>>> LocalBootstrap::look_up(std::uint32_t index,
                                                                      std::string_view key) {
  if (index >= placement_.size)
    return Error(ErrorClass::arg,
                 fmt::format("process {} is not in [0,{})", index, placement_.size));
  return find_value(segment_.entry(index).values, key);
}

std::optional<Bootstrap::HostMemory> LocalBootstrap::host_memory() const {
  const JobSegment::Facts& facts = segment_.facts();
  return HostMemory{&segment_.fd(), facts.host_offset, facts.host_bytes};
}

std::optional<std::uint32_t> LocalBootstrap::local_rank_of(std::uint32_t index) const {
  if (index >= placement_.size) return std::nullopt;
  return index;
}

Bootstrap::Ending LocalBootstrap::ending_of(std::uint32_t index) const {
  if (!segment_.has_ended(index)) return Ending::none;
  const auto state =
      static_cast<ProcessState>(segment_.entry(index).state.load(std::memory_order_acquire));
  return state == ProcessState::finalized ? Ending::finalized : Ending::died;
}

void LocalBootstrap::report_initialized() {
  entry_.state.store(static_cast<std::uint32_t>(ProcessState::initialized),
                     std::memory_order_release);
}

void LocalBootstrap::report_finalized() {
  entry_.state.store(static_cast<std::uint32_t>(ProcessState::finalized),
                     std::memory_order_release);
}

Result<std::unique_ptr<Spawning>> LocalBootstrap::spawn(const SpawnRequest& request) {
  const Result<std::string> mpirun = own_mpirun();
  if (!mpirun) return mpirun.error();
  Result<std::unique_ptr<SpawnedJob>> job = SpawnedJob::start(*mpirun, request);
  if (!job) return job.take_error();
  if (const pid_t launcher = segment_.facts().launcher_pid; launcher != 0) {
    HAWSER_TRY(segment_.record_spawned((*job)->launcher()));
    platform::nudge_launcher(launcher);
  }
  return std::unique_ptr<Spawning>(std::move(*job));
}

void LocalBootstrap::abort(int code, std::string_view sentence) {
  segment_.record_abort({code, placement_.self.index, std::string(sentence)});
  const pid_t launcher = segment_.facts().launcher_pid;
  if (launcher == 0) {
    print_abort(code, sentence);
  } else {
    // We may be the child of a script that goes on without us: the launcher looks at the record
    // now.
    platform::nudge_launcher(launcher);
  }
  platform::end_process(exit_code_of(code));
}

}  // namespace hawser::bootstrap
