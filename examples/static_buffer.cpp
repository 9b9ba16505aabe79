// A game for a console: all pools are in one static buffer. Nothing is allocated after the start.
#include <array>
#include <cstddef>
#include <cstdio>
#include <lido/concurrent_slot_map.hpp>
#include <lido/memory_source.hpp>
#include <lido/object_pool.hpp>
#include <lido/slot_map.hpp>
#include <lido/try_make.hpp>

struct job {
  explicit job(int frame) : number(frame) {}
  ~job() { finished += number; }
  int number;
  static inline int finished = 0;
};
using job_pool = lido::object_pool<job>;
using spark_map = lido::slot_map<float>;
using score_map = lido::concurrent_slot_map<int>;

// [snippet]
alignas(128) std::array<std::byte, std::size_t{64} * 1024> bytes;
lido::memory_region memory(bytes);

const lido::object_pool_options job_options{.capacity = 256, .name = "jobs", .memory = &memory};
const lido::slot_map_options spark_options{.max_size = 1000, .reserve = 1000, .memory = &memory};
const lido::concurrent_slot_map_options score_options{.max_size = 100, .memory = &memory};

void print_sizes() {
  const std::size_t needed = job_pool::bytes_needed(job_options) +
                             spark_map::bytes_needed(spark_options) +
                             score_map::bytes_needed(score_options);
  std::fprintf(stderr, "%zu bytes are needed, and there are %zu\n", needed, memory.left());
}

void play() {
  lido::prepare_thread();  // in each thread that uses pools
  job_pool jobs(job_options);
  spark_map sparks(spark_options);
  score_map scores(score_options);
  const auto hero = scores.try_emplace(1);
  for (int frame = 0; frame < 100; ++frame) {
    (void)sparks.try_emplace(0.5F);
    if (const job* const one = jobs.try_acquire_ptr(frame)) {
      scores.visit(hero, [&](int& score) { score += one->number; });
    }
    jobs.release_all();  // at the end of each frame
  }
  scores.read(hero, [](const int& score) { std::printf("%d, %d\n", score, job::finished); });
}
// [/snippet]

int main() {
  print_sizes();
  const auto problem = lido::problem_with<job_pool>(job_options);
  return problem ? std::printf("%s\n", problem.text().data()) : (play(), 0);
}
// Prints:
//   4951, 4950
