// What the tests of collectives share: one call in all its forms, on every number of ranks.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "collective/collective.hpp"
#include "collective/executor/direct.hpp"
#include "collective/executor/plan_runner.hpp"
#include "tests/support/thread_backend.hpp"
#include "tests/support/typed_memory.hpp"

namespace hawser::test {

inline constexpr int rank_counts[] = {1, 2, 3, 4, 7, 8};

/// One rank in a test: calls collectives, blocking or not.
class Tester {
 public:
  Tester(Rank& rank, Ref<Comm> over, const Layouts& layouts)
      : types(layouts),
        teams(rank.engine, ledger,
              collective::TeamHost{&rank.host, rank.words, hostmem::FencePayer::waker, true},
              {.shared_after = 1, .shared_bytes = 65536}),
        direct(rank.engine, &teams),
        runner(rank.engine),
        engine(rank.engine),
        comm(std::move(over)) {}

  template <class Arguments>
  void call(bool nonblocking,
            Result<void> (*start_and_wait)(const collective::DirectRunner&, Comm&,
                                           const Arguments&),
            Result<Ref<core::Request>> (*start)(collective::PlanRunner&, Comm&, const Arguments&),
            const Arguments& arguments) {
    if (!nonblocking) {
      const auto result = start_and_wait(direct, *comm, arguments);
      EXPECT_TRUE(result.ok()) << result.error().sentence();
      return;
    }
    const auto request = start(runner, *comm, arguments);
    ASSERT_TRUE(request.ok()) << request.error().sentence();
    engine.wait(**request);
    EXPECT_EQ((*request)->error(), nullptr);
  }
  [[nodiscard]] int rank() const { return comm->rank(); }
  [[nodiscard]] int size() const { return comm->size(); }

  const Layouts& types;
  memory::Ledger ledger;  // ends after the communicator's team
  collective::Teams teams;
  collective::DirectRunner direct;
  collective::PlanRunner runner;
  p2p::Engine& engine;
  Ref<Comm> comm;
};

/// The algorithms of COLLECTIVE by name, and the choice of the table.
inline std::vector<std::string_view> forced_and_chosen(std::string_view collective) {
  auto names = collective::algorithms_of(collective);
  EXPECT_FALSE(names.empty()) << collective;
  names.emplace_back();
  return names;
}

/// Runs TEST(tester, algorithm, nonblocking) for every number of ranks and every algorithm. With an
/// odd number of ranks the job counts as oversubscribed.
template <class Test>
void for_each_form(std::string_view collective, Test test) {
  const Layouts types;
  for (const int ranks : rank_counts) {
    run_ranks(ranks, ranks % 2 != 0, [&](Rank& rank) {
      Tester tester(rank, rank.world(), types);
      for (const auto algorithm : forced_and_chosen(collective)) {
        for (const bool nonblocking : {false, true}) test(tester, algorithm, nonblocking);
      }
    });
    if (testing::Test::HasFailure()) return;
  }
}

/// An array of counts in one of the two widths that the binding passes.
class CountArray {
 public:
  CountArray(std::vector<Count> values, bool wide)
      : wide_values_(std::move(values)),
        values_(wide_values_.begin(), wide_values_.end()),
        wide_(wide) {}
  [[nodiscard]] collective::CountView view() const {
    if (wide_) return {wide_values_.data(), true};
    return {values_.data(), false};
  }
  Count operator[](int index) const { return wide_values_[static_cast<std::size_t>(index)]; }

 private:
  std::vector<Count> wide_values_;
  std::vector<int> values_;
  bool wide_;
};

/// Where blocks of COUNTS items begin: the last rank's first, with an item left free after each.
inline std::vector<Count> scattered_places(const std::vector<Count>& counts) {
  std::vector<Count> places(counts.size());
  Count next = 1;
  for (std::size_t i = counts.size(); i-- > 0;) {
    places[i] = next;
    next += counts[i] + 1;
  }
  return places;
}
/// The items that such blocks span.
inline Count scattered_span(const std::vector<Count>& counts) {
  return std::accumulate(counts.begin(), counts.end(), static_cast<Count>(counts.size()) + 1);
}

}  // namespace hawser::test
