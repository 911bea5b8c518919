#include "comm_ops/exchange.hpp"

#include "collective/algorithm/buffers.hpp"
#include "collective/select/perform.hpp"

namespace hawser::comm_ops {
namespace {

collective::Buffer as_buffer(std::span<std::byte> memory, int parts) {
  return collective::byte_buffer(memory.data(), std::ssize(memory) / parts);
}

}  // namespace

template <collective::Run R>
void add_exchange(R& run, Comm& comm, std::span<std::byte> ours, std::span<std::byte> theirs) {
  using Executor = collective::BasicExecutor<R>;
  const collective::Buffer mine = as_buffer(ours, comm.size());
  Comm& local = comm.is_inter() ? comm.local() : comm;
  perform(Executor(run, local),
          collective::AllgatherArguments{.send = {}, .receive = mine, .in_place = true});
  if (!comm.is_inter()) return;
  run.wait();
  perform(Executor(run, comm),
          collective::AllgatherArguments{
              .send = {ours.data() + comm.rank() * mine.count, mine.count, mine.type},
              .receive = as_buffer(theirs, comm.peer_count())});
}

template void add_exchange(collective::DirectRun&, Comm&, std::span<std::byte>,
                           std::span<std::byte>);
template void add_exchange(collective::PlanBuilder&, Comm&, std::span<std::byte>,
                           std::span<std::byte>);

}  // namespace hawser::comm_ops
