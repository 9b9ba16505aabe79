// A factory behind virtual calls.
#include "lido/resource/hooks.hpp"

#include <mutex>

#include "../concurrency/uncancelled.hpp"
#include "lido/resource/acquire_error.hpp"

namespace lido::detail {

create_outcome factory_hooks::create(pool_slot& slot, const create_context& context) noexcept {
  const uncancelled guard;
  create_outcome out;
  try {
    std::optional<create_error> error = do_create(slot, context);
    out.made = !error;
    if (error) {
      out.permanent = error->permanent;
      out.error = std::make_shared<const create_failure_text>(
          create_failure_text{nullptr, std::move(error->text)});
    }
  } catch (const permanent_failure&) {
    out.permanent = true;
    out.error = failure_of(std::current_exception());
  } catch (...) {
    out.error = failure_of(std::current_exception());
  }
  return out;
}

bool factory_hooks::validate(pool_slot& slot, const create_context& context,
                             std::string& text) noexcept {
  const uncancelled guard;
  try {
    return do_validate(slot, context);
  } catch (...) {
    text = text_of(std::current_exception());
    return false;
  }
}

bool factory_hooks::reset(pool_slot& slot, std::string& text) noexcept {
  const uncancelled guard;
  try {
    return do_reset(slot);
  } catch (...) {
    text = text_of(std::current_exception());
    return false;
  }
}

void factory_hooks::destroy(pool_slot& slot, destroy_reason reason) noexcept {
  const uncancelled guard;
  do_destroy(slot, reason);
}

std::shared_ptr<const create_failure_text> factory_hooks::failure_of(
    const std::exception_ptr& error) noexcept {
  try {
    return std::make_shared<const create_failure_text>(create_failure_text{error, text_of(error)});
  } catch (...) {  // the failure counts, though nothing can be said of it
    return nullptr;
  }
}

std::stop_token factory_hooks::stop_token() const noexcept {
  const std::lock_guard guard(stop_mutex_);
  return stop_.get_token();
}

/// Users may have callbacks there, which run without the mutex.
void factory_hooks::request_stop() const noexcept {
  std::unique_lock guard(stop_mutex_);
  std::stop_source kept = stop_;
  guard.unlock();
  (void)kept.request_stop();
}

void factory_hooks::swap_stop(std::stop_source& other) noexcept {
  const std::lock_guard guard(stop_mutex_);
  stop_.swap(other);
}

}  // namespace lido::detail
