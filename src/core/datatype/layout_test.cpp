#include "core/datatype/layout.hpp"

#include <gtest/gtest.h>

#include "core/datatype/type.hpp"

namespace hawser::core {
namespace {

using Counts = std::vector<Count>;
using Kind = Layout::Kind;

struct LayoutTest : testing::Test {
  TypeTable table;
  Datatype& integer = *table.find(0x209);
  Datatype& real = *table.find(0x214);
  Ref<Datatype> last;

  const Layout& compiled(Result<Ref<Datatype>> made) {
    last = std::move(made).value();
    last->commit();
    return as_type(*last).layout();
  }
};

TEST_F(LayoutTest, AdjacentBlocksMergeToDense) {
  EXPECT_EQ(compiled(make_vector(5, 3, 3, real, false)).kind, Kind::dense);
  EXPECT_EQ(compiled(make_indexed(Counts{1, 2, 1}, Counts{4, 5, 7}, real, false)).kind,
            Kind::dense);
  EXPECT_TRUE(last->is_dense());
  EXPECT_EQ(last->true_lower_bound(), 32);
  Datatype* const types[] = {&integer, &integer, &real};
  EXPECT_EQ(compiled(make_struct(Counts{1, 1, 1}, Counts{0, 4, 8}, types, false)).kind,
            Kind::dense);
  EXPECT_TRUE(last->is_dense());
}

TEST_F(LayoutTest, DensePiecesThatDoNotFollowEachOtherAreNotDense) {
  compiled(make_resized(real, 0, 16, false));
  EXPECT_FALSE(last->is_dense());
  compiled(make_indexed(Counts{1, 1}, Counts{1, 0}, real, false));  // out of order
  EXPECT_FALSE(last->is_dense());
}

TEST_F(LayoutTest, EqualStridesBecomeAVector) {
  const Layout& blocks = compiled(make_indexed_block(1, Counts{0, 3, 6, 9}, real, false));
  EXPECT_EQ(blocks.kind, Kind::strided);
  EXPECT_EQ(blocks.count, 4);
  EXPECT_EQ(blocks.stride, 24);
  EXPECT_EQ(blocks.bytes, 8);
}

TEST_F(LayoutTest, NestedVectorsCollapse) {
  const Ref<Datatype> inner = std::move(make_vector(4, 1, 2, real, false)).value();
  const Layout& outer = compiled(make_hvector(10, 1, 64, *inner, false));
  EXPECT_EQ(outer.kind, Kind::strided);
  EXPECT_EQ(outer.count, 40);
  EXPECT_EQ(compiled(make_hvector(10, 1, 100, *inner, false)).kind, Kind::repeated);
}

TEST_F(LayoutTest, UnevenBlocksStayAList) {
  EXPECT_EQ(compiled(make_indexed_block(2, Counts{0, 3, 9}, real, false)).kind, Kind::gathered);
  const Layout& blocks = compiled(make_indexed(Counts{1, 2, 1}, Counts{0, 3, 9}, real, false));
  EXPECT_EQ(blocks.kind, Kind::blocks);
  EXPECT_EQ(Counts(blocks.starts.begin(), blocks.starts.end()), (Counts{0, 8, 24, 32}));
}

TEST_F(LayoutTest, SmallListsDissolveIntoTheListAbove) {
  const Ref<Datatype> pair = std::move(make_vector(2, 1, 2, real, false)).value();
  const Layout& outer = compiled(make_indexed(Counts{1, 1, 1}, Counts{0, 5, 7}, *pair, false));
  EXPECT_EQ(outer.kind, Kind::gathered);
  EXPECT_EQ(outer.offsets.size(), 6U);
}

TEST_F(LayoutTest, SharedSubtypesAreCompiledOnce) {
  // 2^40 paths through the tree: visiting each would take for ever.
  Ref<Datatype> type = std::move(make_vector(100, 1, 2, integer, false)).value();
  Count gap = 3;
  for (int level = 0; level < 40; ++level, ++gap) {
    Datatype* const twice[] = {type.get(), type.get(), &integer};
    const Counts at{0, type->extent() + gap, -gap * 4};
    type = std::move(make_struct(Counts{1, 1, 1}, at, twice, true)).value();
  }
  type->commit();
  EXPECT_GT(type->size(), Count{400} << 40);
}

}  // namespace
}  // namespace hawser::core
