/// @file
/// The four answers to a full pool.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace particles {

enum class answer : std::uint8_t { tuned, refuse, evict, grow };

constexpr std::array<answer, 4> all_answers{answer::tuned, answer::refuse, answer::evict,
                                            answer::grow};

/// Returns the name on the command line.
std::string_view name_of(answer which) noexcept;
std::string_view meaning_of(answer which) noexcept;

}  // namespace particles
