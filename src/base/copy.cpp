#include "base/copy.hpp"

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "base/cache_line.hpp"
#include "base/prefetch.hpp"
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

/// How far ahead of the copy the lines of a source are asked for, if there are BYTES of them. 0:
/// the processor is left to it.
struct NotAhead {
  static std::size_t ahead_of(std::size_t /*bytes*/) { return 0; }
};
struct FromPeer {
  static std::size_t ahead_of(std::size_t bytes) {
    return std::clamp<std::size_t>(bytes / 16, 1024, 2048);
  }
};
struct FromMemory {
  static std::size_t ahead_of(std::size_t bytes) { return std::min<std::size_t>(bytes / 8, 4096); }
};

/// Asks for lines ahead of the copy: for those of the source into the second cache, where they are
/// in nobody's way; for those of the destination to be written. None beyond the ends: they may be
/// somebody else's.
template <class Source>
class Asking {
 public:
  Asking(std::byte* to, const std::byte* from, std::size_t bytes)
      : to_(to), from_(from), last_(bytes - 1), ahead_(Source::ahead_of(bytes)) {
    for (std::size_t at = 0; at < ahead_; at += line_bytes) ask_from(at);
  }
  /// DONE bytes are copied.
  void operator()(std::size_t done) const {
    if constexpr (!std::is_same_v<Source, NotAhead>) ask_from(done + ahead_);
    prefetch_for_write(to_ + std::min(done + destination_ahead, last_));
  }

 private:
  static constexpr std::size_t destination_ahead = 512;

  void ask_from(std::size_t at) const {
    _mm_prefetch(reinterpret_cast<const char*>(from_ + std::min(at, last_)), _MM_HINT_T1);
  }

  std::byte* to_;
  const std::byte* from_;
  std::size_t last_;
  std::size_t ahead_;
};

/// BYTES of at least a line. The ends are copied beside the lines, and may overlap them: all of it
/// is read from the source.
template <class Source>
[[gnu::target("avx")]] void copy_avx(std::byte* to, const std::byte* from, std::size_t bytes) {
  const Asking<Source> ask(to, from, bytes);
  constexpr std::size_t vector = sizeof(__m256i);
  const auto* const in = reinterpret_cast<const __m256i*>(from);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_loadu_si256(in));
  std::size_t done = bytes_to_block(to, vector);
  for (; done + line_bytes <= bytes; done += line_bytes) {
    ask(done);
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
template <class Source>
[[gnu::target("avx512f")]] void copy_avx512(std::byte* to, const std::byte* from,
                                            std::size_t bytes) {
  const Asking<Source> ask(to, from, bytes);
  _mm512_storeu_si512(to, _mm512_loadu_si512(from));
  for (std::size_t done = bytes_to_block(to, line_bytes); done + line_bytes <= bytes;
       done += line_bytes) {
    ask(done);
    _mm512_store_si512(to + done, _mm512_loadu_si512(from + done));
  }
  const std::size_t end = bytes - line_bytes;
  _mm512_storeu_si512(to + end, _mm512_loadu_si512(from + end));
}

/// The same for a source of a peer's, both halves at once: two rows of lines come from there sooner
/// than one. BYTES: many lines.
[[gnu::target("avx512f")]] void copy_halves_avx512(std::byte* to, const std::byte* from,
                                                   std::size_t bytes) {
  _mm512_storeu_si512(to, _mm512_loadu_si512(from));
  const std::size_t beside = bytes_to_block(to, line_bytes);
  const std::size_t half = (bytes - beside) / 2 / line_bytes * line_bytes;
  const Asking<FromPeer> ask_first(to, from, beside + half);
  const Asking<FromPeer> ask_second(to + beside + half, from + beside + half,
                                    bytes - beside - half);
  for (std::size_t done = 0; done < half; done += line_bytes) {
    const std::size_t first = beside + done, second = first + half;
    ask_first(first);
    ask_second(done);
    _mm512_store_si512(to + first, _mm512_loadu_si512(from + first));
    _mm512_store_si512(to + second, _mm512_loadu_si512(from + second));
  }
  // Less than two lines.
  for (const std::size_t end : {bytes - 2 * line_bytes, bytes - line_bytes})
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

template <class Source>
void copy_by_vectors(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes >= line_bytes && has_quick_vectors_of_64()) return copy_avx512<Source>(to, from, bytes);
  if (bytes >= line_bytes && __builtin_cpu_supports("avx"))
    return copy_avx<Source>(to, from, bytes);
  copy_aligned_lines(to, from, bytes,
                     [](__m128i* out, __m128i value) { _mm_store_si128(out, value); });
}

}  // namespace

void copy_long(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_by_vectors<NotAhead>(to, from, bytes);
}

void copy_from_peer(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t halves_from_bytes = 16 << 10;
  if (bytes >= halves_from_bytes && has_quick_vectors_of_64())
    return copy_halves_avx512(to, from, bytes);
  copy_by_vectors<FromPeer>(to, from, bytes);
}

void copy_maybe_cold(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_by_vectors<FromMemory>(to, from, bytes);
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
void copy_from_peer(std::byte* to, const std::byte* from, std::size_t bytes) {
  copy_long(to, from, bytes);
}
void copy_maybe_cold(std::byte* to, const std::byte* from, std::size_t bytes) {
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
