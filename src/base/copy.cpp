#include "base/copy.hpp"

#include <algorithm>
#include <initializer_list>

#include "base/cache_line.hpp"
#include "base/sanitizers.hpp"
#include "base/vectors.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace hawser::base {

#if defined(__SSE2__)

namespace {

constexpr std::size_t line_bytes = cache_line_bytes;

/// Up to the first byte of a whole BLOCK from TO on.
std::size_t bytes_to_block(const std::byte* to, std::size_t block) {
  return (block - reinterpret_cast<std::uintptr_t>(to) % block) % block;
}

/// Leaves it to the processor when the lines of a source come.
struct NoPrefetch {
  NoPrefetch(const std::byte* /*from*/, std::size_t /*bytes*/) {}
  void operator()(std::size_t /*done*/) const {}
};

/// Asks for the lines of a source ahead of the copy, into the second cache, where they are in
/// nobody's way.
class Prefetch {
 public:
  Prefetch(const std::byte* from, std::size_t bytes)
      : from_(from), bytes_(bytes), ahead_(std::clamp<std::size_t>(bytes / 16, 1024, 2048)) {
    for (std::size_t at = 0; at < ahead_; at += line_bytes) ask(at);
  }
  /// DONE bytes are copied.
  void operator()(std::size_t done) const { ask(done + ahead_); }

 private:
  void ask(std::size_t at) const {
    _mm_prefetch(reinterpret_cast<const char*>(from_ + std::min(at, bytes_ - 1)), _MM_HINT_T1);
  }

  const std::byte* from_;
  std::size_t bytes_;
  std::size_t ahead_;
};

/// BYTES of at least a line. The ends are copied beside the lines, and may overlap them: all of it
/// is read from the source.
template <class Ahead>
[[gnu::target("avx")]] void copy_avx(std::byte* to, const std::byte* from, std::size_t bytes) {
  const Ahead ahead(from, bytes);
  constexpr std::size_t vector = sizeof(__m256i);
  const auto* const in = reinterpret_cast<const __m256i*>(from);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_loadu_si256(in));
  std::size_t done = bytes_to_block(to, vector);
  for (; done + line_bytes <= bytes; done += line_bytes) {
    ahead(done);
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done + vector));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + done), a);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + done + vector), b);
  }
  for (std::size_t end : {bytes - line_bytes, bytes - vector})
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + end),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + end)));
}

/// The same, line by line.
template <class Ahead>
[[gnu::target("avx512f")]] void copy_avx512(std::byte* to, const std::byte* from,
                                            std::size_t bytes) {
  const Ahead ahead(from, bytes);
  _mm512_storeu_si512(to, _mm512_loadu_si512(from));
  for (std::size_t done = bytes_to_block(to, line_bytes); done + line_bytes <= bytes;
       done += line_bytes) {
    ahead(done);
    _mm512_store_si512(to + done, _mm512_loadu_si512(from + done));
  }
  const std::size_t end = bytes - line_bytes;
  _mm512_storeu_si512(to + end, _mm512_loadu_si512(from + end));
}

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

/// The same from the first whole line of TO on, with what stands beside the lines.
template <class Store>
void copy_aligned_lines(std::byte* to, const std::byte* from, std::size_t bytes, Store store) {
  const std::size_t beside = bytes_to_block(to, line_bytes);
  const std::size_t head = beside < bytes ? beside : bytes;
  std::memcpy(to, from, head);
  const std::size_t done = head + copy_lines(to + head, from + head, bytes - head, store);
  std::memcpy(to + done, from + done, bytes - done);
}

template <class Ahead>
void copy_by_vectors(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes >= line_bytes && has_quick_vectors_of_64()) return copy_avx512<Ahead>(to, from, bytes);
  if (bytes >= line_bytes && __builtin_cpu_supports("avx")) return copy_avx<Ahead>(to, from, bytes);
  copy_aligned_lines(to, from, bytes,
                     [](__m128i* out, __m128i value) { _mm_store_si128(out, value); });
}

}  // namespace

void copy_long(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_by_vectors<NoPrefetch>(to, from, bytes);
}

void copy_prefetching(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_by_vectors<Prefetch>(to, from, bytes);
}

void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_aligned_lines(to, from, bytes,
                     [](__m128i* out, __m128i value) { _mm_stream_si128(out, value); });
  _mm_sfence();
}

#else

void copy_long(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
void copy_prefetching(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_long(to, from, bytes);
}
void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

#endif

// Sanitizers do not see what an instruction of ours reads and writes.
#if defined(__x86_64__) && !HAWSER_ADDRESS_SANITIZER && !HAWSER_THREAD_SANITIZER && \
    !HAWSER_MEMORY_SANITIZER

void copy_string(std::byte* to, const std::byte* from, std::size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

#else

void copy_string(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_long(to, from, bytes);
}

#endif

}  // namespace hawser::base
