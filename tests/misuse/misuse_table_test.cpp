/// Misuses of the public functions, and the sentence that each of them meets in a debug build.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <ostream>
#include <thread>
#include <utility>

#include "lido/c/pool.h"
#include "lido/lido.hpp"

namespace lido {
namespace {

struct connection {
  int number = 0;
};

/// An object with an array of pointers to such objects.
struct node {
  std::array<node*, 1> others{};
};

/// A value whose constructor copies the map that it is made in.
struct copies_its_map {
  copies_its_map() = default;
  explicit copies_its_map(const slot_map<copies_its_map>& map) {
    const slot_map<copies_its_map> copy(map);
  }
};

/// A value whose constructor moves the map that it is made in.
struct moves_its_map {
  moves_its_map() = default;
  explicit moves_its_map(slot_map<moves_its_map>&& map) {
    const slot_map<moves_its_map> moved(std::move(map));
  }
};

/// An entry whose destructor erases another entry of the map that `map` points to.
struct erases_another {
  secondary_map<int, erases_another>* map = nullptr;

  explicit erases_another(secondary_map<int, erases_another>* of) noexcept : map(of) {}
  erases_another(erases_another&& other) noexcept : map(std::exchange(other.map, nullptr)) {}
  ~erases_another() {
    if (map != nullptr) {
      map->erase({2, 1});
    }
  }
};

/// Fills `map` with an entry that erases another one, and with that other one.
void add_two(secondary_map<int, erases_another>& map) {
  map.emplace({1, 1}, &map);
  map.emplace({2, 1}, nullptr);
}

/// An object whose destructor uses its pool.
struct meddling {
  object_pool<meddling>* pool = nullptr;
  ~meddling() {
    if (pool != nullptr) {
      (void)pool->try_acquire_ptr();
    }
  }
};

/// An object pool that knows which objects are in use.
struct tracked_traits : pool_traits<int> {
  static constexpr bool track_in_use = true;
};

/// An executor of one range, and one that goes beyond the end.
constexpr auto in_one_go = [](std::uint32_t count, const auto& body) { body(0U, count); };
constexpr auto too_far = [](std::uint32_t count, const auto& body) { body(0U, count + 1); };

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
     "release of (a pointer to no object of this pool|what is not in use)"},
    {"SecondReleaseInATrackingPool",
     [] {
       object_pool<int, tracked_traits> pool(2);
       int* const object = pool.try_acquire_ptr(1);
       pool.release(object);
       pool.release(object);
     },
     "release of what is not in use"},
    {"IndexOfAnObjectOfAnotherPool",
     [] {
       object_pool<int> pool(1);
       object_pool<int> other(1);
       (void)other.index_of(pool.acquire(1).get());
     },
     "index_of a pointer to no slot of this pool"},
    {"IndexOfNull", [] { (void)object_pool<int>(1).index_of(nullptr); },
     "index_of a pointer to no slot of this pool"},
    {"IndexOfAMember",
     [] {
       object_pool<std::array<int, 2>> pool(1);
       const void* const second = &(*pool.acquire())[1];
       (void)pool.index_of(static_cast<const std::array<int, 2>*>(second));
     },
     "index_of a pointer to no slot of this pool"},
    {"AtAnIndexBeyondTheEnd", [] { (void)object_pool<int>(3).at(3); },
     "an index of no slot of this pool"},
    {"AtAnIndexThatIsNotInUse",
     [] {
       object_pool<int, tracked_traits> pool(3);
       const auto released = pool.index_of(pool.acquire().get());  // its lease ends here
       (void)pool.at(released);
     },
     "an index of an object that is not in use"},
    {"AtAnIndexThatIsNotInUseInACheckedPool",
     [] {
       object_pool<int, checked_traits<int>> pool(3);
       (void)pool.at(0);
     },
     "an index of an object that is not in use"},
    {"ReleaseOfAForeignObjectInAList",
     [] {
       object_pool<int> pool(1);
       object_pool<int> other(1);
       other.release_n(std::list<int*>{nullptr, pool.try_acquire_ptr(1)});
     },
     "release of (a pointer to no object of this pool|what is not in use)"},
    {"ReleaseTwiceInAList",
     [] {
       object_pool<int, tracked_traits> pool(2);
       pool.release_n(std::list<int*>(2, pool.try_acquire_ptr(1)));
     },
     "release of what is not in use"},
    {"BytesOfTooManySlots", [] { (void)object_pool<int>::bytes_needed({.capacity = SIZE_MAX}); },
     "bytes_needed with options that no pool can have"},
    {"BytesOfNoSlots", [] { (void)object_pool<int>::bytes_needed({.capacity = 0}); },
     "bytes_needed with options that no pool can have"},
    {"BytesOfTooManySlotsInOwnMemory",
     [] {
       memory_region none({});
       (void)object_pool<int>::bytes_needed(
           {.capacity = (std::size_t{1} << 32U) + 10, .memory = &none});
     },
     "bytes_needed with options that no pool can have"},
    {"BytesOfNoSlotsInOwnMemory",
     [] {
       memory_region none({});
       (void)object_pool<int>::bytes_needed({.capacity = 0, .memory = &none});
     },
     "bytes_needed with options that no pool can have"},
    {"ObjectFromElsewhere",
     [] {
       object_pool<int> pool(1);
       int foreign = 0;
       pool.release(&foreign);
     },
     "release of (a pointer to no object of this pool|what is not in use)"},
    {"ManyObjectsOfAnotherPool",
     [] {
       object_pool<int> pool(1);
       object_pool<int> other(1);
       int* const object = pool.try_acquire_ptr(1);
       other.release_n({&object, 1});
     },
     "release of (a pointer to no object of this pool|what is not in use)"},
    {"ObjectThatContainsTheArray",
     [] {
       object_pool<node> pool(1);
       node* const object = pool.try_acquire_ptr();
       object->others.front() = object;
       pool.release_n(object->others);
     },
     "release_n of an object that contains the array of objects"},
    {"EndOfAPoolInUse",
     [] {
       auto pool =
           std::make_unique<object_pool<int>>(object_pool_options{.capacity = 10, .name = "jobs"});
       (void)pool->try_acquire_ptr(1);
       pool.reset();
     },
     "pool 'jobs' ends with 1 of 10 objects in use"},
    {"DestructorThatUsesItsPoolInReleaseAll",
     [] {
       object_pool<meddling> pool(8);
       meddling* const object = pool.try_acquire_ptr();
       object->pool = &pool;
       pool.release_all();
     },
     "a destructor that release_all calls uses the pool"},
    {"ReleaseAllBesideAWaiter",
     [] {
       object_pool<int> pool(1);
       (void)pool.try_acquire_ptr(1);
       const std::jthread waiter([&] { (void)pool.acquire_for(std::chrono::hours(1)); });
       while (pool.stats().waiting == 0) {
         std::this_thread::yield();
       }
       pool.release_all();
     },
     "release_all of a pool while a thread waits for it"},
    {"EmptyResourceLease", [] { (void)*resource_lease<connection>(); },
     "an empty lease has no resource"},
    {"KeptEmptyResourceLease", [] { resource_lease<connection>().keep(); },
     "an empty lease has no resource"},
    {"DetachedEmptyResourceLease", [] { (void)resource_lease<connection>().detach(); },
     "an empty lease has no resource"},
    {"MemberOfAnEmptyResourceLease", [] { resource_lease<connection>()->number = 1; },
     "an empty lease has no resource"},
    {"DiscardUnlessKeptOfAnEmptyLease", [] { resource_lease<connection>().discard_unless_kept(); },
     "an empty lease has no resource"},
    {"HandleOfAnEmptyLease", [] { (void)resource_lease<connection>().handle(); },
     "an empty lease has no resource"},
    {"AgeOfAnEmptyLease", [] { (void)resource_lease<connection>().age(); },
     "an empty lease has no resource"},
    {"UsesOfAnEmptyLease", [] { (void)resource_lease<connection>().uses(); },
     "an empty lease has no resource"},
    {"IsNewOfAnEmptyLease", [] { (void)resource_lease<connection>().is_new(); },
     "an empty lease has no resource"},
    {"ExtendedEmptyLease", [] { resource_lease<connection>().extend(std::chrono::seconds(1)); },
     "an empty lease has no resource"},
    {"ExpectLongUseOfAnEmptyLease", [] { resource_lease<connection>().expect_long_use(); },
     "an empty lease has no resource"},
    {"ResourceOfAFailure",
     [] {
       resource_pool<connection> pool([] { return connection{}; }, {.max_size = 1});
       const auto lease = pool.acquire();
       (void)*pool.try_acquire_for(std::chrono::seconds(0));
     },
     "an empty lease has no resource"},
    {"MemberOfAFailure",
     [] {
       resource_pool<connection> pool([] { return connection{}; }, {.max_size = 1});
       const auto lease = pool.acquire();
       (void)pool.try_acquire_for(std::chrono::seconds(0))->number;
     },
     "an empty lease has no resource"},
    {"ErrorOfASuccess",
     [] {
       resource_pool<connection> pool([] { return connection{}; }, {.max_size = 1});
       (void)pool.try_acquire_for(std::chrono::seconds(1)).error();
     },
     "an acquire that succeeded has no error"},
    {"ErrorWithoutDetails", [] { (void)acquire_error(nullptr); },
     "an acquire_error without details"},
    {"EmptyListener", [] { event_listener()({pool_event::kind::orphaned}); },
     "a call of an empty event_listener"},
    {"FailureOfASuccess",
     [] {
       resource_pool<connection> pool([] { return connection{}; }, {.max_size = 1});
       (void)pool.try_acquire_for(std::chrono::seconds(1)).failure();
     },
     "an acquire that succeeded has no failure"},
    {"AddressWithinABlock",
     [] {
       block_resource blocks({.block_bytes = 64, .blocks = 2});
       auto* const block = static_cast<std::byte*>(blocks.allocate(64));
       blocks.deallocate(block + 8, 56);
     },
     "release of an address within a block"},
    {"AddressWithinALargerBlock",
     [] {
       block_resource blocks({.sizes = {{.bytes = 64, .blocks = 1}, {.bytes = 128, .blocks = 2}}});
       auto* const block = static_cast<std::byte*>(blocks.allocate(128));
       blocks.deallocate(block + 8, 120);
     },
     "release of an address within a block"},
    {"AddressWithinABlockOfC",
     [] {
       const lido_pool_options options{.size = sizeof(lido_pool_options),
                                       .block_bytes = 64,
                                       .blocks = 2,
                                       .alignment = 0,
                                       .name = nullptr,
                                       .flags = 0};
       lido_pool* pool = nullptr;
       (void)lido_pool_create(&options, &pool);
       (void)lido_pool_release(pool, static_cast<std::byte*>(lido_pool_acquire(pool)) + 8);
     },
     "release of an address within a block"},
    {"StatsOfAMissingSize",
     [] {
       const block_resource blocks({.block_bytes = 64, .blocks = 2});
       (void)blocks.stats(1);
     },
     "stats of a size that a block_resource does not have"},
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
    {"SortDuringAWalk",
     [] {
       slot_map<int> map;
       map.emplace(1);
       map.for_each([&](int&) { map.sort(); });
     },
     "values\\(\\) of a slot map during a walk"},
    {"SnapshotDuringAWalk",
     [] {
       slot_map<int> map;
       map.emplace(1);
       map.for_each([&](int&) { (void)map.snapshot(); });
     },
     "values\\(\\) of a slot map during a walk"},
    {"RestoreDuringAWalk",
     [] {
       slot_map<int> map;
       map.emplace(1);
       const auto before = map.snapshot();
       map.for_each([&](int&) { map.restore(before); });
     },
     "restore of a slot map during a walk"},
    {"MoveDuringAWalk",
     [] {
       slot_map<int> map;
       map.emplace(1);
       map.for_each([&](int&) { const slot_map<int> other(std::move(map)); });
     },
     "a move of a slot map during a walk"},
    {"AssignmentDuringAWalk",
     [] {
       slot_map<int> map;
       map.emplace(1);
       map.for_each([&](int&) { map = slot_map<int>(); });
     },
     "a swap or an assignment of a slot map during a walk"},
    {"SwapOfMapsDuringAWalk",
     [] {
       slot_map<int> map;
       slot_map<int> other;
       map.emplace(1);
       map.for_each([&](int&) { other.swap(map); });
     },
     "a swap or an assignment of a slot map during a walk"},
    {"RestoreOfAConcurrentMapDuringAWalk",
     [] {
       concurrent_slot_map<int> map(1);
       map.emplace(1);
       const auto before = map.snapshot();
       map.for_each([&](int&) { map.restore(before); });
     },
     "restore of a concurrent slot map during a walk"},
    {"MoveInAConstructor",
     [] {
       slot_map<moves_its_map> map;
       map.emplace();  // so that there is room, and the second one is made in its place
       map.emplace(std::move(map));
     },
     "a move of a slot map during a walk, or in a constructor of T"},
    {"CopyInAConstructor",
     [] {
       slot_map<copies_its_map> map;
       map.emplace();  // so that there is room, and the second one is made in its place
       map.emplace(map);
     },
     "a copy of a slot map in a constructor or destructor of T"},
    {"SecondaryMapEraseInADestructorOfAnErase",
     [] {
       secondary_map<int, erases_another> map;
       add_two(map);
       map.erase({1, 1});
     },
     "a destructor of a Value changed its secondary_map"},
    {"SecondaryMapEraseInADestructorOfAnInsert",
     [] {
       secondary_map<int, erases_another> map;
       add_two(map);
       map.emplace({1, 2}, nullptr);
     },
     "a destructor of a Value changed its secondary_map"},
    {"SecondaryMapEraseInADestructorOfAClear",
     [] {
       secondary_map<int, erases_another> map;
       add_two(map);
       map.clear();
     },
     "a destructor of a Value changed its secondary_map"},
    {"InsertRangeOfItself",
     [] {
       slot_map<int> map;
       map.emplace(1);
       (void)map.insert_range(map.values());
     },
     "insert_range of values that are in this slot map"},
    {"InsertRangeOfTheMapItself",
     [] {
       slot_map<int> map;
       map.emplace(1);
       (void)map.insert_range(map);
     },
     "insert_range of values that are in this slot map"},
    {"InsertRangeOfASnapshotOfTheMap",
     [] {
       slot_map<int> map({.max_size = 8});
       map.emplace(1);
       (void)map.insert_range(std::as_const(map).snapshot().values);
     },
     "insert_range of values that are in this slot map"},
    {"InsertInAParallelWalk",
     [] {
       slot_map<int> map;
       map.emplace(1);
       map.for_each(in_one_go, [&](int&) { map.emplace(2); });
     },
     "a callback of a parallel walk changed the slot map"},
    {"EraseInAParallelWalk",
     [] {
       slot_map<int> map;
       map.emplace(1);
       map.for_each(in_one_go, [&](int&, auto handle) { map.erase(handle); });
     },
     "a callback of a parallel walk changed the slot map"},
    {"ExecutorBeyondTheEnd",
     [] {
       slot_map<int> map;
       map.emplace(1);
       map.for_each(too_far, [](int&) {});
     },
     "a range of an executor beyond the count"},
    {"ExecutorBeyondTheEndOfAConstantMap",
     [] {
       slot_map<int> map;
       map.emplace(1);
       std::as_const(map).for_each(too_far, [](const int&) {});
     },
     "a range of an executor beyond the count"},
    {"ExecutorBeyondTheEndOfAConcurrentMap",
     [] {
       concurrent_slot_map<int> map(1);
       map.emplace(1);
       map.for_each(too_far, [](int&) {});
     },
     "a range of an executor beyond the count"},
    {"ExecutorBeyondTheEndOfAnAloneWalk",
     [] {
       concurrent_slot_map<int> map(1);
       map.emplace(1);
       map.for_each_alone(too_far, [](int&) {});
     },
     "a range of an executor beyond the count"},
    {"AloneWalkBesideAWalk",
     [] {
       concurrent_slot_map<int> map(1);
       map.emplace(1);
       map.for_each([&](int&) { map.for_each_alone([](int&) {}); });
     },
     "for_each_alone beside another walk of the map"},
    {"ParallelAloneWalkBesideAWalk",
     [] {
       concurrent_slot_map<int> map(1);
       map.emplace(1);
       map.for_each([&](int&) { map.for_each_alone(in_one_go, [](int&) {}); });
     },
     "for_each_alone beside another walk of the map"},
    {"EndDuringAWalk",
     [] {
       auto map = std::make_unique<concurrent_slot_map<int>>(1);
       map->emplace(1);
       map->for_each([&](int&) { map.reset(); });
     },
     "a concurrent slot map ends during a walk of it"},
    {"EndDuringAVisit",
     [] {
       auto map = std::make_unique<concurrent_slot_map<int>>(1);
       map->visit(map->emplace(1), [&](int&) { map.reset(); });
     },
     "a concurrent slot map ends while a thread is in one of its values"},
};

class MisuseDeathTest : public testing::TestWithParam<misuse_case> {};

TEST_P(MisuseDeathTest, IsNamed) {
  EXPECT_DEATH(GetParam().commit(), GetParam().sentence);
}

INSTANTIATE_TEST_SUITE_P(, MisuseDeathTest, testing::ValuesIn(misuses),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace lido
