#include "core/op/op.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>

#include "core/op/machine_types.hpp"

namespace hawser::core {
namespace {

constexpr OpCode kCodes[] = {OpCode::sum,     OpCode::min,  OpCode::max,    OpCode::prod,
                             OpCode::band,    OpCode::bor,  OpCode::bxor,   OpCode::land,
                             OpCode::lor,     OpCode::lxor, OpCode::minloc, OpCode::maxloc,
                             OpCode::replace, OpCode::no_op};

struct OpTest : testing::Test {
  TypeTable table;

  Datatype& type(const char* name) {
    for (Datatype* each : table.all())
      if (each->name() == name) return *each;
    ADD_FAILURE() << name;
    return *table.all()[0];
  }

  /// in op inout, from buffers that are aligned to nothing.
  template <class T>
  std::vector<T> apply(OpCode code, const char* name, std::vector<T> in, std::vector<T> inout) {
    const Op op(code);
    const std::size_t bytes = in.size() * sizeof(T);
    EXPECT_TRUE(op.check(type(name)).ok()) << name;
    EXPECT_EQ(type(name).extent(), static_cast<Count>(sizeof(T))) << name;
    std::vector<std::byte> from(bytes + 1);
    std::vector<std::byte> to(bytes + 3);
    std::memcpy(from.data() + 1, in.data(), bytes);
    std::memcpy(to.data() + 3, inout.data(), bytes);
    op.apply(from.data() + 1, to.data() + 3, std::ssize(in), type(name));
    std::memcpy(inout.data(), to.data() + 3, bytes);
    return inout;
  }

  template <class T>
  void expect_integer_operations(const char* name) {
    const std::vector<T> a{1, 6, 0, 100, static_cast<T>(-1)};
    const std::vector<T> b{2, 3, 7, 0, static_cast<T>(5)};
    const auto expect = [&](OpCode code, auto function) {
      std::vector<T> wanted;
      for (std::size_t i = 0; i < a.size(); ++i)
        wanted.push_back(static_cast<T>(function(a[i], b[i])));
      EXPECT_EQ(apply(code, name, a, b), wanted) << name << " " << op_name(code);
    };
    const auto wide = [](T x) { return static_cast<std::uint64_t>(x); };
    expect(OpCode::sum, [&](T x, T y) { return wide(x) + wide(y); });
    expect(OpCode::prod, [&](T x, T y) { return wide(x) * wide(y); });
    expect(OpCode::min, [](T x, T y) { return std::min(x, y); });
    expect(OpCode::max, [](T x, T y) { return std::max(x, y); });
    expect(OpCode::band, [](T x, T y) { return x & y; });
    expect(OpCode::bor, [](T x, T y) { return x | y; });
    expect(OpCode::bxor, [](T x, T y) { return x ^ y; });
    if (!Op(OpCode::land).check(type(name)).ok()) return;
    expect(OpCode::land, [](T x, T y) { return x && y; });
    expect(OpCode::lor, [](T x, T y) { return x || y; });
    expect(OpCode::lxor, [](T x, T y) { return !x != !y; });
  }

  template <class T>
  void expect_floating_operations(const char* name) {
    const std::vector<T> a{T(1.5), T(-2), T(0)};
    const std::vector<T> b{T(2), T(-4), T(8)};
    EXPECT_TRUE((apply(OpCode::sum, name, a, b) == std::vector<T>{T(3.5), T(-6), T(8)})) << name;
    EXPECT_TRUE((apply(OpCode::prod, name, a, b) == std::vector<T>{T(3), T(8), T(0)})) << name;
    EXPECT_TRUE((apply(OpCode::min, name, a, b) == std::vector<T>{T(1.5), T(-4), T(0)})) << name;
    EXPECT_TRUE((apply(OpCode::max, name, a, b) == std::vector<T>{T(2), T(-2), T(8)})) << name;
  }

