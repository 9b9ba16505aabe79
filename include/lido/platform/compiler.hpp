/// @file
/// Internal. Everything that is not standard C++: attributes, builtins, and properties of the
/// target.
///
/// Attribute macros are used inside a list, `[[nodiscard, LIDO_ALWAYS_INLINE]]`, and may be empty.
/// Written for GCC, Clang and cl; any other compiler is treated as GCC.
#pragma once

// There is no such header: its absence ends the compilation before hundreds of errors follow.
#if defined(_MSVC_LANG)  // for which __cplusplus is 199711 by default
#if _MSVC_LANG <= 201703L
#error "lido needs C++20: compile with /std:c++20"
#include <lido needs C++20>
#endif
#elif __cplusplus <= 201703L
#error "lido needs C++20: compile with -std=c++20"
#include <lido needs C++20>
#endif

#include <cstddef>
#include <cstdint>  // also defines __GLIBC__

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>

#include <memory>
#define LIDO_MSVC 1
#else
#define LIDO_MSVC 0
#endif

#if defined(__x86_64__) || defined(_M_X64)
#define LIDO_X86_64 1
#else
#define LIDO_X86_64 0
#endif

#if defined(_WIN32)
#define LIDO_WINDOWS 1
#else
#define LIDO_WINDOWS 0
#endif

/// True if linkers support weak and hidden symbols, and merge equal variables together with all
/// their names.
#if defined(__ELF__)
#define LIDO_ELF 1
#else
#define LIDO_ELF 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define LIDO_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIDO_HAS_ASAN 1
#endif
#endif

// ---- functions ----------------------------------------------------------------------------------

#if LIDO_MSVC
#define LIDO_ALWAYS_INLINE msvc::forceinline
#define LIDO_NOINLINE msvc::noinline
#define LIDO_COLD
#define LIDO_NO_SANITIZE_ADDRESS __declspec(no_sanitize_address)
/// Separates the versions of a function whose body depends on a mode: the linker name contains the
/// tag, or the function is inlined.
#define LIDO_ABI_TAG(tag) msvc::forceinline
#else
#define LIDO_ALWAYS_INLINE gnu::always_inline
#define LIDO_NOINLINE gnu::noinline
#define LIDO_COLD gnu::cold
#define LIDO_ABI_TAG(tag) gnu::abi_tag(tag)
/// Used in front of a function, outside attribute lists.
#define LIDO_NO_SANITIZE_ADDRESS [[gnu::no_sanitize_address]]
#endif

// Attributes of fast and slow paths. Functions of a fast path do nothing but a hit and are inlined
// into their callers. A slow path is a separate function, to which a hit branches when it fails.
// The hit itself then has few registers to save and no stack to set up.
#define LIDO_FAST_PATH LIDO_ALWAYS_INLINE
#define LIDO_SLOW_PATH LIDO_NOINLINE

/// Declares a function that is called when the library is loaded; its definition must follow. Such
/// functions are called before constructors of users' static objects, in ascending order of
/// `number`. `LIDO_RUN_AT_UNLOAD` declares a function that is called when the program ends or
/// unloads the library.
#if LIDO_MSVC
namespace lido::inline v0::detail {
struct run_at_load {
  explicit run_at_load(void (*function)() noexcept) noexcept { function(); }
};
struct run_at_unload {
  explicit run_at_unload(void (*function)() noexcept) noexcept : function_(function) {}
  run_at_unload(const run_at_unload&) = delete;
  run_at_unload& operator=(const run_at_unload&) = delete;
  ~run_at_unload() { function_(); }

 private:
  void (*function_)() noexcept;
};
}  // namespace lido::inline v0::detail
// With MSVC, such functions run in the order in which their files are linked. The numbers matter
// only for fork.
#define LIDO_RUN_WITH_LIBRARY(kind, function) \
  void function() noexcept;                   \
  __pragma(warning(suppress : 4073))          \
      __pragma(init_seg(lib)) static const ::lido::detail::kind function##_by_object(function)
#define LIDO_RUN_AT_LOAD(number, function) LIDO_RUN_WITH_LIBRARY(run_at_load, function)
#define LIDO_RUN_AT_UNLOAD(function) LIDO_RUN_WITH_LIBRARY(run_at_unload, function)
#else
#define LIDO_RUN_AT_LOAD(number, function) [[gnu::constructor(number)]] void function() noexcept
#define LIDO_RUN_AT_UNLOAD(function) [[gnu::destructor]] void function() noexcept
#endif

// ---- variables and members ----------------------------------------------------------------------

