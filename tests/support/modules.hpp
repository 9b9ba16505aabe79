/// @file
/// Modules that are loaded at run time: shared objects, or DLLs.
#pragma once

#include <filesystem>
#include <string>

#include "lido/platform/compiler.hpp"

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace lido_test {

#if defined(_WIN32)

/// Loads a module. Returns null if it cannot be loaded. `is_global` concerns only symbols of shared
/// objects.
[[nodiscard]] inline void* load_module(const std::filesystem::path& path,
                                       bool /*is_global*/ = false) {
  return ::LoadLibraryW(path.c_str());
}

template <class Function>
[[nodiscard]] Function* find_function(void* module, const char* name) {
  return reinterpret_cast<Function*>(
      reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(module), name)));
}

[[nodiscard]] inline bool close_module(void* module) {
  return ::FreeLibrary(static_cast<HMODULE>(module)) != 0;
}

[[nodiscard]] inline bool is_module_loaded(const std::filesystem::path& path) {
  return ::GetModuleHandleW(path.c_str()) != nullptr;
}

[[nodiscard]] inline std::string module_error() {
  return "error " + std::to_string(::GetLastError());
}

#else

/// Loads a module. Returns null if it cannot be loaded.
[[nodiscard]] inline void* load_module(const std::filesystem::path& path, bool is_global = false) {
  return ::dlopen(path.c_str(), RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL));
}

template <class Function>
[[nodiscard]] Function* find_function(void* module, const char* name) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is made for
  return reinterpret_cast<Function*>(::dlsym(module, name));
}

[[nodiscard]] inline bool close_module(void* module) {
  return ::dlclose(module) == 0;
}

[[nodiscard]] inline bool is_module_loaded(const std::filesystem::path& path) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  return handle != nullptr && close_module(handle);
}

[[nodiscard]] inline std::string module_error() {
  const char* const cause = ::dlerror();
  return cause != nullptr ? cause : "";
}

#endif

}  // namespace lido_test
