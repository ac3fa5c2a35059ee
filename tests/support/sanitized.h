/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the thread sanitizer watches, which makes everything some twenty times slower.
 */
#ifndef UROCE_TESTS_SANITIZED_H
#define UROCE_TESTS_SANITIZED_H

#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER 1
#endif
#endif
#ifndef UNDER_THREAD_SANITIZER
#define UNDER_THREAD_SANITIZER 0
#endif

#endif
