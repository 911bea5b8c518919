#include <complex>

#include "core/datatype/basic.hpp"

namespace hawser::core {
namespace {

constexpr std::uint8_t narrow(std::size_t bytes) { return static_cast<std::uint8_t>(bytes); }

template <class T>
constexpr Element native(Scalar scalar, std::size_t external32_bytes = sizeof(T)) {
  return {scalar, narrow(sizeof(T)), narrow(alignof(T)), narrow(external32_bytes)};
}

constexpr Element sized(Scalar scalar, std::size_t bytes) {
  const bool complex = scalar == Scalar::complex_floating;
  return {scalar, narrow(bytes), narrow(complex ? bytes / 2 : bytes), narrow(bytes)};
}

template <class T>
constexpr Element integer(std::size_t external32_bytes = sizeof(T)) {
  const bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
  return native<T>(is_signed ? Scalar::signed_integer : Scalar::unsigned_integer, external32_bytes);
}

constexpr Basic c_type(std::uint32_t handle, const char* name, Element value, Element index = {}) {
  return {handle, name, Language::c, value, index};
}
constexpr Basic fortran_type(std::uint32_t handle, const char* name, Element value,
                             Element index = {}) {
  return {handle, name, Language::fortran, value, index};
}
constexpr Basic shared_type(std::uint32_t handle, const char* name, Element value) {
  return {handle, name, Language::any, value, {}};
}

constexpr Scalar kInteger = Scalar::signed_integer;
constexpr Scalar kLogical = Scalar::logical;
constexpr Scalar kReal = Scalar::floating;
constexpr Scalar kComplex = Scalar::complex_floating;

constexpr Element kByte = native<char>(Scalar::bytes);
constexpr Element kCharacter = native<char>(Scalar::character);
constexpr Element kBool = native<bool>(Scalar::boolean);
constexpr Element kFloat = native<float>(kReal);
constexpr Element kDouble = native<double>(kReal);
constexpr Element kFloatComplex = native<std::complex<float>>(kComplex);
constexpr Element kDoubleComplex = native<std::complex<double>>(kComplex);
// external32 knows one extended format, IEEE binary128; and its long has four bytes.
constexpr Element kLongDouble = native<long double>(Scalar::long_double, 16);
constexpr Element kLongDoubleComplex =
    native<std::complex<long double>>(Scalar::complex_long_double, 32);
constexpr Element kLong = integer<long>(4);
constexpr Element kUnsignedLong = integer<unsigned long>(4);
constexpr Element kFortranInteger = sized(kInteger, 4);
constexpr Element kFortranReal = sized(kReal, 4);
constexpr Element kFortranDouble = sized(kReal, 8);

constexpr Basic kPredefined[] = {
    shared_type(0x201, "MPI_AINT", integer<std::intptr_t>(8)),
    shared_type(0x202, "MPI_COUNT", integer<Count>(8)),
    shared_type(0x203, "MPI_OFFSET", integer<std::int64_t>(8)),
    shared_type(0x207, "MPI_PACKED", kByte),
    c_type(0x208, "MPI_SHORT", integer<short>()),
    c_type(0x209, "MPI_INT", integer<int>()),
    c_type(0x20a, "MPI_LONG", kLong),
    c_type(0x20b, "MPI_LONG_LONG", integer<long long>()),
    c_type(0x20c, "MPI_UNSIGNED_SHORT", integer<unsigned short>()),
    c_type(0x20d, "MPI_UNSIGNED", integer<unsigned>()),
    c_type(0x20e, "MPI_UNSIGNED_LONG", kUnsignedLong),
    c_type(0x20f, "MPI_UNSIGNED_LONG_LONG", integer<unsigned long long>()),
    c_type(0x210, "MPI_FLOAT", kFloat),
    c_type(0x212, "MPI_C_FLOAT_COMPLEX", kFloatComplex),
    c_type(0x213, "MPI_CXX_FLOAT_COMPLEX", kFloatComplex),
    c_type(0x214, "MPI_DOUBLE", kDouble),
    c_type(0x216, "MPI_C_DOUBLE_COMPLEX", kDoubleComplex),
    c_type(0x217, "MPI_CXX_DOUBLE_COMPLEX", kDoubleComplex),
    fortran_type(0x218, "MPI_LOGICAL", sized(kLogical, 4)),
    fortran_type(0x219, "MPI_INTEGER", kFortranInteger),
    fortran_type(0x21a, "MPI_REAL", kFortranReal),
    fortran_type(0x21b, "MPI_COMPLEX", sized(kComplex, 8)),
    fortran_type(0x21c, "MPI_DOUBLE_PRECISION", kFortranDouble),
    fortran_type(0x21d, "MPI_DOUBLE_COMPLEX", sized(kComplex, 16)),
    fortran_type(0x21e, "MPI_CHARACTER", kCharacter),
    c_type(0x220, "MPI_LONG_DOUBLE", kLongDouble),
    c_type(0x224, "MPI_C_LONG_DOUBLE_COMPLEX", kLongDoubleComplex),
    c_type(0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", kLongDoubleComplex),
    c_type(0x228, "MPI_FLOAT_INT", kFloat, integer<int>()),
    c_type(0x229, "MPI_DOUBLE_INT", kDouble, integer<int>()),
    c_type(0x22a, "MPI_LONG_INT", kLong, integer<int>()),
    c_type(0x22b, "MPI_2INT", integer<int>(), integer<int>()),
    c_type(0x22c, "MPI_SHORT_INT", integer<short>(), integer<int>()),
    c_type(0x22d, "MPI_LONG_DOUBLE_INT", kLongDouble, integer<int>()),
    fortran_type(0x230, "MPI_2REAL", kFortranReal, kFortranReal),
    fortran_type(0x231, "MPI_2DOUBLE_PRECISION", kFortranDouble, kFortranDouble),
    fortran_type(0x232, "MPI_2INTEGER", kFortranInteger, kFortranInteger),
    c_type(0x238, "MPI_C_BOOL", kBool),
    c_type(0x239, "MPI_CXX_BOOL", kBool),
    c_type(0x23c, "MPI_WCHAR", native<wchar_t>(Scalar::wide_character, 2)),
    c_type(0x240, "MPI_INT8_T", integer<std::int8_t>()),
    c_type(0x241, "MPI_UINT8_T", integer<std::uint8_t>()),
    c_type(0x243, "MPI_CHAR", kCharacter),
    c_type(0x244, "MPI_SIGNED_CHAR", integer<signed char>()),
    c_type(0x245, "MPI_UNSIGNED_CHAR", integer<unsigned char>()),
    shared_type(0x247, "MPI_BYTE", kByte),
    c_type(0x248, "MPI_INT16_T", integer<std::int16_t>()),
    c_type(0x249, "MPI_UINT16_T", integer<std::uint16_t>()),
    c_type(0x250, "MPI_INT32_T", integer<std::int32_t>()),
    c_type(0x251, "MPI_UINT32_T", integer<std::uint32_t>()),
    c_type(0x258, "MPI_INT64_T", integer<std::int64_t>()),
    c_type(0x259, "MPI_UINT64_T", integer<std::uint64_t>()),
    fortran_type(0x2c0, "MPI_LOGICAL1", sized(kLogical, 1)),
    fortran_type(0x2c1, "MPI_INTEGER1", sized(kInteger, 1)),
    fortran_type(0x2c8, "MPI_LOGICAL2", sized(kLogical, 2)),
    fortran_type(0x2c9, "MPI_INTEGER2", sized(kInteger, 2)),
    fortran_type(0x2ca, "MPI_REAL2", sized(kReal, 2)),
    fortran_type(0x2d0, "MPI_LOGICAL4", sized(kLogical, 4)),
    fortran_type(0x2d1, "MPI_INTEGER4", sized(kInteger, 4)),
    fortran_type(0x2d2, "MPI_REAL4", sized(kReal, 4)),
    fortran_type(0x2d3, "MPI_COMPLEX4", sized(kComplex, 4)),
    fortran_type(0x2d8, "MPI_LOGICAL8", sized(kLogical, 8)),
    fortran_type(0x2d9, "MPI_INTEGER8", sized(kInteger, 8)),
    fortran_type(0x2da, "MPI_REAL8", sized(kReal, 8)),
    fortran_type(0x2db, "MPI_COMPLEX8", sized(kComplex, 8)),
    fortran_type(0x2e0, "MPI_LOGICAL16", sized(kLogical, 16)),
    fortran_type(0x2e1, "MPI_INTEGER16", sized(kInteger, 16)),
    fortran_type(0x2e2, "MPI_REAL16", sized(kReal, 16)),
    fortran_type(0x2e3, "MPI_COMPLEX16", sized(kComplex, 16)),
    fortran_type(0x2eb, "MPI_COMPLEX32", sized(kComplex, 32)),
};

static_assert(std::is_sorted(std::begin(kPredefined), std::end(kPredefined),
                             [](const Basic& a, const Basic& b) { return a.handle < b.handle; }));

}  // namespace

std::span<const Basic> predefined_types() { return kPredefined; }

}  // namespace hawser::core
