#include "lido/debug/misuse.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include "lido/concurrency/atomic.hpp"

namespace lido::inline v0 {

namespace {

[[noreturn]] void print_and_abort(const misuse& what) noexcept {
  (void)std::fwrite(what.report.data(), 1, what.report.size(), stderr);
  (void)std::fflush(stderr);
  std::abort();
}

constinit detail::atomic<misuse_handler> current_handler{&print_and_abort};

}  // namespace

std::string_view to_string(misuse_kind kind) noexcept {
  constexpr std::array<std::string_view, 7> texts{"double release",
                                                  "foreign pointer",
                                                  "pointer inside a slot",
                                                  "wrong pool",
                                                  "dead pool",
                                                  "write after release",
                                                  "leak"};
  return texts.at(static_cast<std::size_t>(kind));
}

misuse_handler set_misuse_handler(misuse_handler handler) noexcept {
  // (1) - this acq_rel-exchange synchronizes-with the acquire-load (2) and itself, the
  // acq_rel-exchange (1), so a handler sees everything that was prepared for it
  return current_handler.exchange(handler != nullptr ? handler : &print_and_abort,
                                  std::memory_order_acq_rel);
}

void detail::hand_over(const misuse& what) noexcept {
  // (2) - this acquire-load synchronizes-with the acq_rel-exchange (1)
  const misuse_handler handler = current_handler.load(std::memory_order_acquire);
  handler(what);
}

}  // namespace lido::inline v0
