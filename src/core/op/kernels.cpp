#include "core/op/kernels.hpp"

#include <cstring>

#include "base/vectors.hpp"
#include "core/op/machine_types.hpp"

namespace hawser::core {
namespace {

/// A T at any address.
template <class T>
struct __attribute__((packed)) Loose {
  T value;
};

template <class T, class Function>
[[gnu::always_inline]] inline void reduce_each(const void* in, void* inout, Count count) {
  const Loose<T>* __restrict from = static_cast<const Loose<T>*>(in);
  Loose<T>* __restrict to = static_cast<Loose<T>*>(inout);
  for (Count i = 0; i < count; ++i) {
    const T a = from[i].value;
    const T b = to[i].value;
    to[i].value = Function::apply(a, b);
  }
}

template <class T, class Function>
void reduce(const void* in, void* inout, Count count) {
  reduce_each<T, Function>(in, inout, count);
}

#if defined(__x86_64__)
// The same with wider vectors. It is not arithmetic that they speed up most: operands often come
// from another core's cache, and the fewer instructions a line takes the more lines are on their
// way at once.
template <class T, class Function>
[[gnu::target("avx2")]] void reduce_by_32(const void* in, void* inout, Count count) {
  reduce_each<T, Function>(in, inout, count);
}
template <class T, class Function>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void reduce_by_64(const void* in, void* inout,
                                                                        Count count) {
  reduce_each<T, Function>(in, inout, count);
}

template <class T, class Function>
Kernel widest_loop() {
  if (base::has_quick_vectors_of_64()) return &reduce_by_64<T, Function>;
  return __builtin_cpu_supports("avx2") ? &reduce_by_32<T, Function> : &reduce<T, Function>;
}
#else
template <class T, class Function>
Kernel widest_loop() {
  return &reduce<T, Function>;
}
#endif

/// Sums and products of integers wrap; in an unsigned type of at least an int's width, which narrow
/// operands would otherwise be promoted to, that is defined.
template <class T>
struct WrappingOf {
  using type = std::conditional_t<(sizeof(T) <= sizeof(int)), unsigned, std::uint64_t>;
};
#if defined(__SIZEOF_INT128__)
template <>
struct WrappingOf<Int128> {
  using type = UnsignedInt128;
};
#endif

struct Sum {
  template <class T>
  static T apply(const T& a, const T& b) {
    if constexpr (is_integer<T>) {
      using Wrapping = typename WrappingOf<T>::type;
      const Wrapping sum = static_cast<Wrapping>(a) + static_cast<Wrapping>(b);
      return static_cast<T>(sum);
    } else if constexpr (is_complex<T>) {
      return a + b;
    } else {
      return static_cast<T>(a + b);
    }
  }
};

struct Product {
  template <class T>
  static T apply(const T& a, const T& b) {
    if constexpr (is_integer<T>) {
      using Wrapping = typename WrappingOf<T>::type;
      const Wrapping product = static_cast<Wrapping>(a) * static_cast<Wrapping>(b);
      return static_cast<T>(product);
    } else if constexpr (is_complex<T>) {
      return a * b;
    } else {
      return static_cast<T>(a * b);
    }
  }
};

struct Minimum {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct Maximum {
  template <class T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};
struct BitAnd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
// Without short cuts: both operands are loaded anyway, and a branch would hinder vectorising.
struct LogicalAnd {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<int>(a != 0) & static_cast<int>(b != 0));
  }
};
struct LogicalOr {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<int>(a != 0) | static_cast<int>(b != 0));
  }
};
struct LogicalXor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != 0) != (b != 0));
  }
};

/// A visitor that takes the loop of FUNCTION over whatever machine type it is called with.
template <class Function>
struct Take {
  Kernel& kernel;

  template <class T>
  bool operator()(MachineType<T>) const {
    kernel = widest_loop<T, Function>();
    return true;
  }
};

template <class Function>
Kernel ordered_kernel(const Element& element) {
  Kernel kernel = nullptr;
  with_real_number(element, Take<Function>{kernel});
  return kernel;
}

template <class Function>
Kernel arithmetic_kernel(const Element& element) {
  Kernel kernel = nullptr;
  const Take<Function> take{kernel};
  if (!with_real_number(element, take)) with_complex_number(element, take);
  return kernel;
}

/// Bits know no sign: one loop serves signed, unsigned, logical and plain bytes of one size.
template <class Function>
Kernel bits_kernel(const Element& element) {
  Kernel kernel = nullptr;
  with_unsigned_integer(element.bytes, Take<Function>{kernel});
  return kernel;
}

template <class V, bool largest>
void reduce_pairs(const void* in, void* inout, Count count, const Basic& basic) {
  using IndexLess = bool (*)(const std::byte* a, const std::byte* b);
  IndexLess index_less = nullptr;
  with_real_number(basic.index, [&]<class I>(MachineType<I>) {
    index_less = [](const std::byte* a, const std::byte* b) {
      return reinterpret_cast<const Loose<I>*>(a)->value <
             reinterpret_cast<const Loose<I>*>(b)->value;
    };
    return true;
  });
  const Count extent = basic.extent();
  const Count index_offset = basic.index_offset();
  const std::byte* from = static_cast<const std::byte*>(in);
  std::byte* to = static_cast<std::byte*>(inout);
  for (Count i = 0; i < count; ++i, from += extent, to += extent) {
    const V a = reinterpret_cast<const Loose<V>*>(from)->value;
    const V b = reinterpret_cast<const Loose<V>*>(to)->value;
    const bool wins = largest ? a > b : a < b;
    if (wins || (a == b && index_less(from + index_offset, to + index_offset))) {
      // The value and the index one by one: padding belongs to the user.
      reinterpret_cast<Loose<V>*>(to)->value = a;
      std::memcpy(to + index_offset, from + index_offset, basic.index.bytes);
    }
  }
}

}  // namespace

Kernel find_kernel(OpCode code, const Element& element) {
  switch (code) {
    case OpCode::sum:
      return arithmetic_kernel<Sum>(element);
    case OpCode::prod:
      return arithmetic_kernel<Product>(element);
    case OpCode::min:
      return ordered_kernel<Minimum>(element);
    case OpCode::max:
      return ordered_kernel<Maximum>(element);
    case OpCode::band:
      return bits_kernel<BitAnd>(element);
    case OpCode::bor:
      return bits_kernel<BitOr>(element);
    case OpCode::bxor:
      return bits_kernel<BitXor>(element);
    case OpCode::land:
      return bits_kernel<LogicalAnd>(element);
    case OpCode::lor:
      return bits_kernel<LogicalOr>(element);
    case OpCode::lxor:
      return bits_kernel<LogicalXor>(element);
    default:
      return nullptr;
  }
}

PairKernel find_pair_kernel(OpCode code, const Basic& basic) {
  PairKernel kernel = nullptr;
  with_real_number(basic.value, [&]<class V>(MachineType<V>) {
    if (code == OpCode::minloc) kernel = &reduce_pairs<V, false>;
    if (code == OpCode::maxloc) kernel = &reduce_pairs<V, true>;
    return true;
  });
  return kernel;
}

}  // namespace hawser::core
