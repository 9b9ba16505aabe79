// Sparks that are updated every frame, and handles to them that stay valid until they go out.
#include <exception>
#include <iostream>
#include <lido/slot_map.hpp>

struct spark {
  float height = 0;
  int frames_left = 0;
};

int main() try {
  // [snippet]
  lido::slot_map<spark> sparks{{.max_size = 3, .name = "sparks"}};
  lido::slot_handle<spark> first = sparks.insert({1.0F, 1});
  lido::slot_handle<spark> last = sparks.insert({2.0F, 9});

  sparks.for_each([&](spark& each) {  // as fast as over an array; may erase and insert
    each.height += 1.0F;
    return --each.frames_left == 0 ? lido::step::erase : lido::step::next;
  });

  std::cout << "first: " << sparks.contains(first) << ", last: " << sparks[last].height << '\n';
  if (const spark* gone = sparks.find(first); gone == nullptr) {  // for ever
    std::cout << "a stale handle is refused\n";
  }

  sparks.insert({3.5F, 5});
  sparks.insert({4.0F, 7});
  auto lower = [](const spark& a, const spark& b) { return a.height < b.height; };
  sparks.emplace_or_evict(lower, 5.0F, 9);  // full: takes the place of the lowest
  // [/snippet]
  std::cout << "sparks: " << sparks.size() << ", last: " << sparks.contains(last) << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   first: 0, last: 3
//   a stale handle is refused
//   sparks: 3, last: 0
