/// @file
/// Marks what a sanitizer build cannot run.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define LIDO_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LIDO_TEST_TSAN 1
#endif
#endif
#ifndef LIDO_TEST_TSAN
#define LIDO_TEST_TSAN 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define LIDO_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIDO_TEST_ASAN 1
#endif
#endif
#ifndef LIDO_TEST_ASAN
#define LIDO_TEST_ASAN 0
#endif
