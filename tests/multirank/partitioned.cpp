// Partitioned communication round the ring: partitions marked in any order, other numbers of
// partitions at the two ends, several rounds, empty partitions.
#include <numeric>
#include <vector>

#include "check.hpp"

namespace {

using namespace multirank;

void ring(int send_partitions, int receive_partitions, int total) {
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD),
            next = (rank + 1) % size, previous = (rank + size - 1) % size;
  const int each = total / send_partitions, each_received = total / receive_partitions;
  std::vector<int> out(total), in(total);
  MPI_Request send, receive;
  MPI_Psend_init(out.data(), send_partitions, each, MPI_INT, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &send);
  MPI_Precv_init(in.data(), receive_partitions, each_received, MPI_INT, previous, 3, MPI_COMM_WORLD,
                 MPI_INFO_NULL, &receive);
  for (int round = 0; round < 4; ++round) {
    in.assign(in.size(), -1);
    MPI_Start(&receive);
    MPI_Start(&send);
    for (int i = 0; i < send_partitions; ++i) {
      // 7 is coprime to every number of partitions used here.
      const int partition = (i * 7 + round) % send_partitions;
      for (int k = partition * each; k < (partition + 1) * each; ++k) {
        out[k] = rank * 100000 + round * 1000 + k;
      }
      MPI_Pready(partition, send);
    }
    for (int partition = 0; partition < receive_partitions; ++partition) {
      int arrived = 0;
      while (!arrived) MPI_Parrived(receive, partition, &arrived);
      for (int k = partition * each_received; k < (partition + 1) * each_received; ++k) {
        check_equal(in[k], previous * 100000 + round * 1000 + k, "an element of a partition");
      }
    }
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
}

}  // namespace

int main() {
  const Mpi mpi;
  ring(1, 1, 10);
  ring(8, 8, 64);
  ring(4, 16, 64);
  ring(16, 4, 64);
  ring(6, 4, 48);
  ring(32, 8, 320000);
  ring(4, 4, 0);
  passed("partitioned");
}
