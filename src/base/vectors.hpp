// Which vectors of the processor are worth using.
#pragma once

namespace hawser::base {

/// Vectors of 64 bytes (AVX-512 F, BW, DQ, VL, VBMI, VBMI2), for which the processor does not slow
/// down: those that have no VBMI2 do.
inline bool has_quick_vectors_of_64() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vbmi") != 0 && __builtin_cpu_supports("avx512vbmi2") != 0;
#else
  return false;
#endif
}

}  // namespace hawser::base
