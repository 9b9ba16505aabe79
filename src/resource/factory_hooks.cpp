// Calls the virtual hooks of a factory.
#include "lido/resource/factory_hooks.hpp"

#include "create_outcome.hpp"

namespace lido::inline v0::detail {

namespace {

/// Returns the text of the caught exception, or an empty string if there is no memory for it. Sets
/// `permanent` if the exception is a permanent_failure.
std::string text_of_caught([[maybe_unused]] bool& permanent) noexcept {
#if defined(__cpp_exceptions)
  try {
    try {
      throw;
    } catch (const permanent_failure& known) {
      permanent = true;
      return known.what();
    } catch (const std::exception& known) {
      return known.what() != nullptr ? known.what() : "";
    } catch (...) {
      return "an exception of unknown type";
    }
  } catch (const std::bad_alloc&) {
  }
#endif
  return {};
}

}  // namespace

create_outcome factory_hooks::create(pool_slot& slot, const create_context& context) noexcept {
  create_outcome out;
  create_failure_text why;
  const auto make = [&] {
    create_error error;
    out.made = do_create(slot, context, error);
    out.permanent = error.permanent;
    why.text = std::move(error.text);
  };
  attempt(make, [&] { why = {std::current_exception(), text_of_caught(out.permanent)}; });
  const auto explain = [&] {
    out.error = out.made ? nullptr : std::make_shared<const create_failure_text>(std::move(why));
  };
  attempt(explain, [] {});  // the failure counts even without a text
  return out;
}

bool factory_hooks::check(pool_slot& slot, const create_context* context,
                          std::string& text) noexcept {
  return attempt([&] { return context != nullptr ? do_validate(slot, *context) : do_reset(slot); },
                 [&] {
                   bool permanent = false;
                   text = text_of_caught(permanent);
                   return false;
                 });
}

void factory_hooks::destroy(pool_slot& slot, destroy_reason reason) noexcept {
  do_destroy(slot, reason);
}

}  // namespace lido::inline v0::detail
