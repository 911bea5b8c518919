// Random trees of communicators: each is made out of an earlier one, in step with others that
// disjoint groups make at the same time, and then tried out.
#include <algorithm>
#include <numeric>
#include <utility>

#include "collective/collective.hpp"
#include "sim/workloads/workloads.hpp"

namespace hawser::sim {

namespace {

enum class Making : std::uint8_t { dup, idup, split, create, create_group, inter, merge, count_ };

/// One step as all ranks agreed upon it; what depends on the rank follows from `salt`.
struct Step {
  Making making;
  std::size_t parent;  // index in the list of communicators, which has the world and one per step
  std::uint64_t salt;
};

class Communicators final : public Workload {
 public:
  Communicators(Random& random, const core::TypeTable& types) : byte(*types.find(0x247)) {
    const auto count = random.between<std::size_t>(3, 10);
    for (std::size_t i = 0; i < count; ++i)
      steps.push_back(
          {static_cast<Making>(random.below(static_cast<std::uint64_t>(Making::count_))),
           random.below(i + 1), random.next()});
  }
  void run(Rank& rank) override;

  Datatype& byte;
  std::vector<Step> steps;
};

/// A communicator as one rank has it, and who should be in it, by rank in the world.
struct Made {
  Ref<Comm> comm;
  std::vector<int> members;
  std::vector<int> remote;  // of an intercommunicator
};

class Maker {
 public:
  Maker(Rank& self, Communicators& program) : self_(self), program_(program) {
    std::vector<int> all(static_cast<std::size_t>(self_.size));
    std::iota(all.begin(), all.end(), 0);
    made_.push_back({self_.world, std::move(all), {}});
  }

  void play() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      self_.doing("step {}: making {} of communicator {}", i, static_cast<int>(step.making),
                  step.parent);
      made_.push_back(make(step, made_[step.parent]));
      self_.scheduler.maybe_pause(3);
      if (made_.back().comm) try_out(made_.back(), i);
    }
  }

 private:
  comm_ops::CommFactory& factory() { return self_.process.comms(); }

  Made make(const Step& step, const Made& parent) {
    if (!parent.comm) return {};
    Comm& comm = *parent.comm;
    if (comm.is_inter()) {
      if (step.making == Making::merge) return merge(step, parent);
      return {self_.check(factory().dup(comm, nullptr)), parent.members, parent.remote};
    }
    switch (step.making) {
      case Making::idup:
        return {idup(comm), parent.members, {}};
      case Making::split:
        return split(step, parent);
      case Making::create:
      case Making::create_group:
        return create(step, parent);
      case Making::inter:
        return inter(step, parent);
      case Making::dup:
      case Making::merge:
      case Making::count_:
        break;
    }
    return {self_.check(factory().dup(comm, nullptr)), parent.members, {}};
  }

  Ref<Comm> idup(Comm& parent) {
    Ref<Comm> result;
    const auto request = self_.check(
        factory().idup(parent, nullptr, [&result](Ref<Comm> made) { result = std::move(made); }));
    self_.wait(request);
    self_.check(static_cast<bool>(result), "idup completed without a communicator");
    return result;
  }

  /// A number in [0, BOUND) that every rank computes alike for the world's rank RANK.
  static int draw(const Step& step, int rank, int bound) {
    return static_cast<int>(base::mix64(step.salt ^ static_cast<std::uint64_t>(rank)) %
                            static_cast<std::uint64_t>(bound));
  }

  Made split(const Step& step, const Made& parent) {
    constexpr int colors = 3;
    const auto color = [&](int rank) { return draw(step, rank, colors + 1) - 1; };
    const auto key = [&](int rank) { return draw(step, rank + self_.size, 4); };
    const int mine = color(self_.rank);
    Made made;
    made.comm = self_.check(
        factory().split(*parent.comm, mine < 0 ? p2p::undefined : mine, key(self_.rank)));
    self_.check(static_cast<bool>(made.comm) == (mine >= 0), "split gave the wrong ranks a result");
    std::copy_if(parent.members.begin(), parent.members.end(), std::back_inserter(made.members),
                 [&](int rank) { return color(rank) == mine; });
    std::stable_sort(made.members.begin(), made.members.end(),
                     [&](int a, int b) { return key(a) < key(b); });
    return made;
  }

