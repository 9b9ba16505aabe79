// A game for a console: slots, values and tables of all pools are in one static buffer. Nothing is
// allocated after the start.
#include <array>
#include <cstddef>
#include <cstdio>
#include <lido/concurrent_slot_map.hpp>
#include <lido/memory_source.hpp>
#include <lido/object_pool.hpp>
#include <lido/slot_map.hpp>
#include <lido/try_make.hpp>

struct job {
  int number = 0;
};
struct spark {
  float x = 0;
};
struct player {
  int score = 0;
};

// [snippet]
alignas(128) std::array<std::byte, std::size_t{64} * 1024> bytes;
lido::memory_region memory(bytes);

const lido::object_pool_options job_options{.capacity = 256, .name = "jobs", .memory = &memory};
const lido::slot_map_options spark_options{
    .max_size = 1000, .reserve = 1000, .name = "sparks", .memory = &memory};
const lido::concurrent_slot_map_options player_options{
    .max_size = 100, .name = "players", .memory = &memory};

int play() {
  lido::prepare_thread();  // in each thread that uses pools
  lido::object_pool<job> jobs(job_options);
  lido::slot_map<spark> sparks(spark_options);
  lido::concurrent_slot_map<player> players(player_options);
  const auto hero = players.try_emplace(player{.score = 1});
  for (int frame = 0; frame < 100; ++frame) {
    (void)sparks.try_emplace(spark{.x = 1});
    if (const auto one = jobs.try_acquire(job{.number = frame})) {
      players.visit(hero, [&](player& him) { him.score += one->number; });
    }
  }
  int score = 0;
  players.read(hero, [&](const player& him) { score = him.score; });
  std::printf("sparks %zu, score %d\n", sparks.size(), score);
  return 0;
}
// [/snippet]

int main() {
  const auto problem = lido::problem_with<lido::object_pool<job>>(job_options);
  return problem ? std::printf("%s\n", problem.text().data()) : play();
}

// Prints:
//   sparks 100, score 4951
