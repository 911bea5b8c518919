// Machine types of the predefined datatypes: which C++ type computes with an Element.
//
// with_machine_type() calls its visitor with MachineType<T>, or with nothing found returns false.
// Fortran's sizes that standard C++ has no name for come from compiler extensions; where one is
// missing, elements of that size can be moved, but not reduced.
#pragma once

#include <type_traits>

#include "core/datatype/basic.hpp"
#include "core/datatype/binary128.hpp"

namespace hawser::core {

template <class T>
struct MachineType {
  using type = T;
};

#if defined(__SIZEOF_INT128__)
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UnsignedInt128;
#endif
#if defined(__FLT16_MAX__)
__extension__ typedef _Float16 Binary16;
#endif

/// Arithmetic as Fortran does it: no detours for infinities, so that loops stay loops.
template <class T>
struct Complex {
  T real;
  T imaginary;

  friend Complex operator+(const Complex& a, const Complex& b) {
    return {static_cast<T>(a.real + b.real), static_cast<T>(a.imaginary + b.imaginary)};
  }
  friend Complex operator*(const Complex& a, const Complex& b) {
    return {static_cast<T>(a.real * b.real - a.imaginary * b.imaginary),
            static_cast<T>(a.real * b.imaginary + a.imaginary * b.real)};
  }
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Complex<T>> = true;

/// Integers of the standard library's traits and the 128-bit ones, which strict modes leave out.
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T>;
#if defined(__SIZEOF_INT128__)
template <>
inline constexpr bool is_integer<Int128> = true;
template <>
inline constexpr bool is_integer<UnsignedInt128> = true;
#endif

template <class Visitor>
bool with_signed_integer(std::size_t bytes, const Visitor& visit) {
  switch (bytes) {
    case 1:
      return visit(MachineType<std::int8_t>());
    case 2:
      return visit(MachineType<std::int16_t>());
    case 4:
      return visit(MachineType<std::int32_t>());
    case 8:
      return visit(MachineType<std::int64_t>());
#if defined(__SIZEOF_INT128__)
    case 16:
      return visit(MachineType<Int128>());
#endif
    default:
      return false;
  }
}

template <class Visitor>
bool with_unsigned_integer(std::size_t bytes, const Visitor& visit) {
  switch (bytes) {
    case 1:
      return visit(MachineType<std::uint8_t>());
    case 2:
      return visit(MachineType<std::uint16_t>());
    case 4:
      return visit(MachineType<std::uint32_t>());
    case 8:
      return visit(MachineType<std::uint64_t>());
#if defined(__SIZEOF_INT128__)
    case 16:
      return visit(MachineType<UnsignedInt128>());
#endif
    default:
      return false;
  }
}

template <class Visitor>
bool with_floating(std::size_t bytes, const Visitor& visit) {
  switch (bytes) {
#if defined(__FLT16_MAX__)
    case 2:
      return visit(MachineType<Binary16>());
#endif
    case 4:
      return visit(MachineType<float>());
    case 8:
      return visit(MachineType<double>());
    case 16:
      return visit(MachineType<Binary128>());
    default:
      return false;
  }
}

/// A real number, not a complex one: what minima, maxima and values of pairs are made of.
template <class Visitor>
bool with_real_number(const Element& element, const Visitor& visit) {
  switch (element.scalar) {
    case Scalar::signed_integer:
      return with_signed_integer(element.bytes, visit);
    case Scalar::unsigned_integer:
      return with_unsigned_integer(element.bytes, visit);
    case Scalar::floating:
      return with_floating(element.bytes, visit);
    case Scalar::long_double:
      return visit(MachineType<long double>());
    default:
      return false;
  }
}

template <class Visitor>
bool with_complex_number(const Element& element, const Visitor& visit) {
  const auto as_complex = [&](auto part) {
    return visit(MachineType<Complex<typename decltype(part)::type>>());
  };
  if (element.scalar == Scalar::complex_long_double) return as_complex(MachineType<long double>());
  if (element.scalar == Scalar::complex_floating)
    return with_floating(element.bytes / 2U, as_complex);
  return false;
}

}  // namespace hawser::core