#if !defined(_MSC_VER)
#define LIDO_NO_UNIQUE_ADDRESS no_unique_address
#elif __has_cpp_attribute(msvc::no_unique_address)
#define LIDO_NO_UNIQUE_ADDRESS msvc::no_unique_address
#else
#define LIDO_NO_UNIQUE_ADDRESS
#endif

/// True if the padding at the end of a member with LIDO_NO_UNIQUE_ADDRESS can hold the next member.
#if defined(_MSC_VER)
#define LIDO_REUSES_PADDING 0
#else
#define LIDO_REUSES_PADDING 1
#endif

/// LIDO_USES_DLL is true in code that uses Lido from a DLL, LIDO_IS_DLL in a DLL that contains
/// Lido.
#if LIDO_WINDOWS && defined(LIDO_SHARED) && !defined(LIDO_BUILDING)
#define LIDO_USES_DLL 1
#else
#define LIDO_USES_DLL 0
#endif
#if LIDO_WINDOWS && defined(LIDO_SHARED) && defined(LIDO_BUILDING)
#define LIDO_IS_DLL 1
#else
#define LIDO_IS_DLL 0
#endif

/// Used in front of the `extern` of a library variable that other code also reads.
#if LIDO_USES_DLL
#define LIDO_IMPORTED __declspec(dllimport)
#else
#define LIDO_IMPORTED
#endif

/// Makes all files of a program share one symbol, even if other symbols are hidden. Has no effect
/// on Windows.
#if LIDO_WINDOWS
#define LIDO_VISIBLE
#else
#define LIDO_VISIBLE gnu::visibility("default")
#endif

#if LIDO_ELF
#define LIDO_HIDDEN gnu::visibility("hidden")
#define LIDO_WEAK gnu::weak
#define LIDO_KEPT gnu::used, gnu::retain
#define LIDO_ALIAS(symbol) gnu::alias(symbol)
#endif

// How code finds a thread-local variable. In an executable that contains the compiled library, the
// variable's offset is known at link time. A shared object must look up the offset, but only once,
// when it is loaded. Even if a process loads the object late, eight bytes still fit into the static
// TLS block. C libraries other than glibc refuse such objects, so the compiler's default model is
// used with them. LIDO_DYNAMIC_TLS also selects the default model, for processes with more copies
// of the library than that block has space for.
#if !defined(__GLIBC__) || defined(LIDO_DYNAMIC_TLS)
#define LIDO_TLS_MODEL
#elif defined(LIDO_SHARED) || (defined(__PIC__) && !defined(__PIE__))
#define LIDO_TLS_MODEL gnu::tls_model("initial-exec")
#else
#define LIDO_TLS_MODEL gnu::tls_model("local-exec")
#endif

// A fiber may continue in another thread. Compilers for arm64 read the thread pointer once in a
// function, however many calls are inlined into it, and so would use the variables of the previous
// thread. They cannot cache the thread pointer that LIDO_RETURN_OWN reads. On x86-64, each access
// uses a segment register. Code outside a DLL cannot see the DLL's thread-local variables, so it
// calls a function.
#if LIDO_USES_DLL
#define LIDO_RETURN_OWN(type, variable, symbol) return variable##_of_this_thread()
#elif defined(__aarch64__) && defined(__GLIBC__) && !defined(LIDO_DYNAMIC_TLS)
// This is the code for shared libraries; linkers simplify it in executables.
#define LIDO_OWN_ADDRESS(symbol)                                          \
  "adrp %0, :gottprel:" symbol "\n\tldr %0, [%0, #:gottprel_lo12:" symbol \
  "]\n"                                                                   \
  "\tmrs %1, tpidr_el0\n\tadd %0, %0, %1"
/// Makes the function that contains it return the calling thread's `variable`, whose linker name is
/// `symbol`. Code that uses a DLL calls `<variable>_of_this_thread`.
#define LIDO_RETURN_OWN(type, variable, symbol)                                                 \
  type* own = nullptr;                                                                          \
  void* thread = nullptr;                                                                       \
  asm volatile(LIDO_OWN_ADDRESS(symbol) : "=&r"(own), "=&r"(thread) : : "memory"); /* NOLINT */ \
  return *own
#else
#define LIDO_RETURN_OWN(type, variable, symbol) return variable
#endif

// ---- statements ---------------------------------------------------------------------------------

/// Unrolls the loop that follows, if the compiler supports such a request.
#if LIDO_MSVC
#define LIDO_UNROLL(times)
#else
#define LIDO_PRAGMA(text) _Pragma(#text)
#define LIDO_UNROLL(times) LIDO_PRAGMA(GCC unroll times)
#endif

