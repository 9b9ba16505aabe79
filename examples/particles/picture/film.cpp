#include "film.hpp"

#include <fmt/format.h>
#include <tbb/parallel_invoke.h>

#include "png_file.hpp"

namespace particles {
namespace {

constexpr int milliseconds_a_frame = 33;

}  // namespace

film::film(const format& how)
    : how_(how),
      animation_file_(how.folder / (how.name + ".webp")),
      animation_(animation_file_, how.width, how.height, milliseconds_a_frame) {}

void film::add(const image& picture) {
  const std::size_t number = frame_++;
  tbb::parallel_invoke([&] { animation_.add(picture); },
                       [&] {
                         if (number % how_.every == 0) {
                           write_png(picture,
                                     how_.folder / fmt::format("{}-{:04}.png", how_.name, number));
                         }
                       });
}

std::filesystem::path film::finish() {
  animation_.finish();
  return animation_file_;
}

}  // namespace particles
