/// @file
/// Slot maps whose slots are used up soon.
#pragma once

#include <cstdint>

#include "lido/base/no_hooks.hpp"
#include "lido/slot_map/callbacks.hpp"
#include "lido/slot_map/slot_handle.hpp"

namespace lido {
namespace test {

/// Hooks that do nothing. In a map with these hooks, a slot has `Generations` generations.
template <std::uint32_t Generations>
struct few_generations {
  template <class T>
  void on_erase(T& /*value*/, slot_handle<T> /*handle*/) const noexcept {}
};

/// Hooks that do the same as `Hooks`, for a map whose slots have few generations.
template <std::uint32_t Generations, class Hooks>
struct few_generations_with : Hooks {};

}  // namespace test

template <std::uint32_t Generations>
inline constexpr std::uint64_t detail::last_generation_with<test::few_generations<Generations>> =
    Generations;
template <std::uint32_t Generations, class Hooks>
inline constexpr std::uint64_t
    detail::last_generation_with<test::few_generations_with<Generations, Hooks>> = Generations;

}  // namespace lido
