#include "topology/dims.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hawser::topology {
namespace {

std::vector<int> filled(int processes, std::vector<int> dims) {
  EXPECT_TRUE(fill_dimensions(processes, dims).ok());
  return dims;
}

TEST(Dims, AreBalancedAndFalling) {
  EXPECT_EQ(filled(6, {0, 0}), (std::vector{3, 2}));
  EXPECT_EQ(filled(64, {0, 0}), (std::vector{8, 8}));
  EXPECT_EQ(filled(64, {0, 0, 0}), (std::vector{4, 4, 4}));
  EXPECT_EQ(filled(7, {0, 0}), (std::vector{7, 1}));
  EXPECT_EQ(filled(36, {0, 0}), (std::vector{6, 6}));
  EXPECT_EQ(filled(1, {0, 0, 0}), (std::vector{1, 1, 1}));
}

TEST(Dims, KeepWhatIsGiven) {
  EXPECT_EQ(filled(6, {0, 3, 0}), (std::vector{2, 3, 1}));
  EXPECT_EQ(filled(12, {3, 4}), (std::vector{3, 4}));
}

TEST(Dims, ProductIsTheNumberOfProcesses) {
  for (int processes = 1; processes <= 200; ++processes) {
    for (std::size_t count = 1; count <= 4; ++count) {
      int product = 1;
      for (const int extent : filled(processes, std::vector<int>(count, 0))) product *= extent;
      EXPECT_EQ(product, processes);
    }
  }
}

TEST(Dims, RefuseWhatDoesNotDivide) {
  std::vector<int> dims = {0, 4, 0};
  EXPECT_EQ(fill_dimensions(6, dims).error().code(), 12);
  dims = {-1};
  EXPECT_EQ(fill_dimensions(6, dims).error().code(), 12);
  dims = {2, 2};
  EXPECT_EQ(fill_dimensions(6, dims).error().code(), 12);
}

}  // namespace
}  // namespace hawser::topology