  Made create(const Step& step, const Made& parent) {
    std::vector<int> ranks;  // in the parent
    Made made;
    for (std::size_t i = parent.members.size(); i-- > 0;) {
      if (draw(step, parent.members[i], 3) == 0) continue;
      ranks.push_back(static_cast<int>(i));
      made.members.push_back(parent.members[i]);
    }
    const auto group = self_.check(parent.comm->group().include(ranks));
    const bool is_member =
        std::find(made.members.begin(), made.members.end(), self_.rank) != made.members.end();
    if (step.making == Making::create) {
      made.comm = self_.check(factory().create(*parent.comm, *group));
    } else if (is_member) {
      made.comm = self_.check(factory().create_group(*parent.comm, *group, 5));
    }
    self_.check(static_cast<bool>(made.comm) == is_member, "create gave the wrong ranks a result");
    return made;
  }

  /// Between the first ranks of the parent and the others.
  Made inter(const Step& step, const Made& parent) {
    const int size = parent.comm->size();
    if (size < 2) return {};
    const int first_high = 1 + draw(step, 0, size - 1);
    const bool is_high = parent.comm->rank() >= first_high;
    const auto half = self_.check(factory().split(*parent.comm, is_high ? 1 : 0, 0));
    const auto middle = parent.members.begin() + first_high;
    Made made;
    made.members.assign(parent.members.begin(), middle);
    made.remote.assign(middle, parent.members.end());
    if (is_high) std::swap(made.members, made.remote);
    // A leader that is not rank 0 where there is one.
    const int local_leader = half->size() - 1;
    const int remote_leader = is_high ? first_high - 1 : size - 1;
    made.comm = self_.check(
        factory().intercomm_create(*half, local_leader, parent.comm.get(), remote_leader, 7));
    return made;
  }

  Made merge(const Step& step, const Made& parent) {
    const bool low_first = draw(step, 0, 2) == 0;
    const bool is_low = parent.members.front() < parent.remote.front();
    const bool is_first = is_low == low_first;
    Made made;
    made.comm = self_.check(factory().merge(*parent.comm, !is_first));
    made.members = is_first ? parent.members : parent.remote;
    const std::vector<int>& others = is_first ? parent.remote : parent.members;
    made.members.insert(made.members.end(), others.begin(), others.end());
    return made;
  }

  void try_out(const Made& made, std::size_t number) {
    Comm& comm = *made.comm;
    self_.doing("trying out communicator {}", number + 1);
    const std::vector<int>& peers = comm.is_inter() ? made.remote : made.members;
    self_.check(comm.size() == static_cast<int>(made.members.size()),
                "communicator {} has {} members instead of {}", number + 1, comm.size(),
                made.members.size());
    self_.check(made.members[static_cast<std::size_t>(comm.rank())] == self_.rank,
                "communicator {}: rank {} is somebody else's", number + 1, comm.rank());
    std::vector<int> got(peers.size(), -1);
    const collective::AllgatherArguments arguments{
        .send = {&self_.rank, sizeof(int), &program_.byte},
        .receive = {got.data(), sizeof(int), &program_.byte}};
    self_.check(collective::allgather(self_.process.blocking(), comm, arguments));
    self_.check(got == peers, "communicator {}: its members are others", number + 1);
    exchange(comm, peers);
  }

  /// Messages with one tag over a communicator and its relatives must not be mixed up.
  void exchange(Comm& comm, const std::vector<int>& peers) {
    const auto size = static_cast<int>(peers.size());
    const int to = (comm.rank() + 1) % size;
    std::vector<Ref<Request>> sends;
    const int value = self_.rank * 1000 + static_cast<int>(comm.id()[0] % 1000);
    sends.push_back(self_.check(self_.engine().isend({&value, sizeof(int), &program_.byte},
                                                     {&comm, to, 9}, p2p::SendMode::standard)));
    // Those whose next one we are; on an intercommunicator none, one or several.
    for (int from = 0; from < size; ++from) {
      const int next = (from + 1) % (comm.is_inter() ? comm.size() : size);
      if (next != comm.rank()) continue;
      int got = -1;
      self_.check(
          self_.engine().recv({&got, sizeof(int), &program_.byte}, {&comm, from, 9}, nullptr));
      self_.check(got / 1000 == peers[static_cast<std::size_t>(from)],
                  "a message of rank {} came from {}", from, got / 1000);
    }
    for (const auto& send : sends) self_.wait(send);
  }

  Rank& self_;
  Communicators& program_;
  std::vector<Made> made_;
};

void Communicators::run(Rank& rank) { Maker(rank, *this).play(); }

}  // namespace

std::unique_ptr<Workload> make_communicators(Random& random, int, const core::TypeTable& types) {
  return std::make_unique<Communicators>(random, types);
}

}  // namespace hawser::sim
