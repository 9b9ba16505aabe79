#include "lido/concurrency/thread_number.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "../platform/platform.hpp"
#include "lido/platform/compiler.hpp"
#include "number_ranges.hpp"
#include "thread_system.hpp"

namespace lido::inline v0::detail {

constinit thread_local std::size_t thread_offset = no_thread_offset;

namespace {

// True while this thread forks. The thread then holds the registry's mutex, and must not lock it
// again when fork handlers of other code use pools.
constinit thread_local bool thread_is_forking = false;

/// A separate page, which the system clears in each process that gets a copy of this memory. A
/// child that shares the memory, for example after vfork, is not recognised: it uses the pools of
/// its parent.
struct alignas(4096) process_page {
  registry_word<std::uint32_t> id{0};
};

constinit process_page own_process;

}  // namespace

/// The thread numbers in use and the live pools, guarded by one mutex. Never destroyed, because
/// threads and static pools may outlive every static object. Has the same visibility as
/// `thread_offset`; see there.
// NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): its destructor must stay trivial,
class [[LIDO_VISIBLE]] thread_registry {  // because this global is never destroyed
 public:
  constexpr thread_registry() noexcept = default;
  thread_registry(const thread_registry&) = delete;
  thread_registry& operator=(const thread_registry&) = delete;

  /// Assigns a number to the calling thread; see assign_thread_number.
  bool assign(bool waits) noexcept;
  void add(thread_exit_listener& listener) noexcept;
  void remove(thread_exit_listener& listener) noexcept;
  [[nodiscard]] bool note(thread_use& use, thread_exit_listener& listener) noexcept;

  /// Registers the fork handlers once. If the system has refused, the next call tries again.
  void watch_forks() noexcept;

  /// Joins the other copies of the library. Threads get no numbers before this call.
  void join_copies() noexcept { source_.join(); }

  [[nodiscard]] std::uint32_t lowest() const noexcept {
    // relaxed: written before the first number is assigned, and never again
    return lowest_.load(std::memory_order_relaxed) + 1;
  }
  [[nodiscard]] std::uint32_t highest() const noexcept { return source_.highest(); }

  /// Returns false if this process was created, by means other than fork, from a process that has
  /// pools.
  // relaxed (whole function): in one process only one value is ever stored
  [[nodiscard]] bool is_of_this_process() noexcept {
    const std::uint32_t process = process_.load(std::memory_order_relaxed);
    return process == 0 ||
           (was_asked_.load(std::memory_order_relaxed) &&
            own_process.id.load(std::memory_order_relaxed) == process) ||
           is_made_here(process);
  }

 private:
  [[nodiscard]] bool is_made_here(std::uint32_t process) noexcept;
  [[nodiscard]] std::unique_lock<thread_registry_mutex> lock_unless_forking() noexcept;
  bool prepare() noexcept;
  void leave(std::uint32_t number) noexcept;
  static void erase(thread_use& use) noexcept;

  template <class T>
  static void insert(T*& first, T& one) noexcept {
    one.next_ = first;
    one.link_ = &first;
    if (first != nullptr) {
      first->link_ = &one.next_;
    }
    first = &one;
  }
  template <class T>
  static void unlink(const T& one) noexcept {
    *one.link_ = one.next_;
    if (one.next_ != nullptr) {
      one.next_->link_ = one.link_;
    }
  }

  /// Returns the thread number that belongs to `uses`, the address of an element of `uses_`. The
  /// exit hook of each thread is armed with such an address.
  [[nodiscard]] std::uint32_t number_of(void* uses) const noexcept {
    return static_cast<std::uint32_t>(static_cast<thread_use**>(uses) - uses_.data());
  }

  void before_fork() noexcept;
  void after_fork() noexcept;
  void after_fork_in_child() noexcept;

  /// Returns the lowest free number of this copy, or 0 if there is none.
  [[nodiscard]] std::uint32_t lowest_free() const noexcept {
    for (std::uint32_t word = 0; word < free_.size(); ++word) {
      if (free_[word] != 0) {
        return word * word_bits + static_cast<std::uint32_t>(std::countr_zero(free_[word])) + 1;
      }
    }
    return 0;
  }
  void set_used(std::uint32_t number, bool is_used) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (number - 1) % word_bits;
    std::uint64_t& word = free_[(number - 1) / word_bits];
    word = is_used ? word & ~bit : word | bit;
  }
  [[nodiscard]] bool add_range() noexcept;
  void set_free(std::uint32_t range) noexcept;

  static constexpr std::uint32_t word_bits = 64;

