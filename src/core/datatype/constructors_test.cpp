#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "core/datatype/datatype.hpp"

namespace hawser::core {
namespace {

constexpr std::uint32_t kChar = 0x243;
constexpr std::uint32_t kInt = 0x209;
constexpr std::uint32_t kDouble = 0x214;
constexpr Count kMax = std::numeric_limits<Count>::max();

using Counts = std::vector<Count>;

struct ConstructorsTest : testing::Test {
  TypeTable table;
  Datatype& character = *table.find(kChar);
  Datatype& integer = *table.find(kInt);
  Datatype& real = *table.find(kDouble);

  static Ref<Datatype> made(Result<Ref<Datatype>> result) {
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().sentence());
    return std::move(result).value();
  }
  static void expect_bounds(const Datatype& type, Count size, Count lower, Count extent,
                            Count true_lower, Count true_extent) {
    EXPECT_EQ(type.size(), size);
    EXPECT_EQ(type.lower_bound(), lower);
    EXPECT_EQ(type.extent(), extent);
    EXPECT_EQ(type.true_lower_bound(), true_lower);
    EXPECT_EQ(type.true_extent(), true_extent);
  }
  template <class T>
  static void expect_error(const Result<T>& result, ErrorClass wanted, const char* words) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), static_cast<int>(wanted));
    EXPECT_NE(result.error().sentence().find(words), std::string::npos)
        << result.error().sentence();
  }
};

TEST_F(ConstructorsTest, PairTypesFollowTheStruct) {
  expect_bounds(*table.find(0x22c), 6, 0, 8, 0, 8);     // MPI_SHORT_INT
  expect_bounds(*table.find(0x229), 12, 0, 16, 0, 12);  // MPI_DOUBLE_INT
  expect_bounds(*table.find(0x22a), 12, 0, 16, 0, 12);  // MPI_LONG_INT
  struct LongDoubleInt {
    long double value;
    int index;
  };
  expect_bounds(*table.find(0x22d), sizeof(long double) + 4, 0, sizeof(LongDoubleInt), 0,
                sizeof(long double) + 4);
  EXPECT_FALSE(table.find(0x22c)->is_dense());
  EXPECT_TRUE(table.find(0x22b)->is_dense());  // MPI_2INT
  EXPECT_TRUE(table.find(0x228)->is_dense());  // MPI_FLOAT_INT
}

TEST_F(ConstructorsTest, NothingHasNoBounds) {
  expect_bounds(*made(make_contiguous(0, real, false)), 0, 0, 0, 0, 0);
  expect_bounds(*made(make_vector(3, 0, 5, real, false)), 0, 0, 0, 0, 0);
  expect_bounds(*made(make_struct({}, {}, {}, false)), 0, 0, 0, 0, 0);
}

TEST_F(ConstructorsTest, EmptyBlocksMoveNoBound) {
  expect_bounds(*made(make_indexed(Counts{0, 2, 0}, Counts{-9, 1, 90}, integer, false)), 8, 4, 8, 4,
                8);
}

TEST_F(ConstructorsTest, NegativeStrideReachesBelow) {
  expect_bounds(*made(make_vector(3, 1, -2, real, false)), 24, -32, 40, -32, 40);
}

TEST_F(ConstructorsTest, StructIsPaddedLikeInC) {
  Datatype* const types[] = {&real, &character};
  expect_bounds(*made(make_struct(Counts{1, 1}, Counts{0, 8}, types, false)), 9, 0, 16, 0, 9);
}

TEST_F(ConstructorsTest, ResizedBoundsStick) {
  const Ref<Datatype> resized = made(make_resized(character, -3, 11, false));
  expect_bounds(*resized, 1, -3, 11, 0, 1);
  Datatype* const types[] = {resized.get(), &real};
  // The markers win over the double at 64, and stop padding.
  expect_bounds(*made(make_struct(Counts{1, 1}, Counts{0, 64}, types, false)), 9, -3, 11, 0, 72);
  expect_bounds(*made(make_contiguous(2, *resized, false)), 2, -3, 22, 0, 12);
  expect_bounds(*made(make_dup(*resized)), 1, -3, 11, 0, 1);
}

TEST_F(ConstructorsTest, ResizedNothingStillHasBounds) {
  const Ref<Datatype> nothing = made(make_contiguous(0, real, false));
  const Ref<Datatype> gap = made(make_resized(*nothing, 0, 24, false));
  expect_bounds(*made(make_contiguous(2, *gap, false)), 0, 0, 48, 0, 0);
}

