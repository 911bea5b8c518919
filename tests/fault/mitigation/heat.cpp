// A rod that takes on the temperatures of its ends (1-D Jacobi), computed by ranks that die at
// random moments: those that are left revoke, agree, shrink, take up the last checkpoint that all
// have, and come to the same numbers as one rank alone would.
//
//     heat [--seed N] [--die-at RANK:STEP]… [--fatal] [--steps N]
//
// --seed     who dies, and when: at a step, or at a time. At least one rank is left.
// --fatal    errors end the job (the default of MPI)
// Each rank keeps its cells of the last two checkpoints, and those of the rank to its left: what
// two neighbours that die at once have kept is lost, and all begin anew. Whoever is left
// says "heat: right after N deaths"; any of them may still die before.
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "support.hpp"

using namespace mitigation;

namespace {

constexpr int cells = 97;
constexpr int checkpoint_steps = 5;
constexpr double left_end = 100.0;
constexpr double right_end = -20.0;
constexpr int no_step = -1;

struct Plan {
  int steps = 60;
  bool is_fatal = false;
  int die_at = no_step;   // this rank, at this step
  int moment = 0;         // of the step
  long die_after_us = 0;  // or so long after its start; 0: not
};

/// The cells [begin, end).
struct Range {
  int begin;
  int end;
  [[nodiscard]] int count() const { return end - begin; }
};
Range share_of(int rank, int ranks) { return {rank * cells / ranks, (rank + 1) * cells / ranks}; }

struct Checkpoint {
  int step = no_step;
  Range mine{0, 0};
  std::vector<double> values;
  Range neighbours{0, 0};
  std::vector<double> neighbours_values;

  [[nodiscard]] double value_at(int cell) const {
    const bool is_mine = mine.begin <= cell && cell < mine.end;
    return is_mine ? values[cell - mine.begin] : neighbours_values[cell - neighbours.begin];
  }
};

/// One Jacobi step of cells that have one more at each side.
std::vector<double> relaxed(const std::vector<double>& old) {
  std::vector<double> fresh(old);
  for (std::size_t i = 1; i + 1 < old.size(); ++i) fresh[i] = 0.5 * (old[i - 1] + old[i + 1]);
  return fresh;
}

std::vector<double> solved_alone(int steps) {
  std::vector<double> rod(cells + 2, 0.0);
  rod.front() = left_end;
  rod.back() = right_end;
  for (int step = 0; step < steps; ++step) rod = relaxed(rod);
  return rod;
}

class Heat {
 public:
  Heat(MPI_Comm comm, const Plan& plan) : comm_(comm), plan_(plan) { begin_anew(); }

  void run() {
    for (;;) {
      const int code = compute();
      int flag = code == MPI_SUCCESS ? 1 : 0;
      if (flag == 0) MPIX_Comm_revoke(comm_);
      const int agreed = MPIX_Comm_agree(comm_, &flag);
      if (flag != 0 && agreed == MPI_SUCCESS) return;
      while (!recover()) continue;
    }
  }
  [[nodiscard]] bool is_right() const {
    const std::vector<double> wanted = solved_alone(plan_.steps);
    const auto first = wanted.begin() + range_.begin + 1;
    return std::equal(first, first + range_.count(), cells_.begin() + 1);
  }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

 private:
  void take_share() {
    range_ = share_of(rank_in(comm_), size_of(comm_));
    cells_.assign(static_cast<std::size_t>(range_.count()) + 2, 0.0);
  }
  void begin_anew() {
    take_share();
    step_ = 0;
    for (Checkpoint& checkpoint : kept_) checkpoint.step = no_step;
  }

  void perhaps_die(int moment) const {
    if (plan_.die_at == step_ && plan_.moment == moment) die();
  }

  int compute() {
    for (; step_ < plan_.steps; ++step_) {
      if (step_ % checkpoint_steps == 0)
        if (const int code = keep_checkpoint(); code != MPI_SUCCESS) return code;
      perhaps_die(0);
      if (const int code = exchange_borders(); code != MPI_SUCCESS) return code;
      cells_ = relaxed(cells_);
      perhaps_die(1);
      double change = 0.0;
      const double mine = cells_[1];
      if (const int code = MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_SUM, comm_);
          code != MPI_SUCCESS)
        return code;
      perhaps_die(2);
    }
    return MPI_Barrier(comm_);
  }

