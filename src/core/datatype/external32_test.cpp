#include <gtest/gtest.h>

#include <complex>
#include <cstring>

#include "core/datatype/datatype.hpp"

namespace hawser::core {
namespace {

using Raw = std::vector<std::uint8_t>;

struct External32Test : testing::Test {
  TypeTable table;

  template <class T>
  Raw encoded(std::uint32_t handle, const T& value) {
    const Datatype& type = *table.find(handle);
    Raw out(static_cast<std::size_t>(type.external32_size(1)));
    EXPECT_TRUE(type.pack_external32(&value, 1, out.data()).ok());
    T back{};
    EXPECT_TRUE(type.unpack_external32(&back, 1, out.data()).ok());
    EXPECT_EQ(back, value);
    return out;
  }
};

TEST_F(External32Test, IsBigEndian) {
  EXPECT_EQ(encoded(0x209, 0x01020304), (Raw{1, 2, 3, 4}));             // MPI_INT
  EXPECT_EQ(encoded(0x20c, std::uint16_t{0xabcd}), (Raw{0xab, 0xcd}));  // unsigned short
  EXPECT_EQ(encoded(0x214, 1.0), (Raw{0x3f, 0xf0, 0, 0, 0, 0, 0, 0}));  // MPI_DOUBLE
  EXPECT_EQ(encoded(0x212, std::complex<float>(1, -2)), (Raw{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}));
  EXPECT_EQ(encoded(0x201, std::int64_t{-2}), (Raw{255, 255, 255, 255, 255, 255, 255, 254}));
}

TEST_F(External32Test, LongHasFourBytes) {
  EXPECT_EQ(encoded(0x20a, -2L), (Raw{255, 255, 255, 254}));
  EXPECT_EQ(encoded(0x20e, 0xfffffffeUL), (Raw{255, 255, 255, 254}));
  EXPECT_EQ(encoded(0x23c, L'\u20ac'), (Raw{0x20, 0xac}));  // MPI_WCHAR
}

TEST_F(External32Test, LongDoubleIsBinary128) {
  Raw wanted(16, 0);
  wanted[0] = 0x3f;
  wanted[1] = 0xff;
  wanted[2] = 0x80;
  EXPECT_EQ(encoded(0x220, 1.5L), wanted);
}

TEST_F(External32Test, RefusesWhatDoesNotFit) {
  const long large = 1L << 40;
  std::uint8_t out[4];
  const Result<void> result = table.find(0x20a)->pack_external32(&large, 1, out);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), static_cast<int>(ErrorClass::conversion));
  EXPECT_NE(result.error().sentence().find("1099511627776"), std::string::npos);
}

TEST_F(External32Test, SkipsHolesOfDerivedTypes) {
  struct DoubleInt {
    double value;
    int index;
  };
  const DoubleInt items[2] = {{1.0, 7}, {2.0, 8}};
  const Datatype& type = *table.find(0x229);
  EXPECT_EQ(type.external32_size(2), 24);
  Raw out(24);
  ASSERT_TRUE(type.pack_external32(items, 2, out.data()).ok());
  EXPECT_EQ(out[11], 7);
  EXPECT_EQ(out[12], 0x40);
  EXPECT_EQ(out[23], 8);
  Ref<Datatype> backwards = std::move(make_vector(2, 1, -1, *table.find(0x209), false)).value();
  const int values[2] = {1, 2};
  Raw reversed(8);
  ASSERT_TRUE(backwards->pack_external32(values + 1, 1, reversed.data()).ok());
  EXPECT_EQ(reversed, (Raw{0, 0, 0, 2, 0, 0, 0, 1}));
}

TEST_F(External32Test, EveryPredefinedTypeRoundTrips) {
  for (const Datatype* type : table.all()) {
    Raw out(static_cast<std::size_t>(type->external32_size(3)), 0xff);
    const std::vector<std::byte> zero(static_cast<std::size_t>(3 * type->extent()));
    ASSERT_TRUE(type->pack_external32(zero.data(), 3, out.data()).ok()) << type->name();
    EXPECT_EQ(out, Raw(out.size(), 0)) << type->name();
    std::vector<std::byte> back(zero.size());
    ASSERT_TRUE(type->unpack_external32(back.data(), 3, out.data()).ok()) << type->name();
    EXPECT_EQ(back, zero) << type->name();
  }
}

}  // namespace
}  // namespace hawser::core
