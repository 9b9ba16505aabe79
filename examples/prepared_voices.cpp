// Voices for an audio thread: all memory is allocated before the thread starts its work.
#include <exception>
#include <functional>
#include <iostream>
#include <lido/object_pool.hpp>
#include <thread>
#include <vector>

// [snippet]
struct voice {
  std::vector<float> samples = std::vector<float>(48'000);
};
struct voice_traits : lido::pool_traits<voice> {
  using hooks = lido::keep;
};
using voice_pool = lido::object_pool<voice, voice_traits>;

void run_audio(voice_pool& voices) {
  lido::prepare_thread();
  for (int block = 0; block < 3; ++block) {
    if (const auto one = voices.try_acquire()) {  // no malloc from here on
      one->samples[0] += 1;
    }
  }
}

void play() {
  voice_pool voices{
      {.capacity = 64, .name = "voices", .creation = lido::creation::eager, .warm = true}};
  std::jthread(run_audio, std::ref(voices)).join();
  std::cout << voices.stats().live << " voices\n";
}
// [/snippet]

struct sound {
  float frequency = 440;
};

void play_in_real_time() {
  // [snippet prepare]
  lido::object_pool<sound> sounds{{.capacity = 64, .caches = lido::cache_kind::none, .warm = true}};
  lido::prepare_thread();  // in each thread, before it becomes a real-time thread
  // [/snippet]
  std::cout << sounds.acquire()->frequency << " Hz\n";
}

int main() try {
  play();
  play_in_real_time();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   64 voices
//   440 Hz
