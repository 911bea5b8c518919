// Copying long runs of bytes into memory that another core reads next.
//
// copy_plain():      ordinary stores. The lines come into this core's cache first, from wherever
//                    they are: cheap where cores share a cache, dear where they don't.
// copy_past_cache(): non-temporal stores. Lines leave for memory without being fetched: several
//                    times quicker between cores that share no cache, slower between those that do.
// Both are complete, as far as this core's later stores are concerned, when they return.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace hawser::platform {

#if defined(__SSE2__)

namespace copy_detail {

inline constexpr std::size_t line_bytes = 64;

/// STORE(to, value) for every 16 bytes of whole lines; returns how many bytes that were.
template <class Store>
std::size_t copy_lines(std::byte* to, const std::byte* from, std::size_t bytes, Store store) {
  std::size_t done = 0;
  for (; done + line_bytes <= bytes; done += line_bytes) {
    const auto* in = reinterpret_cast<const __m128i*>(from + done);
    auto* out = reinterpret_cast<__m128i*>(to + done);
    const __m128i a = _mm_loadu_si128(in);
    const __m128i b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2);
    const __m128i d = _mm_loadu_si128(in + 3);
    store(out, a);
    store(out + 1, b);
    store(out + 2, c);
    store(out + 3, d);
  }
  return done;
}

}  // namespace copy_detail

namespace copy_detail {

/// A cache line in two loads and two stores, where the processor has AVX.
[[gnu::target("avx")]] inline void copy_plain_avx(std::byte* to, const std::byte* from,
                                                  std::size_t bytes) {
  std::size_t done = 0;
  for (; done + line_bytes <= bytes; done += line_bytes) {
    const auto* in = reinterpret_cast<const __m256i*>(from + done);
    auto* out = reinterpret_cast<__m256i*>(to + done);
    const __m256i a = _mm256_loadu_si256(in);
    const __m256i b = _mm256_loadu_si256(in + 1);
    _mm256_storeu_si256(out, a);
    _mm256_storeu_si256(out + 1, b);
  }
  std::memcpy(to + done, from + done, bytes - done);
}

}  // namespace copy_detail

/// BYTES that do not overlap. Unlike memcpy it never goes over to other kinds of stores.
inline void copy_plain(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (__builtin_cpu_supports("avx")) {
    copy_detail::copy_plain_avx(to, from, bytes);
    return;
  }
  const std::size_t done = copy_detail::copy_lines(
      to, from, bytes, [](__m128i* out, __m128i value) { _mm_storeu_si128(out, value); });
  std::memcpy(to + done, from + done, bytes - done);
}

inline void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
  using copy_detail::line_bytes;
  const std::size_t beside = (line_bytes - reinterpret_cast<std::uintptr_t>(to) % line_bytes) %
                             line_bytes;  // up to the first whole line
  const std::size_t head = beside < bytes ? beside : bytes;
  std::memcpy(to, from, head);
  const std::size_t done = head + copy_detail::copy_lines(to + head, from + head, bytes - head,
                                                          [](__m128i* out, __m128i value) {
                                                            _mm_stream_si128(out, value);
                                                          });
  std::memcpy(to + done, from + done, bytes - done);
  _mm_sfence();
}

#else

inline void copy_plain(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
inline void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

#endif

}  // namespace hawser::platform
