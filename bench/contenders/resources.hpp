/// @file
/// Memory resources, each called as a container calls it: through a pointer to
/// std::pmr::memory_resource, two virtual calls for a block and its return.
#pragma once

#include <lido/block_resource.hpp>
#include <memory>
#include <memory_resource>
#include <mutex>

#include "contender.hpp"
#ifdef LIDO_BENCH_MIMALLOC
#include "mimalloc.hpp"
#endif
#ifdef LIDO_BENCH_JEMALLOC
#include "jemalloc.hpp"
#endif
#ifdef LIDO_BENCH_TCMALLOC
#include "tcmalloc.hpp"
#endif
#ifdef LIDO_BENCH_FOONATHAN
#include <foonathan/memory/memory_pool.hpp>
#endif

namespace lido_bench {

/// A contender made of what `Maker::make(sizing, bytes)` returns, for requests of up to `Bytes`.
template <typename Maker, std::size_t Bytes>
class resource_contender : public contender_defaults {
 public:
  static constexpr std::string_view name{Maker::name};

  explicit resource_contender(const sizing& size) : resource_{Maker::make(size, Bytes)} {}

  class session {
   public:
    explicit session(resource_contender& pool) : resource_{pool.resource_.get()} {}
    [[gnu::always_inline]] void* acquire() { return resource_->allocate(Bytes); }
    [[gnu::always_inline]] void release(void* object) { resource_->deallocate(object, Bytes); }
    [[nodiscard]] std::pmr::memory_resource* resource() const { return resource_; }

   private:
    std::pmr::memory_resource* resource_;
  };

 private:
  std::unique_ptr<std::pmr::memory_resource> resource_;
};

struct make_block_resource {
  static constexpr std::string_view name{"lido_block_resource"};
  static auto make(const sizing& size, std::size_t bytes) {
    return std::make_unique<lido::block_resource>(
        lido::block_resource_options{.block_bytes = bytes, .blocks = size.capacity});
  }
};

/// Makes small, medium and large blocks, of which the workloads use one size.
struct make_block_sizes {
  static constexpr std::string_view name{"lido_block_sizes"};
  static auto make(const sizing& size, std::size_t bytes) {
    return std::make_unique<lido::block_resource>(lido::block_resource_options{
        .sizes = {{bytes / 2, 1024}, {bytes, size.capacity}, {bytes * 4, 256}, {bytes * 16, 64}}});
  }
};

struct make_pmr_synchronized {
  static constexpr std::string_view name{"pmr_synchronized"};
  static auto make(const sizing& /*size*/, std::size_t /*bytes*/) {
    return std::make_unique<std::pmr::synchronized_pool_resource>();
  }
};

struct make_new_delete {
  static constexpr std::string_view name{"new_delete"};

  class resource : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t /*alignment*/) override {
      return ::operator new(bytes);
    }
    void do_deallocate(void* address, std::size_t /*bytes*/, std::size_t /*alignment*/) override {
      ::operator delete(address);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }
  };
  static auto make(const sizing& /*size*/, std::size_t /*bytes*/) {
    return std::make_unique<resource>();
  }
};

/// Makes any other resource, for one thread at a time.
struct make_pmr_under_mutex {
  static constexpr std::string_view name{"pmr_unsynchronized_mutex"};

  class resource : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
      const std::lock_guard lock{mutex_};
      return inner_.allocate(bytes, alignment);
    }
    void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override {
      const std::lock_guard lock{mutex_};
      inner_.deallocate(address, bytes, alignment);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }

    std::mutex mutex_;
    std::pmr::unsynchronized_pool_resource inner_;
  };
  static auto make(const sizing& /*size*/, std::size_t /*bytes*/) {
    return std::make_unique<resource>();
  }
};

#ifdef LIDO_BENCH_FOONATHAN
/// Makes foonathan/memory's pool of nodes under a mutex; it is not thread-safe by itself.
struct make_foonathan {
  static constexpr std::string_view name{"foonathan_pool"};

  class resource : public std::pmr::memory_resource {
   public:
    resource(std::size_t bytes, std::size_t capacity)
        : pool_{bytes, foonathan::memory::memory_pool<>::min_block_size(bytes, capacity)} {}

   private:
    void* do_allocate(std::size_t /*bytes*/, std::size_t /*alignment*/) override {
      const std::lock_guard lock{mutex_};
      return pool_.allocate_node();
    }
    void do_deallocate(void* address, std::size_t /*bytes*/, std::size_t /*alignment*/) override {
      const std::lock_guard lock{mutex_};
      pool_.deallocate_node(address);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }

    std::mutex mutex_;
    foonathan::memory::memory_pool<> pool_;
  };
  static auto make(const sizing& size, std::size_t bytes) {
    return std::make_unique<resource>(bytes, size.capacity);
  }
};
#endif

/// Makes a resource from a malloc for all sizes.
template <typename Malloc>
struct make_malloc {
  static constexpr std::string_view name{Malloc::name};

  class resource : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t /*alignment*/) override {
      return malloc_.allocate(bytes);
    }
    void do_deallocate(void* address, std::size_t /*bytes*/, std::size_t /*alignment*/) override {
      malloc_.deallocate(address);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }

    [[no_unique_address]] Malloc malloc_;
  };
  static auto make(const sizing& /*size*/, std::size_t /*bytes*/) {
    return std::make_unique<resource>();
  }
};

#ifdef LIDO_BENCH_MIMALLOC
struct its_mimalloc {
  static constexpr std::string_view name{"mimalloc"};
  [[nodiscard]] void* allocate(std::size_t bytes) const { return library.allocate(bytes); }
  void deallocate(void* address) const { library.deallocate(address); }
  detail::mimalloc_library library{detail::mimalloc_library::get()};
};
#endif
#ifdef LIDO_BENCH_JEMALLOC
struct its_jemalloc {
  static constexpr std::string_view name{"jemalloc"};
  static void* allocate(std::size_t bytes) { return lido_bench_je_malloc(bytes); }
  static void deallocate(void* address) { lido_bench_je_free(address); }
};
#endif
#ifdef LIDO_BENCH_TCMALLOC
struct its_tcmalloc {
  static constexpr std::string_view name{"tcmalloc"};
  static void* allocate(std::size_t bytes) { return lido_bench_tc_malloc(bytes); }
  static void deallocate(void* address) { lido_bench_tc_free(address); }
};
#endif

}  // namespace lido_bench
