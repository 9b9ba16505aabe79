/// Misuses of the public functions, and the sentence that each of them meets in a debug build.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <utility>

#include "lido/lido.hpp"

namespace lido {
namespace {

struct connection {
  int number = 0;
};

slot_handle<int> stale_handle(slot_map<int>& map) {
  const auto handle = map.emplace(1);
  map.erase(handle);
  return handle;
}

struct misuse_case {
  const char* name;
  void (*commit)();
  const char* sentence;
};

std::ostream& operator<<(std::ostream& out, const misuse_case& one) {
  return out << one.name;
}

const misuse_case misuses[] = {
    {"EmptyLease", [] { *lease<int>() = 1; }, "an empty lease has no object"},
    {"MemberOfAnEmptyLease", [] { lease<connection>()->number = 1; },
     "an empty lease has no object"},
    {"MovedLease",
     [] {
       object_pool<int> pool(1);
       auto first = pool.acquire(1);
       const auto second = std::move(first);
       ++*first;  // NOLINT(bugprone-use-after-move): the misuse
     },
     "an empty lease has no object"},
    {"ObjectOfAnotherPool",
     [] {
       object_pool<int> pool(1);
       object_pool<int> other(1);
       other.release(pool.try_acquire_ptr(1));
     },
     "release of a pointer to no object of this pool"},
    {"ObjectFromElsewhere",
     [] {
       object_pool<int> pool(1);
       int foreign = 0;
       pool.release(&foreign);
     },
     "release of a pointer to no object of this pool"},
    {"ManyObjectsOfAnotherPool",
     [] {
       object_pool<int> pool(1);
       object_pool<int> other(1);
       int* const object = pool.try_acquire_ptr(1);
       other.release_n({&object, 1});
     },
     "release of a pointer to no object of this pool"},
    {"EndOfAPoolInUse",
     [] {
       auto pool =
           std::make_unique<object_pool<int>>(object_pool_options{.capacity = 10, .name = "jobs"});
       (void)pool->try_acquire_ptr(1);
       pool.reset();
     },
     "pool 'jobs' ends with 1 of 10 objects in use"},
    {"EmptyResourceLease", [] { (void)*resource_lease<connection>(); },
     "an empty lease has no resource"},
    {"KeptEmptyResourceLease", [] { resource_lease<connection>().keep(); },
     "an empty lease has no resource"},
    {"DetachedEmptyResourceLease", [] { (void)resource_lease<connection>().detach(); },
     "an empty lease has no resource"},
    {"FailureOfASuccess",
     [] {
       resource_pool<connection> pool([] { return connection{}; }, {.max_size = 1});
       (void)pool.try_acquire_for(std::chrono::seconds(1)).failure();
     },
     "an acquire that succeeded has no failure"},
    {"StaleHandle",
     [] {
       slot_map<int> map;
       map[stale_handle(map)] = 1;
     },
     "operator\\[\\] of a slot map with a stale handle"},
    {"StaleHandleOfAConstantMap",
     [] {
       slot_map<int> map;
       const auto handle = stale_handle(map);
       (void)std::as_const(map)[handle];
     },
     "operator\\[\\] of a slot map with a stale handle"},
    {"IteratorToAStaleHandle",
     [] {
       slot_map<int> map;
       (void)*map.iterator_to(stale_handle(map));
     },
     "an iterator that is at no value of its map"},
    {"IteratorToAnErasedValue",
     [] {
       slot_map<int> map({.compaction = compaction_mode::deferred});
       const auto handle = map.emplace(1);
       map.emplace(2);
       const auto at = map.iterator_to(handle);
       map.erase(handle);
       (void)at.handle();
     },
     "an iterator that is at no value of its map"},
    {"IncrementAtTheEnd",
     [] {
       slot_map<int> map;
       ++map.end();
     },
     "an increment of an iterator at the end"},
    {"HandleOfAForeignValue",
     [] {
       slot_map<int> map;
       map.emplace(1);
       const int foreign = 1;
       (void)map.handle_of(foreign);
     },
     "handle_of a value that is not in this slot map"},
    {"PointerToAnErasedValue",
     [] {
       slot_map<int> map;
       (void)*map.pointer(stale_handle(map));
     },
     "the value of a slot_pointer is gone"},
    {"ValuesDuringAWalk",
     [] {
       slot_map<int> map;
       map.emplace(1);
       map.for_each([&](int&) { (void)map.values(); });
     },
     "values\\(\\) of a slot map during a walk"},
    {"SwapDuringAWalk",
     [] {
       slot_map<int> map;
       const auto handle = map.emplace(1);
       map.for_each([&](int&) { map.swap(handle, handle); });
     },
     "swap in a slot map during a walk"},
};

class MisuseDeathTest : public testing::TestWithParam<misuse_case> {};

TEST_P(MisuseDeathTest, IsNamed) {
  EXPECT_DEATH(GetParam().commit(), GetParam().sentence);
}

INSTANTIATE_TEST_SUITE_P(, MisuseDeathTest, testing::ValuesIn(misuses),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace lido
