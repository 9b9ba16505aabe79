// The end of a context. Handlers that it destroys may acquire again, and its strands end, too.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/asio_fixture.hpp"

namespace lido {
namespace {

namespace net = detail_asio::net;
using namespace std::chrono_literals;
using test::fake_lease;
using test::fake_pool;
using test::never_run;

using AsioContext = test::asio_operations;

/// Acquires a lease in its destructor.
template <class Executor>
class last_will {
 public:
  last_will(fake_pool& pool, Executor executor) : pool_(&pool), executor_(std::move(executor)) {}
  last_will(last_will&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), executor_(other.executor_) {}
  last_will& operator=(last_will&&) = delete;
  ~last_will() {
    if (pool_ != nullptr) {
      async_acquire(*pool_, 10s, net::bind_executor(executor_, never_run()));
    }
  }

 private:
  fake_pool* pool_;
  Executor executor_;
};

// The wait outlives the context, and must not use it.
TEST_F(AsioContext, AHandlerDestroyedWithItsContextMayAcquire) {
  fake_lease held = pool.acquire();
  {
    const auto gone = std::make_unique<net::io_context>();
    ask(*gone, never_run(last_will(pool, gone->get_executor())));
  }
  held.reset();
  EXPECT_TRUE(pool.acquire_for(10s));
}

// The context has shut down its services by then, and the pool's service is not yet one of them.
TEST_F(AsioContext, AHandlerDestroyedWithItsContextMayBeTheFirstToAcquire) {
  fake_lease held = pool.acquire();
  {
    net::io_context gone;
    net::post(gone, never_run(last_will(pool, gone.get_executor())));
  }
  held.reset();
  EXPECT_TRUE(pool.acquire_for(10s));
}

/// An executor of the older form. It refuses all work, and destroys it at once.
struct refusing {
  net::io_context* of;

  [[nodiscard]] net::io_context& context() const noexcept { return *of; }
  void on_work_started() const noexcept {}
  void on_work_finished() const noexcept {}
  template <class Function, class Allocator>
  void post(Function&& work, const Allocator& /*allocator*/) const {
    const std::decay_t<Function> dropped(std::forward<Function>(work));
  }
  template <class Function, class Allocator>
  void dispatch(Function&& work, const Allocator& allocator) const {
    post(std::forward<Function>(work), allocator);
  }
  template <class Function, class Allocator>
  void defer(Function&& work, const Allocator& allocator) const {
    post(std::forward<Function>(work), allocator);
  }
  friend bool operator==(const refusing& a, const refusing& b) noexcept { return a.of == b.of; }
  friend bool operator!=(const refusing& a, const refusing& b) noexcept { return a.of != b.of; }
};

TEST_F(AsioContext, AHandlerDestroyedByAPostMayAcquire) {
  {
    net::io_context gone;
    const refusing executor{&gone};
    fake_lease held = pool.acquire();
    for (int i = 0; i < 3; ++i) {
      ask(executor, never_run(last_will(pool, executor)));
    }
    held.reset();
  }
  EXPECT_TRUE(pool.acquire_for(10s));
}

struct new_kind {
  using type = net::strand<net::io_context::executor_type>;
  static type make(net::io_context& context) { return net::make_strand(context); }
};

struct old_kind {
  using type = net::io_context::strand;
  static type make(net::io_context& context) { return type(context); }
};

template <class Kind>
class AsioStrands : public test::asio_operations {
 protected:
  /// Gives the context Lido's service, but no strands.
  void ask_without_strand(net::io_context& where) {
    std::stop_source stop;
    (void)stop.request_stop();
    ask(where, never_run(), stop.get_token());
  }
};

using kinds_of_strand = ::testing::Types<new_kind, old_kind>;
TYPED_TEST_SUITE(AsioStrands, kinds_of_strand);

/// Records in its destructor whether another object was destroyed.
class witness {
 public:
  witness(std::weak_ptr<fake_lease> other, std::optional<bool>& has_ended)
      : other_(std::move(other)), has_ended_(&has_ended) {}
  witness(witness&& from) noexcept
      : other_(std::move(from.other_)), has_ended_(std::exchange(from.has_ended_, nullptr)) {}
  witness& operator=(witness&&) = delete;
  ~witness() {
    if (has_ended_ != nullptr) {
      *has_ended_ = other_.expired();
    }
  }

 private:
  std::weak_ptr<fake_lease> other_;
  std::optional<bool>* has_ended_;
};

// While a strand is destroyed, no thread may post through it.
TYPED_TEST(AsioStrands, WaitsEndBeforeStrandsThatAreNewerThanTheFirst) {
  std::optional<bool> strand_has_ended;
  {
    net::io_context gone;
    this->ask_without_strand(gone);
    const auto strand = TypeParam::make(gone);
    auto held = std::make_shared<fake_lease>(this->pool.acquire());
    this->ask(strand, never_run(witness(held, strand_has_ended)));
    net::post(strand, never_run(std::move(held)));
  }
  ASSERT_TRUE(strand_has_ended);
  EXPECT_FALSE(*strand_has_ended);
}

// The context ends while a thread releases, which may use the strands at any moment.
TYPED_TEST(AsioStrands, AContextMayEndWhileWaitsInItsStrandsEnd) {
  constexpr int size = 20;
  this->pool.resize(size);
  const auto counted = std::make_shared<int>(0);
  for (int round = 0; round < 200; ++round) {
    auto ending = std::make_unique<net::io_context>();
    this->ask_without_strand(*ending);
    std::vector<fake_lease> held(size);
    for (fake_lease& one : held) {
      one = this->pool.acquire_for(10s);
    }
    for (int i = 0; i < size; ++i) {
      this->ask(TypeParam::make(*ending), [counted](asio_error_code, const fake_lease&) {});
    }
    std::atomic<bool> begun{false};
    const std::jthread releasing([&] {
      begun = true;
      for (fake_lease& one : held) {
        one.reset();
      }
    });
    while (!begun) {
    }
    ending.reset();
  }
  EXPECT_EQ(counted.use_count(), 1);
}

}  // namespace
}  // namespace lido
