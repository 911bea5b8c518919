#include "core/datatype/external32.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>

#include "core/datatype/binary128.hpp"

namespace hawser::core {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(value));
}

/// Of x87's long double the other six bytes are padding, which would show what our stack held.
constexpr std::size_t kLongDoubleBytes =
    std::numeric_limits<long double>::digits == 64 ? 10 : sizeof(long double);

/// Between the host's byte order and big-endian.
void copy_big_endian(const std::byte* from, std::byte* to, std::size_t bytes) {
  if constexpr (std::endian::native == std::endian::big) {
    std::memcpy(to, from, bytes);
  } else {
    std::reverse_copy(from, from + bytes, to);
  }
}

template <class T>
void store_big_endian(std::byte* to, T value) {
  std::byte raw[sizeof(T)];
  store(raw, value);
  copy_big_endian(raw, to, sizeof(T));
}

template <class T>
T load_big_endian(const std::byte* from) {
  std::byte raw[sizeof(T)];
  copy_big_endian(from, raw, sizeof(T));
  return load<T>(raw);
}

/// The real or imaginary part of a complex element; any other element as it is.
struct Component {
  Scalar scalar;
  int count;
  std::size_t bytes;
  std::size_t external32_bytes;
};

Component component_of(const Element& element) {
  switch (element.scalar) {
    case Scalar::complex_floating:
      return {Scalar::floating, 2, element.bytes / 2U, element.external32_bytes / 2U};
    case Scalar::complex_long_double:
      return {Scalar::long_double, 2, element.bytes / 2U, element.external32_bytes / 2U};
    default:
      return {element.scalar, 1, element.bytes, element.external32_bytes};
  }
}

template <class Narrow, class Wide>
Result<void> encode_narrowed(Wide value, std::byte* to, const char* what) {
  if (value < std::numeric_limits<Narrow>::min() || value > std::numeric_limits<Narrow>::max())
    return Error(ErrorClass::conversion,
                 fmt::format("{} {} does not fit in the {} bytes of its external32 form; use a "
                             "64-bit type such as MPI_LONG_LONG",
                             what, value, sizeof(Narrow)));
  store_big_endian(to, static_cast<Narrow>(value));
  return {};
}

struct Encoder {
  std::byte* stream;

  Result<void> element(std::byte* memory, const Component& component) {
    std::byte* to = stream;
    stream += component.external32_bytes;
    if (component.scalar == Scalar::long_double) {
      store_big_endian(to, static_cast<Binary128>(load<long double>(memory)));
      return {};
    }
    if (component.bytes == component.external32_bytes) {
      copy_big_endian(memory, to, component.bytes);
      return {};
    }
    if (component.scalar == Scalar::wide_character)
      return encode_narrowed<std::uint16_t>(load<std::uint32_t>(memory), to, "wide character");
    if (component.scalar == Scalar::signed_integer)
      return encode_narrowed<std::int32_t>(load<std::int64_t>(memory), to, "value");
    return encode_narrowed<std::uint32_t>(load<std::uint64_t>(memory), to, "value");
  }
};

struct Decoder {
  const std::byte* stream;

  Result<void> element(std::byte* memory, const Component& component) {
    const std::byte* from = stream;
    stream += component.external32_bytes;
    if (component.scalar == Scalar::long_double) {
      const long double value = static_cast<long double>(load_big_endian<Binary128>(from));
      std::memcpy(memory, &value, kLongDoubleBytes);
    } else if (component.bytes == component.external32_bytes) {
      copy_big_endian(from, memory, component.bytes);
    } else if (component.scalar == Scalar::wide_character) {
      store<std::uint32_t>(memory, load_big_endian<std::uint16_t>(from));
    } else if (component.scalar == Scalar::signed_integer) {
      store<std::int64_t>(memory, load_big_endian<std::int32_t>(from));
    } else {
      store<std::uint64_t>(memory, load_big_endian<std::uint32_t>(from));
    }
    return {};
  }
};

/// Hands the components of COUNT copies of SHAPE at ADDRESS to CODEC, in the order of the type map.
template <class Codec>
Result<void> convert(const Shape& shape, std::uintptr_t address, Count count, Count stride,
                     Codec& codec) {
  const auto next = [&] { address += static_cast<std::uintptr_t>(stride); };
  if (shape.is_element()) {
    const Component component = component_of(shape.element());
    for (Count i = 0; i < count; ++i, next()) {
      std::byte* memory = reinterpret_cast<std::byte*>(address);
      for (int k = 0; k < component.count; ++k, memory += component.bytes)
        HAWSER_TRY(codec.element(memory, component));
    }
    return {};
  }
  for (Count i = 0; i < count; ++i, next())
    for (const Shape::Part& part : shape.parts())
      HAWSER_TRY(convert(*part.shape, address + static_cast<std::uintptr_t>(part.offset),
                         part.count, part.stride, codec));
  return {};
}

}  // namespace

Result<void> encode_external32(const Shape& shape, const void* base, Count count, void* out) {
  Encoder encoder{static_cast<std::byte*>(out)};
  return convert(shape, reinterpret_cast<std::uintptr_t>(base), count, shape.bounds().extent(),
                 encoder);
}

Result<void> decode_external32(const Shape& shape, void* base, Count count, const void* in) {
  Decoder decoder{static_cast<const std::byte*>(in)};
  return convert(shape, reinterpret_cast<std::uintptr_t>(base), count, shape.bounds().extent(),
                 decoder);
}

}  // namespace hawser::core