/// Between these two, an aggregate may be initialised by fewer values than it has members without a
/// warning. Such a warning would name a line of Lido in a program that compiles Lido's headers with
/// its own warnings.
#if LIDO_MSVC
#define LIDO_FEWER_VALUES_BEGIN
#define LIDO_FEWER_VALUES_END
#else
#define LIDO_FEWER_VALUES_BEGIN    \
  LIDO_PRAGMA(GCC diagnostic push) \
  LIDO_PRAGMA(GCC diagnostic ignored "-Wmissing-field-initializers")
#define LIDO_FEWER_VALUES_END LIDO_PRAGMA(GCC diagnostic pop)
#endif

/// Begins to load the cache line that contains `address`, in order to write to it. Not a function:
/// even one that is always inlined changes what GCC inlines around it.
#if LIDO_MSVC && (defined(_M_X64) || defined(_M_IX86))
#define LIDO_PREFETCH_FOR_WRITE(address) \
  _mm_prefetch(reinterpret_cast<const char*>(address), _MM_HINT_T0)
#elif LIDO_MSVC
#define LIDO_PREFETCH_FOR_WRITE(address) __prefetch(address)
#else
#define LIDO_PREFETCH_FOR_WRITE(address) __builtin_prefetch(address, 1)
#endif

namespace lido::inline v0::detail {

/// Tells the compiler that control never reaches this call.
[[noreturn, LIDO_ALWAYS_INLINE]] inline void unreachable() noexcept {
#if LIDO_MSVC
  __assume(false);
#else
  __builtin_unreachable();
#endif
}

/// Returns `condition`, and tells the compiler to expect false. The path past a check is then
/// straight-line code. [[unlikely]] gets lost when functions are inlined.
[[nodiscard, LIDO_ALWAYS_INLINE]] constexpr bool hardly_ever(bool condition) noexcept {
#if LIDO_MSVC
  return condition;
#else
  return __builtin_expect_with_probability(static_cast<long>(condition), 0, 1.0) != 0;
#endif
}

/// Tells the processor that this is a spin loop.
inline void cpu_pause() noexcept {
#if LIDO_MSVC && (defined(_M_X64) || defined(_M_IX86))
  _mm_pause();
#elif LIDO_MSVC && (defined(_M_ARM64) || defined(_M_ARM64EC))
  __isb(_ARM64_BARRIER_SY);
#elif defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // Unlike a yield hint, an isb really causes a delay on today's cores.
  asm volatile("isb");  // NOLINT(hicpp-no-assembler)
#endif
}

/// Tells the compiler the alignment of `address`. Older standard libraries of Clang lack
/// std::assume_aligned.
template <std::size_t Alignment, class T>
[[nodiscard, LIDO_ALWAYS_INLINE]] inline T* assume_aligned(T* address) noexcept {
#if LIDO_MSVC
  return std::assume_aligned<Alignment>(address);
#else
  return static_cast<T*>(__builtin_assume_aligned(address, Alignment));
#endif
}

/// Returns the return address of the function that this is inlined into; null if unknown.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline void* return_address() noexcept {
#if LIDO_MSVC
  return _ReturnAddress();
#elif defined(__wasm__)
  return nullptr;
#else
  return __builtin_return_address(0);
#endif
}

/// Returns the address of the call to the function that this is inlined into; null if unknown.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline const void* call_address() noexcept {
#if defined(__wasm__)
  return nullptr;
#else
  return static_cast<const char*>(return_address()) - 1;
#endif
}

/// Returns the stack frame of the function that this is inlined into, for a sanitizer.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline void* frame_address() noexcept {
#if LIDO_MSVC
  return _AddressOfReturnAddress();
#else
  return __builtin_frame_address(0);
#endif
}

#if LIDO_MSVC
/// Returns an address in the code of the caller.
[[nodiscard, LIDO_NOINLINE]] inline const void* own_code_address() noexcept {
  return call_address();
}
#else
/// Returns an address in the code of the function that this is inlined into.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline const void* own_code_address() noexcept {
#if defined(__x86_64__)
  const void* address = nullptr;
  // Volatile, so that two calls in one function yield two addresses. The address is that of a byte
  // of this instruction.
  asm volatile("lea -1(%%rip), %0" : "=r"(address));  // NOLINT(hicpp-no-assembler)
  return address;
#elif defined(__aarch64__)
  const void* address = nullptr;
  asm volatile("adr %0, ." : "=r"(address));  // NOLINT(hicpp-no-assembler)
  return address;
#else
  return return_address();
#endif
}
#endif

}  // namespace lido::inline v0::detail
