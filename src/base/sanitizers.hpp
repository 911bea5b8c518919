// Which sanitizer this is built with, for the few places where one must be told what it can't see:
// HAWSER_ADDRESS_SANITIZER, HAWSER_THREAD_SANITIZER, HAWSER_MEMORY_SANITIZER are 1 or 0. GCC says
// so by macros, Clang by features.
#pragma once

#if defined(__has_feature)
#define HAWSER_HAS_FEATURE(feature) __has_feature(feature)
#else
#define HAWSER_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HAWSER_HAS_FEATURE(address_sanitizer)
#define HAWSER_ADDRESS_SANITIZER 1
#else
#define HAWSER_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || HAWSER_HAS_FEATURE(thread_sanitizer)
#define HAWSER_THREAD_SANITIZER 1
#else
#define HAWSER_THREAD_SANITIZER 0
#endif

#if HAWSER_HAS_FEATURE(memory_sanitizer)
#define HAWSER_MEMORY_SANITIZER 1
#else
#define HAWSER_MEMORY_SANITIZER 0
#endif