  thread_registry_mutex mutex_;
  thread_exit_listener* first_ = nullptr;
  number_source source_;
  std::array<bool, number_ranges_count> ranges_{};  ///< true: taken by this copy of Lido
  registry_word<std::uint32_t> lowest_{0};          ///< one less than the first number of this copy
  std::array<std::uint64_t, (max_thread_number + word_bits - 1) / word_bits> free_{};
  std::array<thread_use*, max_thread_number + 1> uses_{};  ///< first use in each number's list
  registry_word<bool> full_{false};
  thread_exit_hook exit_hook_;
  bool has_fork_handlers_ = false;
  registry_word<std::uint32_t> process_{0};
  registry_word<bool> was_asked_{false};  ///< is_made_here has asked the system
};

constinit thread_registry thread_numbers;

bool thread_registry::assign(bool waits) noexcept {
  // relaxed: a number that is just being given back is found by the next call
  if (!waits && (thread_is_forking || full_.load(std::memory_order_relaxed))) {
    // Returns without locking the mutex, for which all threads without a number would contend.
    return false;
  }
  const bool is_joined = source_.is_joined();  // read first, to notice a join during the search
  const std::unique_lock lock =
      waits ? lock_unless_forking() : std::unique_lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return false;
  }
  if (!prepare()) {
    return false;
  }
  if (void* const uses = exit_hook_.armed(); uses != nullptr) {
    // The thread already has a number. `thread_offset` was reset when the thread began to end.
    thread_offset = number_of(uses) * thread_stride;
    return true;
  }
  if (lowest_free() == 0 && !add_range()) {
    // relaxed: written under the mutex
    full_.store(is_joined, std::memory_order_relaxed);
    return false;
  }
  const std::uint32_t number = lowest_free();
  if (!exit_hook_.arm(&uses_[number])) {
    return false;
  }
  set_used(number, /*is_used=*/true);
  thread_offset = number * thread_stride;
  return true;
}

/// Takes a range of numbers that no other copy of the library has. The range is never given back.
/// Returns false if no range is left.
bool thread_registry::add_range() noexcept {
  const std::optional<std::uint32_t> range = source_.take();
  if (!range.has_value()) {
    return false;
  }
  if (std::find(ranges_.begin(), ranges_.end(), true) == ranges_.end()) {
    // relaxed: see lowest. Ranges that are taken later are higher
    lowest_.store(*range * numbers_in_range, std::memory_order_relaxed);
  }
  ranges_[*range] = true;
  set_free(*range);
  return true;
}

void thread_registry::set_free(std::uint32_t range) noexcept {
  const std::uint32_t end = (std::min)((range + 1) * numbers_in_range, max_thread_number);
  for (std::uint32_t before = range * numbers_in_range; before < end; ++before) {
    set_used(before + 1, /*is_used=*/false);
  }
}

void thread_registry::add(thread_exit_listener& listener) noexcept {
  const std::unique_lock lock = lock_unless_forking();
  (void)prepare();
  insert(first_, listener);
}

void thread_registry::remove(thread_exit_listener& listener) noexcept {
  const std::unique_lock lock = lock_unless_forking();
  listener.visit_uses(erase);
  unlink(listener);
}

bool thread_registry::note(thread_use& use, thread_exit_listener& listener) noexcept {
  if (use.listener_ != nullptr) {
    // No lock is needed: `listener_` changes only in this thread, or when the listener is removed.
    return true;
  }
  if (thread_is_forking) {
    return false;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    return false;
  }
  use.listener_ = &listener;
  insert(uses_[own_thread_offset() / thread_stride], use);
  return true;
}

void thread_registry::erase(thread_use& use) noexcept {
  if (use.listener_ != nullptr) {
    unlink(use);
    use = thread_use();
  }
}

std::unique_lock<thread_registry_mutex> thread_registry::lock_unless_forking() noexcept {
  if (thread_is_forking) {
    return {};
  }
  require_own_process();
  return std::unique_lock(mutex_);
}

/// Asks the system whether `process` is the id of this process. From the second call on, stores the
/// answer in a page that copies of the process do not inherit. Programs with one pool do not need
/// that page.
// relaxed (whole function): in one process only one value is ever stored
bool thread_registry::is_made_here(std::uint32_t process) noexcept {
  if (process != platform::process_id()) {
    return false;
  }
  if (was_asked_.load(std::memory_order_relaxed) &&
      platform::clear_in_copies(&own_process, sizeof(own_process))) {
    own_process.id.store(process, std::memory_order_relaxed);
  }
  was_asked_.store(true, std::memory_order_relaxed);
  return true;
}

