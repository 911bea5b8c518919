#include <gtest/gtest.h>

#include "core/datatype/datatype.hpp"

namespace hawser::core {
namespace {

constexpr int kUndefined = -32766;

TEST(TypeTable, FindsByHandleAndKnowsNames) {
  const TypeTable table;
  EXPECT_EQ(table.all().size(), 70U);
  EXPECT_EQ(table.find(0x200), nullptr);  // MPI_DATATYPE_NULL
  EXPECT_EQ(table.find(0x204), nullptr);
  EXPECT_EQ(table.find(0xffffffff), nullptr);
  EXPECT_EQ(table.find(0x209)->name(), "MPI_INT");
  EXPECT_EQ(table.find(0x2eb)->name(), "MPI_COMPLEX32");
  EXPECT_EQ(table.find(0x2eb)->size(), 32);
  for (Datatype* type : table.all()) {
    EXPECT_TRUE(type->is_named());
    EXPECT_TRUE(type->is_committed());
    EXPECT_EQ(type->basic(), type);
    EXPECT_EQ(type->name().rfind("MPI_", 0), 0U);
    EXPECT_EQ(type->elements_in(type->size()), type->scalar() == Scalar::value_index ? 2 : 1);
  }
}

TEST(TypeTable, SizesInHandlesOfTheAbi) {
  // The ABI encodes the size of a fixed-size type: bits 3 to 5 of the handle are its logarithm.
  const TypeTable table;
  for (const Datatype* type : table.all()) {
    const bool fixed = type->name().find_first_of("123468") != std::string::npos &&
                       type->scalar() != Scalar::value_index;
    if (!fixed) continue;
    bool found = false;
    for (const std::uint32_t base : {0x240U, 0x2c0U})
      for (std::uint32_t low = 0; low < 8; ++low)
        for (std::uint32_t log = 0; log < 6; ++log)
          found = found || (table.find(base + log * 8 + low) == type && type->size() == 1 << log);
    EXPECT_TRUE(found) << type->name();
  }
}

TEST(TypeTable, ValueIndexPairs) {
  TypeTable table;
  Datatype& integer = *table.find(0x209);
  EXPECT_EQ(table.value_index(*table.find(0x214), integer).value(), table.find(0x229));
  EXPECT_EQ(table.value_index(*table.find(0x21a), *table.find(0x21a)).value(), table.find(0x230));
  Datatype* const unnamed = table.value_index(*table.find(0x240), *table.find(0x258)).value();
  ASSERT_NE(unnamed, nullptr);  // int8_t, int64_t
  EXPECT_EQ(unnamed->size(), 9);
  EXPECT_EQ(unnamed->extent(), 16);
  EXPECT_EQ(unnamed->scalar(), Scalar::value_index);
  EXPECT_EQ(unnamed->contents().combiner, Combiner::value_index);
  EXPECT_EQ(unnamed->contents().types.size(), 2U);
  EXPECT_EQ(table.value_index(*table.find(0x240), *table.find(0x258)).value(), unnamed);
  EXPECT_EQ(table.value_index(*table.find(0x247), integer).value(), nullptr);  // MPI_BYTE
  EXPECT_EQ(table.value_index(integer, *table.find(0x210)).value(), nullptr);  // float index
  const Ref<Datatype> derived = std::move(make_contiguous(1, integer, false)).value();
  EXPECT_EQ(table.value_index(*derived, integer).value(), nullptr);
}

TEST(TypeTable, F90TypesAreChosenByPrecisionAndRange) {
  TypeTable table;
  EXPECT_EQ(table.f90_real(6, 37).value()->size(), 4);
  EXPECT_EQ(table.f90_real(7, 37).value()->size(), 8);
  EXPECT_EQ(table.f90_real(6, 38).value()->size(), 8);
  EXPECT_EQ(table.f90_real(kUndefined, 308).value()->size(), 16);
  EXPECT_EQ(table.f90_complex(15, kUndefined).value()->size(), 16);
  EXPECT_EQ(table.f90_integer(9).value()->size(), 4);
  EXPECT_EQ(table.f90_integer(10).value()->size(), 8);
  Datatype* const real = table.f90_real(10, 100).value();
  EXPECT_EQ(table.f90_real(10, 100).value(), real);
  EXPECT_NE(table.f90_real(10, 101).value(), real);
  EXPECT_EQ(real->contents().combiner, Combiner::f90_real);
  EXPECT_EQ(real->contents().integers, (std::vector<int>{10, 100}));
  EXPECT_EQ(table.f90_integer(3).value()->contents().integers, (std::vector<int>{3}));
  EXPECT_NE(real->basic(), nullptr);
  EXPECT_FALSE(table.f90_real(34, 10).ok());
  EXPECT_FALSE(table.f90_real(3, 5000).ok());
  EXPECT_FALSE(table.f90_integer(39).ok());
  EXPECT_FALSE(table.f90_integer(-1).ok());
}

TEST(TypeTable, MatchSize) {
  TypeTable table;
  EXPECT_EQ(table.match_size(192, 8).value()->name(), "MPI_INTEGER8");
  EXPECT_EQ(table.match_size(193, 4).value()->name(), "MPI_REAL4");
  EXPECT_EQ(table.match_size(194, 16).value()->name(), "MPI_COMPLEX16");
  EXPECT_FALSE(table.match_size(192, 3).ok());
  EXPECT_FALSE(table.match_size(9, 4).ok());
}

}  // namespace
}  // namespace hawser::core
