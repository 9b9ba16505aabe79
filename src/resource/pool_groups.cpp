// Finds, adds and removes groups.
#include "lido/resource/pool_groups.hpp"

#include <utility>

#include "kernel_shell.hpp"

namespace lido::inline v0::detail {

slot_grant pool_groups::take_lowest(const sought_key* key) const {
  if (key == nullptr) {
    return main_->take_lowest();
  }
  return shell_.locked([key] {
    idle_cache* const known = key->find();
    return known != nullptr ? known->take_lowest() : slot_grant{};
  });
}

bool pool_groups::prepare_new(sought_key* key) const {
  if (key == nullptr || shell_.kernel().gate.may_know(key->hash())) {
    return false;
  }
  key->prepare();
  return true;
}

resource_generation pool_groups::generation(const sought_key* key) const {
  if (key == nullptr) {
    return {main_->epoch()};
  }
  return shell_.locked([key]() -> resource_generation {
    const idle_cache* const known = key->find();
    return {known != nullptr ? known->epoch() : 0};
  });
}

slot_group* pool_groups::find(const sought_key* key) const {
  const idle_cache* const cache = key != nullptr ? key->find() : main_;
  return cache != nullptr ? cache->group() : nullptr;
}

slot_group* pool_groups::find_or_add(sought_key* key) {
  idle_cache* cache = main_;
  if (key != nullptr) {
    cache = key->is_prepared() ? &key->add(*this) : key->find();
  }
  return cache != nullptr ? cache->group() : nullptr;
}

void pool_groups::add_main(std::shared_ptr<factory_hooks> hooks) {
  const group_limits limits = limits_of(settings_, settings_.max_size, settings_.min_idle);
  main_ = &shell_.kernel().add_group(std::move(hooks), limits, 0, {}).cache;
}

idle_cache& pool_groups::add(std::shared_ptr<factory_hooks> hooks, const known_key& key,
                             std::string text) {
  pool_kernel& kernel = shell_.kernel();
  const group_limits limits = limits_of(settings_, settings_.max_size, settings_.min_idle);
  idle_cache& added = kernel.add_group(std::move(hooks), limits, key.hash, std::move(text)).cache;
  added.set_key(key);
  kernel.gate.count_key(key.hash, /*comes=*/true);
  return added;
}

void pool_groups::remove_unused() noexcept {
  shell_.kernel().groups().for_each([this](slot_group& group) { remove_if_unused(group); });
}

void pool_groups::remove_if_unused(const sought_key& key) {
  shell_.locked([&] {
    if (const idle_cache* const known = key.find()) {
      remove_if_unused(*known->group());
    }
  });
}

/// Removes nothing while a thread may still read a group. In that case, a later call removes the
/// group.
void pool_groups::remove_if_unused(slot_group& group) noexcept {
  pool_kernel& kernel = shell_.kernel();
  if (kernel.can_remove(group) && kernel.gate.is_quiet() && keys_->forget(group.cache)) {
    kernel.gate.count_key(group.name.hash, /*comes=*/false);
    kernel.remove_group(group);
  }
}

}  // namespace lido::inline v0::detail
