// Random messages for about two seconds: `stress [SEED]`. In each round every rank derives the same
// list of messages (source, destination, tag, size) from the seed, posts its part in an order of
// its own, and checks what it gets. A failure prints the round; the seed is the argument.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using namespace multirank;

struct Message {
  int source;
  int destination;
  int tag;
  int bytes;
};

int random_bytes(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return static_cast<int>(random() % 64);
    case 1:
      return static_cast<int>(random() % 1024);
    case 2:
      return static_cast<int>(random() % 16384);
    default:
      return static_cast<int>(random() % 102401);
  }
}

std::vector<Message> messages_of(std::uint64_t seed, int size) {
  std::mt19937_64 random(seed);
  std::vector<Message> messages(static_cast<std::size_t>(20 * size));
  const auto ranks = static_cast<std::uint64_t>(size);
  for (int tag = 0; Message & message : messages) {
    message = {static_cast<int>(random() % ranks), static_cast<int>(random() % ranks), tag++,
               random_bytes(random)};
  }
  return messages;
}

// Tags are all different, so any order of posting is right; some receives match any source.
void round_of(std::uint64_t seed, int rank, int size) {
  std::vector<Message> messages = messages_of(seed, size);
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(rank));
  std::shuffle(messages.begin(), messages.end(), random);
  std::vector<Bytes> data;
  std::vector<MPI_Request> requests;
  std::vector<const Message*> received;
  data.reserve(2 * messages.size());
  requests.reserve(2 * messages.size());
  for (const Message& message : messages) {
    if (message.destination == rank) {
      data.emplace_back(static_cast<std::size_t>(message.bytes));
      MPI_Irecv(data.back().data(), message.bytes, MPI_BYTE,
                random() % 3 ? message.source : MPI_ANY_SOURCE, message.tag, MPI_COMM_WORLD,
                &requests.emplace_back());
      received.push_back(&message);
    }
    if (message.source == rank) {
      data.push_back(patterned(message.tag, message.bytes));
      const auto send = random() % 8 ? MPI_Isend : MPI_Issend;
      send(data.back().data(), message.bytes, MPI_BYTE, message.destination, message.tag,
           MPI_COMM_WORLD, &requests.emplace_back());
      received.push_back(nullptr);
    }
  }
  std::vector<MPI_Status> statuses(requests.size());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
  for (std::size_t i = 0; i < received.size(); ++i) {
    if (received[i] == nullptr) continue;
    const auto& [source, destination, tag, bytes] = *received[i];
    check_status(statuses[i], source, tag, bytes, "a random message");
    check_pattern(data[i], tag, bytes, "a random message");
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr double seconds = 1.5;
  const Mpi mpi;
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  const double end = MPI_Wtime() + seconds;
  // Rank 0 says when to stop; tags of a round are free again only after all have finished it.
  for (std::uint64_t round = 0, more = 1; more != 0; ++round) {
    round_of(seed * 1'000'000 + round * 64, rank, size);
    more = MPI_Wtime() < end;
    MPI_Bcast(&more, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  passed("stress");
}
