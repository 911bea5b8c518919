// A rank without MPI: it knows the bootstrap only, for the tests of mpirun.
//   bootstrap_rank meet            publishes, waits for all others, finalises
//   bootstrap_rank abort CODE WHY  rank 1 aborts; the others sleep
//   bootstrap_rank vanish          rank 1 exits with 0 before it finalises; the others sleep
//   bootstrap_rank twice           two processes claim the same rank
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bootstrap/local/local_bootstrap.hpp"

namespace {

using hawser::bootstrap::Bootstrap;
using hawser::bootstrap::LocalBootstrap;

constexpr unsigned long_seconds = 60;

int meet(Bootstrap& bootstrap) {
  const auto& placement = bootstrap.placement();
  if (!bootstrap.publish("pid", std::as_bytes(std::span(&placement.self, 1)))) return 3;
  for (std::uint32_t peer = 0; peer < placement.size; ++peer)
    while (!*bootstrap.look_up(peer, "pid")) ::usleep(1000);
  std::printf("%u of %u, program %d\n", placement.self.index, placement.size, placement.app_number);
  bootstrap.report_finalized();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "twice" && ::fork() > 0) ::wait(nullptr);
  auto connected = LocalBootstrap::connect();
  if (!connected) {
    std::fprintf(stderr, "%s\n", connected.error().sentence().c_str());
    return 9;
  }
  Bootstrap& bootstrap = **connected;
  bootstrap.report_initialized();
  if (mode == "meet") return meet(bootstrap);
  const bool is_rank_1 = bootstrap.placement().self.index == 1;
  if (mode == "abort" && is_rank_1) bootstrap.abort(std::atoi(argv[2]), argv[3]);
  if (mode == "vanish" && is_rank_1) return 0;
  if (mode != "twice") ::sleep(long_seconds);
  return 0;
}
