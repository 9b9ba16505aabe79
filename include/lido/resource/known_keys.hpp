/// @file
/// Internal. The table of a pool whose keys are of type Key, and look-ups in that table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "lido/base/fail.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/resource/key_table.hpp"
#include "lido/resource/pool_groups.hpp"

namespace lido::inline v0::detail {

/// Returns the text of a key, or an empty string if a Key has no text or is a pointer. Throws
/// whatever converting the key to text throws.
template <class Key>
[[nodiscard]] std::string text_of_key(const Key& key) {
  if constexpr (requires { std::string(to_string(key)); }) {
    return std::string(to_string(key));
  } else if constexpr (!std::is_pointer_v<Key> &&
                       std::is_convertible_v<const Key&, std::string_view>) {
    const std::string_view text = key;
    return std::string(text);
  } else if constexpr (std::is_arithmetic_v<Key> && requires { std::to_string(key); }) {
    return std::to_string(key);
  } else {
    return {};
  }
}

/// The keys of a pool and their groups. Each look-up hashes its key once, without the mutex.
template <class Key, class Hash>
class known_keys final : public key_table {
  struct entry : known_key {
    template <class K>
    // NOLINTNEXTLINE(modernize-pass-by-value): K may be another type
    entry(const K& key, std::uint64_t hashed) : known_key{hashed}, value(key) {}
    Key value;
  };

 public:
  /// The type of a function that makes the hooks of a key.
  using hooks_maker = std::function<std::shared_ptr<factory_hooks>(const Key&)>;

  explicit known_keys(hooks_maker make_hooks) : make_hooks_(std::move(make_hooks)) {}

  [[nodiscard]] bool forget(const idle_cache& group) noexcept override {
    return attempt(
        [&] {
          groups_.erase(groups_.find(static_cast<const entry&>(*group.key())));
          return true;
        },
        [] { return false; });
  }
  /// Returns the value of `key`.
  [[nodiscard]] static const Key& value_of(const known_key& key) noexcept {
    return static_cast<const entry&>(key).value;
  }

  /// A key to look up, or a value of another type that can be compared with keys.
  template <class K>
  class sought final : public sought_key {
   public:
    sought(known_keys& all, const K& key) : sought_key(Hash::hash(key)), all_(all), value_(key) {}

    [[nodiscard]] idle_cache* find() const override {
      const auto found = all_.groups_.find(named{value_, hash()});
      return found != all_.groups_.end() ? found->second : nullptr;
    }
    void prepare() override {
      entry_.emplace(value_, hash());
      text_ = text_of_key(entry_->value);
      hooks_ = all_.make_hooks_(entry_->value);
      this->set_prepared(/*on=*/true);
    }
    [[nodiscard]] idle_cache& add(pool_groups& groups) override {
      this->set_prepared(/*on=*/false);  // `entry_` is moved from below
      const auto [node, is_new] = all_.groups_.try_emplace(std::move(*entry_), nullptr);
      if (is_new) {
        scope_exit undo([&, added = node] { all_.groups_.erase(added); });
        node->second = &groups.add(std::move(hooks_), node->first, std::move(text_));
        undo.dismiss();
      }
      return *node->second;
    }

   private:
    struct named {
      const K& value;
      std::uint64_t hash;
    };

    known_keys& all_;
    const K& value_;
    std::string text_;
    std::shared_ptr<factory_hooks> hooks_;
    std::optional<entry> entry_;
  };

  /// A copy of a key, and the look-up that refers to the copy.
  struct owned {
    owned(known_keys& all, Key&& key) : value(std::move(key)), sought_value(all, value) {}
    Key value;
    sought<Key> sought_value;
  };

 private:
  /// Hashes and compares the entries of the map.
  struct by_key {
    using is_transparent = void;
    std::size_t operator()(const auto& key) const noexcept {
      return static_cast<std::size_t>(key.hash);
    }
    bool operator()(const auto& left, const auto& right) const {
      return left.hash == right.hash && Hash::equal(left.value, right.value);
    }
  };

  const hooks_maker make_hooks_;
  std::unordered_map<entry, idle_cache*, by_key, by_key> groups_;
};

}  // namespace lido::inline v0::detail