  template <class T>
  void expect_complex_operations(const char* name) {
    using C = Complex<T>;
    const std::vector<C> a{{T(1), T(2)}};
    const std::vector<C> b{{T(3), T(-1)}};
    const C sum = apply(OpCode::sum, name, a, b)[0];
    EXPECT_TRUE(sum.real == T(4) && sum.imaginary == T(1)) << name;
    const C product = apply(OpCode::prod, name, a, b)[0];
    EXPECT_TRUE(product.real == T(5) && product.imaginary == T(5)) << name;
  }
};

TEST_F(OpTest, Integers) {
  expect_integer_operations<std::int8_t>("MPI_INT8_T");
  expect_integer_operations<std::uint8_t>("MPI_UNSIGNED_CHAR");
  expect_integer_operations<short>("MPI_SHORT");
  expect_integer_operations<std::uint16_t>("MPI_UINT16_T");
  expect_integer_operations<int>("MPI_INT");
  expect_integer_operations<unsigned>("MPI_UNSIGNED");
  expect_integer_operations<long>("MPI_LONG");
  expect_integer_operations<unsigned long long>("MPI_UNSIGNED_LONG_LONG");
  expect_integer_operations<std::int32_t>("MPI_INTEGER");
  expect_integer_operations<std::int16_t>("MPI_INTEGER2");
  expect_integer_operations<std::int64_t>("MPI_AINT");
  expect_integer_operations<std::int64_t>("MPI_OFFSET");
  expect_integer_operations<std::int64_t>("MPI_COUNT");
}

TEST_F(OpTest, IntegersOfSixteenBytes) {
  const Int128 big = static_cast<Int128>(1) << 100;
  EXPECT_TRUE((apply(OpCode::sum, "MPI_INTEGER16", std::vector<Int128>{big},
                     std::vector<Int128>{big}) == std::vector<Int128>{big * 2}));
  EXPECT_TRUE((apply(OpCode::min, "MPI_INTEGER16", std::vector<Int128>{-big},
                     std::vector<Int128>{5}) == std::vector<Int128>{-big}));
}

TEST_F(OpTest, Floatings) {
  expect_floating_operations<float>("MPI_FLOAT");
  expect_floating_operations<double>("MPI_DOUBLE");
  expect_floating_operations<long double>("MPI_LONG_DOUBLE");
  expect_floating_operations<float>("MPI_REAL");
  expect_floating_operations<double>("MPI_DOUBLE_PRECISION");
  expect_floating_operations<Binary16>("MPI_REAL2");
  expect_floating_operations<Binary128>("MPI_REAL16");
}

TEST_F(OpTest, Complexes) {
  expect_complex_operations<float>("MPI_C_FLOAT_COMPLEX");
  expect_complex_operations<double>("MPI_CXX_DOUBLE_COMPLEX");
  expect_complex_operations<long double>("MPI_C_LONG_DOUBLE_COMPLEX");
  expect_complex_operations<Binary16>("MPI_COMPLEX4");
  expect_complex_operations<double>("MPI_COMPLEX16");
  expect_complex_operations<Binary128>("MPI_COMPLEX32");
}

TEST_F(OpTest, Logicals) {
  using Logical = std::vector<std::int32_t>;
  EXPECT_EQ(apply(OpCode::land, "MPI_LOGICAL", Logical{0, 2, 4}, Logical{4, 1, 0}),
            (Logical{0, 1, 0}));
  EXPECT_EQ(apply(OpCode::lxor, "MPI_LOGICAL", Logical{0, 2, 4}, Logical{4, 1, 0}),
            (Logical{1, 0, 1}));
  using Bools = std::vector<std::uint8_t>;
  EXPECT_EQ(apply(OpCode::lor, "MPI_C_BOOL", Bools{0, 0, 1}, Bools{0, 1, 1}), (Bools{0, 1, 1}));
  EXPECT_EQ(apply(OpCode::band, "MPI_BYTE", Bools{12}, Bools{10}), (Bools{8}));
}

template <class V, class I>
struct Pair {
  V value;
  I index;
  friend bool operator==(const Pair&, const Pair&) = default;
};

TEST_F(OpTest, MinlocAndMaxlocPreferTheSmallerIndexOfEquals) {
  using DoubleInt = std::vector<Pair<double, int>>;
  const DoubleInt a{{1, 5}, {2, 6}, {3, 7}, {3, 1}};
  const DoubleInt b{{2, 4}, {1, 3}, {3, 2}, {3, 9}};
  EXPECT_EQ(apply(OpCode::minloc, "MPI_DOUBLE_INT", a, b),
            (DoubleInt{{1, 5}, {1, 3}, {3, 2}, {3, 1}}));
  EXPECT_EQ(apply(OpCode::maxloc, "MPI_DOUBLE_INT", a, b),
            (DoubleInt{{2, 4}, {2, 6}, {3, 2}, {3, 1}}));
  using ShortInt = std::vector<Pair<short, int>>;
  EXPECT_EQ(apply(OpCode::maxloc, "MPI_SHORT_INT", ShortInt{{-5, 1}}, ShortInt{{-6, 0}}),
            (ShortInt{{-5, 1}}));
  using TwoReal = std::vector<Pair<float, float>>;
  EXPECT_EQ(apply(OpCode::minloc, "MPI_2REAL", TwoReal{{2, 1.5}}, TwoReal{{2, 1.25}}),
            (TwoReal{{2, 1.25}}));
}

TEST_F(OpTest, PairsLeavePaddingAlone) {
  struct DoubleInt {
    double value;
    int index;
    int padding;
  };
  const DoubleInt in{1, 2, 111};
  DoubleInt inout{5, 6, 222};
  Op(OpCode::minloc).apply(&in, &inout, 1, type("MPI_DOUBLE_INT"));
  EXPECT_EQ(inout.index, 2);
  EXPECT_EQ(inout.padding, 222);
}

TEST_F(OpTest, HasALoopForNumbersAlone) {
  EXPECT_NE(Op(OpCode::sum).kernel_for(type("MPI_INT")), nullptr);
  EXPECT_EQ(Op(OpCode::minloc).kernel_for(type("MPI_DOUBLE_INT")), nullptr);
  const Op mine([](const void*, void*, Count, Datatype&) {}, true);
  EXPECT_EQ(mine.kernel_for(type("MPI_INT")), nullptr);
}

TEST_F(OpTest, UnnamedPairs) {
  Datatype& pair = *table.value_index(type("MPI_UINT8_T"), type("MPI_COUNT")).value();
  const Pair<std::uint8_t, std::int64_t> in{200, std::int64_t{1} << 40};
  Pair<std::uint8_t, std::int64_t> inout{100, 3};
  ASSERT_TRUE(Op(OpCode::maxloc).check(pair).ok());
  EXPECT_FALSE(Op(OpCode::sum).check(pair).ok());
  Op(OpCode::maxloc).apply(&in, &inout, 1, pair);
  EXPECT_EQ(inout, in);
}

/// The standard's table, by the groups that it has.
TEST_F(OpTest, AllowsWhatTheStandardAllows) {
  struct Row {
    const char* type;
    const char* allowed;  // a letter per operation of kCodes: yes or no
  };
  const Row rows[] = {
      {"MPI_INT", "yyyyyyyyyynnnn"},       {"MPI_SIGNED_CHAR", "yyyyyyyyyynnnn"},
      {"MPI_INTEGER4", "yyyyyyynnnnnnn"},  {"MPI_AINT", "yyyyyyynnnnnnn"},
      {"MPI_DOUBLE", "yyyynnnnnnnnnn"},    {"MPI_LONG_DOUBLE", "yyyynnnnnnnnnn"},
      {"MPI_COMPLEX", "ynnynnnnnnnnnn"},   {"MPI_CXX_BOOL", "nnnnnnnyyynnnn"},
      {"MPI_LOGICAL16", "nnnnnnnyyynnnn"}, {"MPI_BYTE", "nnnnyyynnnnnnn"},
      {"MPI_PACKED", "nnnnnnnnnnnnnn"},    {"MPI_CHAR", "nnnnnnnnnnnnnn"},
      {"MPI_CHARACTER", "nnnnnnnnnnnnnn"}, {"MPI_WCHAR", "nnnnnnnnnnnnnn"},
      {"MPI_2INTEGER", "nnnnnnnnnnyynn"},  {"MPI_LONG_DOUBLE_INT", "nnnnnnnnnnyynn"},
  };
  for (const Row& row : rows)
    for (std::size_t i = 0; i < std::size(kCodes); ++i)
      EXPECT_EQ(Op(kCodes[i]).check(type(row.type)).ok(), row.allowed[i] == 'y')
          << op_name(kCodes[i]) << " on " << row.type;
}

TEST_F(OpTest, EveryAllowedCombinationRuns) {
  for (Datatype* type : table.all())
    for (const OpCode code : kCodes) {
      const Op op(code);
      if (!op.check(*type).ok()) continue;
      const std::vector<std::byte> in(static_cast<std::size_t>(5 * type->extent()));
      std::vector<std::byte> inout = in;
      op.apply(in.data(), inout.data(), 5, *type);
      // As external32, since the padding of a long double may be anything.
      std::vector<std::byte> out(static_cast<std::size_t>(type->external32_size(5)), std::byte{1});
      ASSERT_TRUE(type->pack_external32(inout.data(), 5, out.data()).ok());
      EXPECT_EQ(out, std::vector<std::byte>(out.size()))
          << op_name(code) << " of zeros of " << type->name();
    }
}

TEST_F(OpTest, RefusalNamesBoth) {
  const Result<void> result = Op(OpCode::band).check(type("MPI_DOUBLE"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), static_cast<int>(ErrorClass::op));
  EXPECT_NE(result.error().sentence().find("MPI_BAND"), std::string::npos);
  EXPECT_NE(result.error().sentence().find("MPI_DOUBLE"), std::string::npos);
}

TEST_F(OpTest, DuplicatesCountAsBasicOtherDerivedTypesDoNot) {
  const Ref<Datatype> copy = std::move(make_dup(type("MPI_INT"))).value();
  const int in[] = {1, 2};
  int inout[] = {3, 4};
  ASSERT_TRUE(Op(OpCode::sum).check(*copy).ok());
  Op(OpCode::sum).apply(in, inout, 2, *copy);
  EXPECT_EQ(inout[1], 6);
  const Ref<Datatype> derived = std::move(make_contiguous(1, type("MPI_INT"), false)).value();
  EXPECT_FALSE(Op(OpCode::sum).check(*derived).ok());
}

TEST_F(OpTest, UsersFunctionTakesAnyType) {
  const Op op(
      [](const void* in, void* inout, Count count, Datatype&) {
        for (Count i = 0; i < count; ++i)
          static_cast<char*>(inout)[i] = static_cast<const char*>(in)[i];
      },
      false);
  EXPECT_FALSE(op.is_commutative());
  EXPECT_TRUE(op.check(type("MPI_CHAR")).ok());
  char to[] = "no";
  op.apply("ab", to, 2, type("MPI_CHAR"));
  EXPECT_STREQ(to, "ab");
}

}  // namespace
}  // namespace hawser::core