  int exchange_borders() {
    const int rank = rank_in(comm_), ranks = size_of(comm_);
    const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    const int right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    const std::size_t last = cells_.size() - 1;
    if (left == MPI_PROC_NULL) cells_.front() = left_end;
    if (right == MPI_PROC_NULL) cells_[last] = right_end;
    const int code = MPI_Sendrecv(&cells_[1], 1, MPI_DOUBLE, left, 1, &cells_[last], 1, MPI_DOUBLE,
                                  right, 1, comm_, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    return MPI_Sendrecv(&cells_[last - 1], 1, MPI_DOUBLE, right, 2, &cells_.front(), 1, MPI_DOUBLE,
                        left, 2, comm_, MPI_STATUS_IGNORE);
  }

  /// Ours, and that of the rank to the left; the older of the two that are kept gives way.
  int keep_checkpoint() {
    const int rank = rank_in(comm_), ranks = size_of(comm_);
    const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    Checkpoint fresh;
    fresh.step = step_;
    fresh.mine = range_;
    fresh.values.assign(cells_.begin() + 1, cells_.end() - 1);
    fresh.neighbours = share_of(left, ranks);
    fresh.neighbours_values.resize(static_cast<std::size_t>(fresh.neighbours.count()));
    const int code = MPI_Sendrecv(fresh.values.data(), range_.count(), MPI_DOUBLE, right, 3,
                                  fresh.neighbours_values.data(), fresh.neighbours.count(),
                                  MPI_DOUBLE, left, 3, comm_, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    (kept_[0].step < kept_[1].step ? kept_[0] : kept_[1]) = std::move(fresh);
    return MPI_SUCCESS;
  }

  /// A communicator of those that are left, and the state of a checkpoint. False if one died
  /// meanwhile.
  bool recover() {
    MPI_Comm left = MPI_COMM_NULL;
    require_class(MPIX_Comm_shrink(comm_, &left), MPI_SUCCESS, "shrink");
    if (comm_ != MPI_COMM_WORLD) MPI_Comm_free(&comm_);
    comm_ = left;
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    int flag = restore() == MPI_SUCCESS ? 1 : 0;
    if (flag == 0) MPIX_Comm_revoke(comm_);
    const int agreed = MPIX_Comm_agree(comm_, &flag);
    if (flag == 0 || agreed != MPI_SUCCESS) return false;
    if (is_complete_) {
      take_share();
      step_ = restored_step_;
      std::copy(rod_.begin() + range_.begin, rod_.begin() + range_.end, cells_.begin() + 1);
    } else {
      begin_anew();
    }
    return true;
  }

  /// The rod as it was at the last step of which all have a checkpoint. What is kept stays kept.
  int restore() {
    int latest = std::max(kept_[0].step, kept_[1].step);
    if (const int code = MPI_Allreduce(MPI_IN_PLACE, &latest, 1, MPI_INT, MPI_MIN, comm_);
        code != MPI_SUCCESS)
      return code;
    rod_.assign(cells, 0.0);
    std::vector<int> owner(cells, -1);
    const int rank = rank_in(comm_);
    const Checkpoint* const kept = kept_[0].step == latest   ? &kept_[0]
                                   : kept_[1].step == latest ? &kept_[1]
                                                             : nullptr;
    if (kept != nullptr && latest != no_step) {
      std::fill(owner.begin() + kept->neighbours.begin, owner.begin() + kept->neighbours.end, rank);
      std::fill(owner.begin() + kept->mine.begin, owner.begin() + kept->mine.end, rank);
    }
    std::vector<int> owners(cells, -1);
    if (const int code = MPI_Allreduce(owner.data(), owners.data(), cells, MPI_INT, MPI_MAX, comm_);
        code != MPI_SUCCESS)
      return code;
    for (int i = 0; i < cells; ++i)
      if (owners[i] == rank) rod_[i] = kept->value_at(i);
    is_complete_ = std::ranges::find(owners, -1) == owners.end();
    restored_step_ = latest;
    return MPI_Allreduce(MPI_IN_PLACE, rod_.data(), cells, MPI_DOUBLE, MPI_SUM, comm_);
  }

  MPI_Comm comm_;
  const Plan plan_;
  Range range_{0, 0};
  std::vector<double> cells_;  // and one more at each side
  int step_ = 0;
  std::array<Checkpoint, 2> kept_;
  std::vector<double> rod_;  // that was restored
  bool is_complete_ = false;
  int restored_step_ = 0;
};

/// Who dies, and when: at a step of its computation, or when a timer rings.
void draw(Plan& plan, unsigned seed, int rank, int ranks) {
  std::mt19937 random(seed);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  for (int deaths = 1 + below(ranks - 1); deaths > 0; --deaths) {
    const int who = below(ranks);
    const int step = below(plan.steps);
    const int moment = below(3);
    const long after_us = below(40'000);
    const bool is_by_step = below(2) == 0;
    if (who != rank || rank == static_cast<int>(seed) % ranks) continue;
    plan.die_at = is_by_step ? step : no_step;
    plan.moment = moment;
    plan.die_after_us = is_by_step ? 0 : 1 + after_us;
  }
}

Plan parse(int count, char** words, int rank, int ranks) {
  Plan plan;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--fatal") {
      plan.is_fatal = true;
    } else if (word == "--steps") {
      plan.steps = std::atoi(words[++i]);
    } else if (word == "--seed") {
      draw(plan, static_cast<unsigned>(std::atoi(words[++i])), rank, ranks);
    } else if (word == "--die-at") {
      int who = -1, step = no_step;
      require(std::sscanf(words[++i], "%d:%d", &who, &step) == 2, "--die-at RANK:STEP");
      if (who == rank) plan.die_at = step;
    } else {
      require(false, "an option that is not known");
    }
  }
  return plan;
}

void start_timer(long after_us) {
  std::signal(SIGALRM, [](int) { ::kill(::getpid(), SIGKILL); });
  const itimerval timer{{0, 0}, {0, after_us}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(nullptr, nullptr);
  const int ranks = size_of(MPI_COMM_WORLD);
  const Plan plan = parse(count, words, rank_in(MPI_COMM_WORLD), ranks);
  if (!plan.is_fatal) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (plan.die_after_us > 0) start_timer(plan.die_after_us);
  Heat heat(MPI_COMM_WORLD, plan);
  heat.run();
  require(heat.is_right(), "the temperatures are those of one rank alone");
  std::printf("heat: right after %d deaths\n", ranks - size_of(heat.comm()));
  std::fflush(stdout);
  MPI_Finalize();
}
