// A user's classes around a pool, with members of one line each. Templates call them at one site
// and at four. inlined.py looks for calls of functions that should be inlined.
#include <array>
#include <cstdint>
#include <utility>

#include "lido/block_resource.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/object_pool.hpp"
#include "lido/slot_map.hpp"

namespace user {

struct job {
  std::array<std::uint64_t, 8> words;
};

void use(job& one) noexcept;

class pointers {
 public:
  explicit pointers(lido::object_pool<job>& pool) : pool_(pool) {}
  job* get() { return pool_.try_acquire_ptr(); }
  void put(job* object) { pool_.release(object); }

 private:
  lido::object_pool<job>& pool_;
};

class leases {
 public:
  explicit leases(lido::object_pool<job>& pool) : pool_(pool) {}
  lido::lease<job> get() { return pool_.acquire(); }
  static void put(lido::lease<job> object) { object.reset(); }

 private:
  lido::object_pool<job>& pool_;
};

class tried_leases {
 public:
  explicit tried_leases(lido::object_pool<job>& pool) : pool_(pool) {}
  lido::lease<job> get() { return pool_.try_acquire(); }
  static void put(lido::lease<job> object) { object.reset(); }

 private:
  lido::object_pool<job>& pool_;
};

class blocks {
 public:
  explicit blocks(lido::block_resource& resource) : allocator_(resource) {}
  job* get() { return ::new (allocator_.allocate(1)) job; }
  void put(job* object) { allocator_.deallocate(object, 1); }

 private:
  lido::block_allocator<job> allocator_;
};

/// Calls that `inlined` must report.
class called_pointers {
 public:
  explicit called_pointers(lido::object_pool<job>& pool) : pool_(pool) {}
  job* get() { return pool_.try_acquire_ptr(); }
  [[gnu::noinline]] void put(job* object) { pool_.release(object); }

 private:
  lido::object_pool<job>& pool_;
};

class values {
 public:
  explicit values(lido::slot_map<job>& map) : map_(map) {}
  [[nodiscard]] const job* find(lido::slot_handle<job> handle) const { return map_.find(handle); }

 private:
  lido::slot_map<job>& map_;
};

class shared_values {
 public:
  explicit shared_values(lido::concurrent_slot_map<job>& map) : map_(map) {}
  [[nodiscard]] bool find(lido::slot_handle<job> handle) const { return map_.contains(handle); }

 private:
  lido::concurrent_slot_map<job>& map_;
};

template <class Pool>
void call_once(Pool pool) {
  auto object = pool.get();
  use(*object);
  pool.put(std::move(object));
}

template <class Pool>
void call_four_times(Pool pool) {
  auto first = pool.get();
  auto second = pool.get();
  use(*first);
  use(*second);
  pool.put(std::move(first));
  auto third = pool.get();
  use(*third);
  for (auto one = pool.get(); one->words[0] != 0; one = pool.get()) {
    use(*one);
    pool.put(std::move(one));
  }
  pool.put(std::move(second));
  pool.put(std::move(third));
}

using handles = std::array<lido::slot_handle<job>, 4>;

template <class Map>
bool call_once(Map map, const handles& some) {
  return !!map.find(some[0]);
}

template <class Map>
std::size_t call_four_times(Map map, const handles& some) {
  std::size_t found = !!map.find(some[0]) ? 1 : 0;
  for (const auto& one : some) {
    found += !!map.find(one) ? 1 : 0;
  }
  return found + (!!map.find(some[1]) || !!map.find(some[2]) ? 1 : 0);
}

template void call_once(pointers);
template void call_once(leases);
template void call_once(tried_leases);
template void call_once(blocks);
template bool call_once(values, const handles&);
template bool call_once(shared_values, const handles&);

template void call_four_times(pointers);
template void call_four_times(leases);
template void call_four_times(tried_leases);
template void call_four_times(blocks);
template std::size_t call_four_times(values, const handles&);
template std::size_t call_four_times(shared_values, const handles&);

template void call_four_times(called_pointers);

}  // namespace user
