#include "../counted_thread_id.hpp"
#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

std::uint32_t thread_id() noexcept {
  return counted_thread_id();
}

std::size_t thread_name(std::uint32_t /*id*/, std::span<char> /*name*/) noexcept {
  return 0;
}

code_position find_code(const void* /*address*/) noexcept {
  return {};
}

std::size_t module_path(const void* /*address*/, std::span<char> /*path*/) noexcept {
  return 0;
}

system_names names() noexcept {
  return {"addr2line -Cfpie", "calloc"};
}

}  // namespace lido::inline v0::detail::platform
