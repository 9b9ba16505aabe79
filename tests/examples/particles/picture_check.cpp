// Checks that a file is the expected picture.
// Usage: lido_picture_check FILE WIDTH HEIGHT FRAMES
#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "decoded.hpp"

namespace {

void expect(bool well, const std::string& what) {
  if (!well) {
    throw std::runtime_error(what);
  }
}

/// Returns whether a pixel is not black, since a black picture decodes, too.
bool shows_something(const particles::image& picture) {
  return *std::max_element(picture.bytes.begin(), picture.bytes.end()) > 150;
}

void check(const std::vector<std::string>& arguments) {
  expect(arguments.size() == 5, "usage: FILE WIDTH HEIGHT FRAMES");
  const std::filesystem::path file = arguments[1];
  const std::vector<particles::image> frames = file.extension() == ".png"
                                                   ? std::vector{particles::read_png(file)}
                                                   : particles::read_webp(file);
  expect(std::to_string(frames.size()) == arguments[4],
         std::to_string(frames.size()) + " frames in " + file.string());
  for (const particles::image& frame : frames) {
    expect(
        std::to_string(frame.width) == arguments[2] && std::to_string(frame.height) == arguments[3],
        file.string() + " has another size");
  }
  expect(shows_something(frames.back()), file.string() + " ends dark");
}

}  // namespace

int main(int count, char** arguments) {
  try {
    check({arguments, arguments + count});
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return 1;
  }
}