/// Requests from the system what the registry needs, once. If the system has refused, the next call
/// tries again. Returns true if threads can get numbers.
bool thread_registry::prepare() noexcept {
  // The argument of the hook identifies the thread. The thread's own variables cannot do so: if the
  // compiler emulates thread-local variables, they may no longer exist by then.
  const bool has_hook =
      exit_hook_.prepare([](void* uses) { thread_numbers.leave(thread_numbers.number_of(uses)); });
  // relaxed: see is_of_this_process
  if (!has_fork_handlers_ || process_.load(std::memory_order_relaxed) == 0) {
    watch_forks();
    // relaxed: as above
    process_.store(platform::process_id(), std::memory_order_relaxed);
  }
  return has_hook;
}

void thread_registry::watch_forks() noexcept {
  if (!has_fork_handlers_) {
    has_fork_handlers_ =
        platform::on_fork([] { thread_numbers.before_fork(); }, [] { thread_numbers.after_fork(); },
                          [] { thread_numbers.after_fork_in_child(); });
  }
}

/// Runs when the library is loaded. Fork therefore locks this mutex after the mutexes that fork
/// handlers of the user lock. A thread that constructs a pool while it holds a mutex of the user
/// locks the two in the same order. Runs after `lock_registry_for_forks`, since a thread that holds
/// this mutex may lock the mutex of the registry of checked pools.
///
/// Searches for other copies here and not later. The search needs the loader's mutex, which the
/// loader holds during this call. Code that runs under that mutex may use pools, and so lock the
/// mutex of this registry.
LIDO_RUN_AT_LOAD(1002, begin_with_the_process);
void begin_with_the_process() noexcept {
  thread_numbers.join_copies();
  thread_numbers.watch_forks();
}

void thread_registry::leave(std::uint32_t number) noexcept {
  mark_thread_ending();
  thread_offset = no_thread_offset;
  const std::lock_guard lock(mutex_);
  while (thread_use* const use = uses_[number]) {
    thread_exit_listener* const listener = use->listener_;
    erase(*use);
    listener->on_thread_exit(number);
  }
  set_used(number, /*is_used=*/false);
  // relaxed: written under the mutex
  full_.store(false, std::memory_order_relaxed);
}

/// Locks the mutex before the fork. If another thread held the mutex during the fork, the child
/// would inherit a locked mutex, but not the thread that unlocks it.
void thread_registry::before_fork() noexcept {
  mutex_.lock();
  thread_is_forking = true;
}

void thread_registry::after_fork() noexcept {
  thread_is_forking = false;
  mutex_.unlock();
}

void thread_registry::after_fork_in_child() noexcept {
  // relaxed: there is only one thread
  if (process_.load(std::memory_order_relaxed) != 0) {
    // relaxed: as above
    process_.store(platform::process_id(), std::memory_order_relaxed);
  }
  const auto survivor = static_cast<std::uint32_t>(own_thread_offset() / thread_stride);
  for (std::uint32_t number = 1; number <= max_thread_number; ++number) {
    while (number != survivor && uses_[number] != nullptr) {
      erase(*uses_[number]);
    }
  }
  for (thread_exit_listener* listener = first_; listener != nullptr; listener = listener->next_) {
    listener->on_fork(survivor);
  }
  for (std::uint32_t range = 0; range < number_ranges_count; ++range) {
    if (ranges_[range]) {
      set_free(range);
    }
  }
  if (survivor != 0) {
    set_used(survivor, /*is_used=*/true);
  }
  // relaxed: there is only one thread
  full_.store(false, std::memory_order_relaxed);
  after_fork();
}

void require_own_process() noexcept {
  if (!thread_numbers.is_of_this_process()) {
    (void)std::fputs(
        "lido: this process was made by clone, vfork or _Fork from one that has pools. "
        "These run no fork handlers, so pools cannot be used here. Use fork.\n",
        stderr);
    std::abort();
  }
}

void end_for_foreign_pool(const pool_origin& pool) noexcept {
  (void)std::fprintf(stderr,
                     "lido: pool '%.*s' was made by another copy of Lido: link a shared one\n",
                     static_cast<int>(pool.name_size), pool.name);
  std::abort();
}

#if LIDO_IS_DLL
std::size_t& thread_offset_of_this_thread() noexcept {
  return thread_offset;
}
#endif

bool assign_thread_number(bool waits) noexcept {
  return own_thread_offset() != 0 || (!thread_is_ending() && thread_numbers.assign(waits));
}

std::uint32_t lowest_thread_number() noexcept {
  return thread_numbers.lowest();
}

std::uint32_t highest_thread_number() noexcept {
  return thread_numbers.highest();
}

void thread_exit_listener::register_listener() noexcept {
  thread_numbers.add(*this);
}

void thread_exit_listener::unregister_listener() noexcept {
  thread_numbers.remove(*this);
}

bool thread_exit_listener::try_note_use(thread_use& use) noexcept {
  return thread_numbers.note(use, *this);
}

}  // namespace lido::inline v0::detail
