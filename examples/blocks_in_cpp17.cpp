// Objects in blocks, in C++17: a class template over lido.h.
#include <lido/lido.h>

#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

// [snippet]
/// At most `capacity` objects of type T, for all threads. Must outlive the objects.
template <class T>
class objects {
 public:
  objects(std::size_t capacity, const char* name) {
    lido_pool_options options{sizeof(options), sizeof(T), capacity, alignof(T), name, 0};
    if (const int error = lido_pool_create(&options, &pool_); error != LIDO_OK) {
      throw std::runtime_error(lido_error_text(error));
    }
  }
  objects(const objects&) = delete;
  objects& operator=(const objects&) = delete;
  ~objects() { lido_pool_destroy(pool_); }

  struct ending {
    lido_pool* pool;
    void operator()(T* object) const noexcept {
      object->~T();
      lido_pool_release(pool, object);
    }
  };
  using pointer = std::unique_ptr<T, ending>;

  /// Null when all blocks are in use.
  template <class... Arguments>
  pointer make(Arguments&&... arguments) {
    const auto give_back = [this](void* block) { lido_pool_release(pool_, block); };
    std::unique_ptr<void, decltype(give_back)> block(lido_pool_acquire(pool_), give_back);
    T* const object = block ? new (block.get()) T(std::forward<Arguments>(arguments)...) : nullptr;
    (void)block.release();
    return pointer(object, {pool_});
  }

 private:
  lido_pool* pool_ = nullptr;
};
// [/snippet]

int main() try {
  objects<std::string> names(1, "names");
  const auto one = names.make(std::string("a name"));
  std::cout << *one << (names.make() ? "" : ", and no second one") << '\n';
} catch (const std::exception& error) {
  std::cout << error.what() << '\n';
}

// Prints:
//   a name, and no second one