TEST_F(ConstructorsTest, SubarrayIsAsLargeAsTheArray) {
  const Ref<Datatype> c =
      made(make_subarray(Counts{4, 6}, Counts{2, 3}, Counts{1, 2}, ArrayOrder::c, integer, false));
  expect_bounds(*c, 24, 0, 96, 32, 36);
  const Ref<Datatype> fortran = made(
      make_subarray(Counts{4, 6}, Counts{2, 3}, Counts{1, 2}, ArrayOrder::fortran, integer, false));
  expect_bounds(*fortran, 24, 0, 96, 36, 40);
}

/// Who owns element (i, j) by the definition, against who packs it.
TEST_F(ConstructorsTest, DarrayPartitionsTheArray) {
  constexpr int rows = 7;
  constexpr int columns = 11;
  const int cyclic = static_cast<int>(Distribution::cyclic);
  const int block = static_cast<int>(Distribution::block);
  for (const ArrayOrder order : {ArrayOrder::c, ArrayOrder::fortran}) {
    std::array<int, std::size_t{rows} * columns> owner;
    owner.fill(-1);
    for (int rank = 0; rank < 6; ++rank) {
      const Ref<Datatype> type =
          made(make_darray(6, rank, Counts{rows, columns}, std::vector<int>{cyclic, block},
                           std::vector<int>{2, default_distribution_argument},
                           std::vector<int>{2, 3}, order, integer, false));
      EXPECT_EQ(type->extent(), rows * columns * 4);
      type->commit();
      const Count items = type->size() / 4;
      std::vector<int> mine(static_cast<std::size_t>(items), rank);
      type->unpack(owner.data(), 1, 0, mine.data(), type->size());
    }
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        const int wanted = (i / 2 % 2) * 3 + j / 4;
        const int at = order == ArrayOrder::c ? i * columns + j : i + j * rows;
        EXPECT_EQ(owner[static_cast<std::size_t>(at)], wanted) << i << ", " << j;
      }
  }
}

TEST_F(ConstructorsTest, DarrayOfMoreProcessesThanElementsIsEmptyForSome) {
  const int block = static_cast<int>(Distribution::block);
  const Ref<Datatype> type =
      made(make_darray(5, 4, Counts{3}, std::vector<int>{block}, std::vector<int>{1},
                       std::vector<int>{5}, ArrayOrder::c, integer, false));
  expect_bounds(*type, 0, 0, 12, 0, 0);
}

TEST_F(ConstructorsTest, ContentsOfSmallAndLargeCalls) {
  const auto expect_contents = [](const Datatype& type, Combiner combiner,
                                  const std::vector<int>& integers, const Counts& addresses,
                                  const Counts& counts, std::size_t types) {
    const Datatype::Contents& contents = type.contents();
    EXPECT_EQ(contents.combiner, combiner);
    EXPECT_EQ(contents.integers, integers);
    EXPECT_EQ(contents.addresses, addresses);
    EXPECT_EQ(contents.counts, counts);
    EXPECT_EQ(contents.types.size(), types);
  };
  const Counts two{1, 2};
  const Counts at{0, 40};
  Datatype* const types[] = {&real, &integer};
  expect_contents(real, Combiner::named, {}, {}, {}, 0);
  expect_contents(*made(make_dup(real)), Combiner::dup, {}, {}, {}, 1);
  expect_contents(*made(make_vector(2, 3, 4, real, false)), Combiner::vector, {2, 3, 4}, {}, {}, 1);
  expect_contents(*made(make_vector(2, 3, 4, real, true)), Combiner::vector, {}, {}, {2, 3, 4}, 1);
  expect_contents(*made(make_hvector(2, 3, 40, real, false)), Combiner::hvector, {2, 3}, {40}, {},
                  1);
  expect_contents(*made(make_hvector(2, 3, 40, real, true)), Combiner::hvector, {}, {}, {2, 3, 40},
                  1);
  expect_contents(*made(make_indexed(two, at, real, false)), Combiner::indexed, {2, 1, 2, 0, 40},
                  {}, {}, 1);
  expect_contents(*made(make_hindexed(two, at, real, false)), Combiner::hindexed, {2, 1, 2},
                  {0, 40}, {}, 1);
  expect_contents(*made(make_indexed_block(3, at, real, false)), Combiner::indexed_block,
                  {2, 3, 0, 40}, {}, {}, 1);
  expect_contents(*made(make_hindexed_block(3, at, real, true)), Combiner::hindexed_block, {}, {},
                  {2, 3, 0, 40}, 1);
  expect_contents(*made(make_struct(two, at, types, false)), Combiner::structure, {2, 1, 2},
                  {0, 40}, {}, 2);
  expect_contents(*made(make_struct(two, at, types, true)), Combiner::structure, {}, {},
                  {2, 1, 2, 0, 40}, 2);
  expect_contents(*made(make_resized(real, -8, 32, false)), Combiner::resized, {}, {-8, 32}, {}, 1);
  expect_contents(*made(make_resized(real, -8, 32, true)), Combiner::resized, {}, {}, {-8, 32}, 1);
  expect_contents(*made(make_subarray(Counts{9}, Counts{3}, Counts{2}, ArrayOrder::c, real, false)),
                  Combiner::subarray, {1, 9, 3, 2, 0xC}, {}, {}, 1);
  expect_contents(*made(make_subarray(Counts{9}, Counts{3}, Counts{2}, ArrayOrder::c, real, true)),
                  Combiner::subarray, {1, 0xC}, {}, {9, 3, 2}, 1);
  const auto darray = [&](bool large) {
    return made(make_darray(2, 1, Counts{9}, std::vector<int>{17}, std::vector<int>{19},
                            std::vector<int>{2}, ArrayOrder::fortran, real, large));
  };
  expect_contents(*darray(false), Combiner::darray, {2, 1, 1, 9, 17, 19, 2, 0xF}, {}, {}, 1);
  expect_contents(*darray(true), Combiner::darray, {2, 1, 1, 17, 19, 2, 0xF}, {}, {9}, 1);
}

