#include "core/datatype/every_second.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/vectors.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hawser::core {
namespace {

/// An integer of BYTES.
template <std::size_t bytes>
using Word = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t,
                       std::conditional_t<bytes == 4, std::uint32_t, std::uint64_t>>>;

/// COUNT elements, so many bytes apart at either end.
template <std::size_t bytes, std::size_t to_stride, std::size_t from_stride>
[[gnu::always_inline]] inline void move_each(std::byte* __restrict to,
                                             const std::byte* __restrict from, Count count) {
  for (; count > 0; --count, to += to_stride, from += from_stride) std::memcpy(to, from, bytes);
}

#if defined(__x86_64__)
#define HAWSER_BY_64 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2")]]

template <std::size_t bytes>
constexpr Count elements_of_line = sizeof(__m512i) / bytes;

/// For each element of a line the number of another one.
template <std::size_t bytes>
struct alignas(64) Permutation {
  /// FIRST, FIRST + STEP, FIRST + 2 * STEP, …, each of them TIMES times.
  constexpr Permutation(Count first, Count step, Count times) {
    for (Count i = 0; i < elements_of_line<bytes>; ++i)
      of[i] = static_cast<Word<bytes>>(first + i / times * step);
  }
  Word<bytes> of[elements_of_line<bytes>] = {};
};

/// Every second element of both lines.
template <std::size_t bytes>
HAWSER_BY_64 inline __m512i every_second_of(__m512i first, __m512i second) {
  static constexpr Permutation<bytes> places(0, 2, 1);
  const __m512i which = _mm512_load_si512(&places);
  if constexpr (bytes == 1) return _mm512_permutex2var_epi8(first, which, second);
  if constexpr (bytes == 2) return _mm512_permutex2var_epi16(first, which, second);
  if constexpr (bytes == 4) return _mm512_permutex2var_epi32(first, which, second);
  return _mm512_permutex2var_epi64(first, which, second);
}

/// Half of the elements of LINE, from number FIRST on, as every second element of the line TO.
template <std::size_t bytes, Count first>
HAWSER_BY_64 inline void store_every_second(std::byte* to, __m512i line) {
  static constexpr Permutation<bytes> places(first, 1, 2);
  const __m512i which = _mm512_load_si512(&places);
  constexpr std::uint64_t even = 0x5555'5555'5555'5555 >> (64 - elements_of_line<bytes>);
  if constexpr (bytes == 1) _mm512_mask_storeu_epi8(to, even, _mm512_permutexvar_epi8(which, line));
  if constexpr (bytes == 2)
    _mm512_mask_storeu_epi16(to, even, _mm512_permutexvar_epi16(which, line));
  if constexpr (bytes == 4)
    _mm512_mask_storeu_epi32(to, even, _mm512_permutexvar_epi32(which, line));
  if constexpr (bytes == 8)
    _mm512_mask_storeu_epi64(to, even, _mm512_permutexvar_epi64(which, line));
}

template <std::size_t bytes>
HAWSER_BY_64 void pack_by_64(std::byte* to, const std::byte* from, Count count) {
  // Not the last ones: what lies behind them is not read.
  for (; count > elements_of_line<bytes>; count -= elements_of_line<bytes>) {
    _mm512_storeu_si512(to, every_second_of<bytes>(_mm512_loadu_si512(from),
                                                   _mm512_loadu_si512(from + sizeof(__m512i))));
    to += sizeof(__m512i);
    from += 2 * sizeof(__m512i);
  }
  move_each<bytes, bytes, 2 * bytes>(to, from, count);
}

template <std::size_t bytes>
HAWSER_BY_64 void unpack_by_64(std::byte* to, const std::byte* from, Count count) {
  for (; count >= elements_of_line<bytes>; count -= elements_of_line<bytes>) {
    const __m512i line = _mm512_loadu_si512(from);
    store_every_second<bytes, 0>(to, line);
    store_every_second<bytes, elements_of_line<bytes> / 2>(to + sizeof(__m512i), line);
    to += 2 * sizeof(__m512i);
    from += sizeof(__m512i);
  }
  move_each<bytes, 2 * bytes, bytes>(to, from, count);
}

#undef HAWSER_BY_64
#endif

}  // namespace

template <std::size_t bytes>
void pack_every_second(std::byte* to, const std::byte* from, Count count) {
#if defined(__x86_64__)
  if (base::has_quick_vectors_of_64()) return pack_by_64<bytes>(to, from, count);
#endif
  move_each<bytes, bytes, 2 * bytes>(to, from, count);
}

template <std::size_t bytes>
void unpack_every_second(std::byte* to, const std::byte* from, Count count) {
#if defined(__x86_64__)
  if (base::has_quick_vectors_of_64()) return unpack_by_64<bytes>(to, from, count);
#endif
  move_each<bytes, 2 * bytes, bytes>(to, from, count);
}

template void pack_every_second<1>(std::byte*, const std::byte*, Count);
template void pack_every_second<2>(std::byte*, const std::byte*, Count);
template void pack_every_second<4>(std::byte*, const std::byte*, Count);
template void pack_every_second<8>(std::byte*, const std::byte*, Count);
template void unpack_every_second<1>(std::byte*, const std::byte*, Count);
template void unpack_every_second<2>(std::byte*, const std::byte*, Count);
template void unpack_every_second<4>(std::byte*, const std::byte*, Count);
template void unpack_every_second<8>(std::byte*, const std::byte*, Count);

}  // namespace hawser::core
