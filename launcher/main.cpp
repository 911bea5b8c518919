// mpirun: starts an MPI job on this host and stays until its end.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "bootstrap/job_segment.hpp"
#include "launcher/detach.hpp"
#include "launcher/job.hpp"
#include "launcher/options.hpp"
#include "launcher/parameters.hpp"
#include "launcher/placement/binding.hpp"
#include "launcher/signals.hpp"
#include "platform/process.hpp"

namespace hawser::launcher {

namespace {

constexpr int code_usage = 2;
constexpr int code_no_resources = 1;

int refuse(int code, std::string_view sentence) {
  fmt::print(stderr, "mpirun: {}\n", sentence);
  return code;
}

/// Pipes must not get the numbers of standard streams that our parent has closed.
void open_standard_streams() {
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  ::close(fd);
}

/// Allows this process as many descriptors as it may have; *before is what programs shall get.
Result<void> raise_descriptor_limit(std::uint32_t ranks, rlimit* before) {
  constexpr std::uint64_t own_descriptors = 32;
  constexpr std::uint64_t descriptors_per_rank = 2;
  ::getrlimit(RLIMIT_NOFILE, before);
  const rlimit raised{before->rlim_max, before->rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  const std::uint64_t needed = own_descriptors + descriptors_per_rank * ranks;
  if (needed <= raised.rlim_max) return {};
  return Error(ErrorClass::no_mem,
               fmt::format("{} ranks need {} file descriptors in mpirun, and its hard limit is {} "
                           "(ulimit -Hn)",
                           ranks, needed, raised.rlim_max));
}

int run(const Options& options) {
  const Result<JobParameters> parameters = read_parameters(options);
  if (!parameters) return refuse(code_usage, parameters.error().sentence());
  const std::uint32_t ranks = options.processes();
  rlimit descriptors{};
  const Result<void> raised = raise_descriptor_limit(ranks, &descriptors);
  if (!raised) return refuse(code_no_resources, raised.error().sentence());
  const Result<bootstrap::JobSegment> segment =
      bootstrap::JobSegment::create({.size = ranks,
                                     .host_bytes = ranks * bootstrap::host_bytes_per_process,
                                     .launcher_pid = ::getpid(),
                                     .host_cores = platform::granted_cores()});
  if (!segment) return refuse(code_no_resources, segment.error().sentence());
  const SignalSource signals;
  Job job(options, *segment, bind_ranks(options.bind_to, ranks, parameters->busy_threads), signals,
          descriptors);
  return job.run();
}

}  // namespace

}  // namespace hawser::launcher

int main(int argc, char** argv) {
  using namespace hawser::launcher;
  open_standard_streams();
  const Detachment detachment;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto line = parse_command_line(arguments);
  if (!line) {
    detachment.report_exit(code_usage);
    return refuse(code_usage, line.error().sentence());
  }
  if (line->text) {
    std::fputs(line->text->c_str(), stdout);
    return 0;
  }
  const int code = run(line->options);
  detachment.report_exit(code);
  return code;
}