TEST_F(ConstructorsTest, RefusesWithAReason) {
  expect_error(make_contiguous(-1, real, false), ErrorClass::count, "count is -1");
  expect_error(make_vector(1, -2, 1, real, false), ErrorClass::arg, "blocklength is -2");
  expect_error(make_indexed(Counts{1, -7}, Counts{0, 0}, real, false), ErrorClass::arg,
               "blocklength 1 is -7");
  expect_error(make_subarray(Counts{4}, Counts{5}, Counts{0}, ArrayOrder::c, real, false),
               ErrorClass::arg, "[1,4]");
  expect_error(make_subarray(Counts{4}, Counts{3}, Counts{2}, ArrayOrder::c, real, false),
               ErrorClass::arg, "[0,1]");
  expect_error(make_darray(6, 0, Counts{4, 4}, std::vector<int>{17, 17}, std::vector<int>{19, 19},
                           std::vector<int>{2, 2}, ArrayOrder::c, real, false),
               ErrorClass::arg, "2x2");
  expect_error(make_darray(2, 0, Counts{9}, std::vector<int>{17}, std::vector<int>{4},
                           std::vector<int>{2}, ArrayOrder::c, real, false),
               ErrorClass::arg, "at least 5");
}

TEST_F(ConstructorsTest, OverflowIsAnError) {
  const auto too_large = ErrorClass::value_too_large;
  expect_error(make_contiguous(kMax / 4, real, true), too_large, "2^63 - 1");
  expect_error(make_vector(3, 1, kMax / 8, real, true), too_large, "2^63 - 1");
  expect_error(make_hvector(3, 1, kMax - 8, real, true), too_large, "2^63 - 1");
  expect_error(make_indexed(Counts{1}, Counts{kMax / 4}, real, true), too_large, "2^63 - 1");
  expect_error(make_resized(real, kMax, 8, true), too_large, "2^63 - 1");
  expect_error(
      make_subarray(Counts{kMax, 4}, Counts{1, 1}, Counts{0, 0}, ArrayOrder::c, real, true),
      too_large, "2^63 - 1");
  EXPECT_TRUE(make_vector(1, 1, kMax, real, true).ok());
  EXPECT_TRUE(make_contiguous(kMax / 8, real, true).ok());
}

TEST_F(ConstructorsTest, HugeTypesCommitAtOnce) {
  const Ref<Datatype> row = made(make_vector(Count{1} << 40, 1, 2, real, true));
  const Ref<Datatype> type = made(make_contiguous(4, *row, true));
  type->commit();
  EXPECT_EQ(type->size(), Count{8} << 42);
  EXPECT_EQ(type->elements_in(type->size() - 8), (Count{1} << 42) - 1);
  EXPECT_EQ(type->elements_in(12), -1);
}

TEST_F(ConstructorsTest, DupKeepsWhetherCommittedAndBasic) {
  EXPECT_TRUE(made(make_dup(real))->is_committed());
  EXPECT_EQ(made(make_dup(*made(make_dup(real))))->basic(), &real);
  const Ref<Datatype> two = made(make_contiguous(2, real, false));
  EXPECT_FALSE(made(make_dup(*two))->is_committed());
  EXPECT_EQ(two->basic(), nullptr);
  two->commit();
  const Ref<Datatype> copy = made(make_dup(*two));
  EXPECT_TRUE(copy->is_committed());
  EXPECT_TRUE(copy->is_dense());
}

}  // namespace
}  // namespace hawser::core
