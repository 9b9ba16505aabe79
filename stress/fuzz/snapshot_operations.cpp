// Fuzz target: snapshots of slot maps from a damaged or hostile file. An oracle decides which are
// valid. A map that loads one has exactly its values under exactly its handles; one that refuses it
// is unchanged. Both then behave as a model does. No value leaks.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "fuzz/byte_reader.hpp"
#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "lido/slot_map.hpp"
#include "support/few_generations.hpp"

namespace {

constexpr std::uint32_t last = 3;  // so that slots soon run out of generations
constexpr std::uint32_t none = 0xFFFF'FFFF;
constexpr std::uint64_t unused = 1ULL << 63U;
/// A value that counts its live copies, which shows one that a map forgets to destroy.
struct counted {
  explicit counted(int with = 0) noexcept : number(with) { ++live; }
  counted(const counted& other) noexcept : number(other.number) { ++live; }
  counted& operator=(const counted&) noexcept = default;
  ~counted() { --live; }

  int number;
  static inline std::size_t live = 0;
};
using map_type = lido::slot_map<counted, lido::test::few_generations<last>>;
using handle = map_type::handle_type;

struct image {
  std::uint32_t format = lido::slot_map_format;
  std::vector<counted> values;
  std::vector<std::uint64_t> table;
  std::uint32_t first_free = none;
  std::uint32_t first_generation = 1;

  explicit image(const lido::slot_map_snapshot<counted>& from)
      : format(from.format),
        values(from.values.begin(), from.values.end()),
        table(from.table.begin(), from.table.end()),
        first_free(from.first_free),
        first_generation(from.first_generation) {}
  [[nodiscard]] lido::slot_map_snapshot<counted> view() const {
    return {format, values, table, first_free, first_generation};
  }
};

/// Model of a map that has loaded an image.
struct model {
  std::map<std::uint64_t, int> values;  ///< by handle
  std::vector<std::uint64_t> next;      ///< handles of the next inserts
  std::size_t slots = 0;
  std::size_t used_up = 0;
  std::size_t reserved = 0;
  std::uint32_t first_generation = 1;
  std::set<std::uint64_t> gone;  ///< handles given out whose values are gone
};

/// Returns nothing if `from` is no image of a map.
std::optional<model> read(const image& from) {
  model all;
  all.slots = from.table.size();
  all.first_generation = from.first_generation;
  if (from.format != lido::slot_map_format || from.first_generation < 1 ||
      from.first_generation > last + 1) {
    return {};
  }
  std::vector<char> taken(from.values.size());
  std::map<std::uint32_t, std::uint64_t> free;  // the next free slot and the handle, by slot
  for (std::uint32_t slot = 0; slot < from.table.size(); ++slot) {
    const std::uint64_t word = from.table[slot];
    const auto generation = static_cast<std::uint32_t>((word & ~unused) >> 32U);
    const auto low = static_cast<std::uint32_t>(word);
    const std::uint64_t bits = std::uint64_t{generation} << 32U | slot;
    if (word >> 32U == none) {
      ++all.used_up;
    } else if (generation < 1 || generation > last) {
      return {};
    } else if ((word & unused) != 0) {
      free[slot] = bits;
    } else if (const std::uint32_t index = low ^ slot; index == none) {
      ++all.reserved;
    } else if (index < taken.size() && std::exchange(taken[index], 1) == 0) {
      all.values[bits] = from.values[index].number;
    } else {
      return {};
    }
  }
  for (std::uint32_t slot = from.first_free; slot != none;
       slot = static_cast<std::uint32_t>(from.table[slot])) {
    if (!free.contains(slot)) {
      return {};  // no free slot, or one that occurs twice
    }
    all.next.push_back(free[slot]);
    free.erase(slot);
  }
  const bool is_whole = std::find(taken.begin(), taken.end(), 0) == taken.end();
  return is_whole && free.empty() ? std::optional(all) : std::nullopt;
}

/// Checks the map. `exactly`: also how many slots are used up. A hole of one counts only once
/// closed.
void expect(map_type& map, const model& wanted, bool exactly) {
  fuzz::check(
      map.size() == wanted.values.size() && (!exactly || map.used_up_slots() == wanted.used_up),
      "a map counts other values or slots than its snapshot");
  for (std::uint32_t slot = 0; slot < wanted.slots + 2; ++slot) {
    for (std::uint32_t generation = 0; generation <= last + 1; ++generation) {
      const std::uint64_t bits = std::uint64_t{generation} << 32U | slot;
      const counted* const found = map.find(handle::from_bits(bits));
      const auto known = wanted.values.find(bits);
      fuzz::check((found != nullptr) == (known != wanted.values.end()) &&
                      (found == nullptr || found->number == known->second),
                  "a handle leads elsewhere than its snapshot says");
    }
  }
}

/// Checks the handle of an insert. Where holes are closed at once, handles come in the snapshot's
/// order, then those of erased slots. Elsewhere the order is free, since other inserts fill holes
/// first, but an old handle never returns.
void note_insert(model& all, std::uint64_t made, bool in_order) {
  const std::size_t slot = made & none;
  if (in_order && all.next.empty()) {
    all.next.push_back(std::uint64_t{all.first_generation} << 32U | all.slots);
  }
  fuzz::check(!in_order || made == all.next.front(),
              "an insert gave another handle than the next one");
  fuzz::check(made != 0 && !all.values.contains(made) && all.gone.insert(made).second,
              "an insert gave an old handle");
  if (in_order) {
    all.next.erase(all.next.begin());
  }
  all.slots = std::max(all.slots, slot + 1);
}

void note_erase(model& all, std::uint64_t erased) {
  const std::uint64_t after = erased + (std::uint64_t{1} << 32U);
  if (after >> 32U > last) {
    ++all.used_up;
  } else {
    all.next.insert(all.next.begin(), after);
  }
  all.values.erase(erased);
}

/// Inserts a value. Returns nothing if there is no free slot, and new ones have no generation left.
std::optional<std::uint64_t> insert(map_type& map, int number) {
  try {
    return map.try_emplace(number).to_bits();
  } catch (const std::length_error&) {
    return {};
  }
}

void go_on(map_type& map, model all, bool in_order, fuzz::byte_reader& input) {
  for (const auto& [bits, number] : all.values) {
    all.gone.insert(bits);
  }
  for (int number = 1000; input.more(); ++number) {
    if (const std::size_t step = input.below(12); step < 8 || all.values.empty()) {
      const bool is_full = map.size() + all.reserved == map.max_size();
      const std::optional<std::uint64_t> inserted = insert(map, number);
      fuzz::check(inserted.has_value() || all.first_generation > last, "an insert found no slot");
      const std::uint64_t made = inserted.value_or(0);
      fuzz::check(!inserted.has_value() || (made == 0) == is_full,
                  "an insert was refused, or a full map took one");
      if (made != 0) {
        note_insert(all, made, in_order);
        all.values[made] = number;
      }
    } else if (step == 8) {
      map.compact();
    } else {
      const auto which = std::next(all.values.begin(),
                                   static_cast<std::ptrdiff_t>(input.below(all.values.size())));
      const std::uint64_t erased = which->first;
      fuzz::check(map.erase(handle::from_bits(erased)), "a value is gone");
      note_erase(all, erased);
    }
    expect(map, all, in_order);
  }
}

/// Returns a valid image of a map in which some bytes were changed.
image damaged(fuzz::byte_reader& input) {
  map_type map({.compaction = lido::compaction_mode::immediate});
  std::vector<handle> all;
  for (std::size_t steps = input.below(48); steps != 0; --steps) {
    if (input.below(3) != 0 || all.empty()) {
      all.push_back(map.emplace(static_cast<int>(steps)));
    } else {
      const std::size_t which = input.below(all.size());
      map.erase(all[which]);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  image made(map.snapshot());
  for (std::size_t changes = input.below(8); changes != 0; --changes) {
    const std::size_t value = input.below(20);
    const auto number = static_cast<std::uint32_t>(value < 18 ? value : none - (value - 18));
    const std::size_t what = input.below(9);
    const std::size_t slot = made.table.empty() ? 0 : input.below(made.table.size());
    if (what == 0) {
      made.first_free = number;
    } else if (what == 1 && value == 19) {
      made.format ^= 1U << slot % 32;
    } else if (what == 1) {
      made.first_generation = number;
    } else if (what == 2) {
      made.values.resize(value);
    } else if (what == 3) {
      made.table.resize(value, unused | std::uint64_t{1} << 32U | number);
    } else if (made.table.empty()) {
      continue;
    } else if (what == 4) {
      made.table[slot] ^= unused;
    } else if (what == 5) {
      made.table[slot] = (made.table[slot] >> 32U << 32U) | number;
    } else if (what == 6) {
      made.table[slot] =
          std::uint64_t{number} << 32U | static_cast<std::uint32_t>(made.table[slot]);
    } else if (what == 7) {
      for (std::size_t byte = 0; byte != sizeof(std::uint64_t); ++byte) {
        made.table[slot] = made.table[slot] << 8U | input.byte();
      }
    } else {
      std::swap(made.table[slot], made.table[input.below(made.table.size())]);
    }
  }
  return made;
}

void restore_hostile(fuzz::byte_reader& input) {
  const auto mode = static_cast<lido::compaction_mode>(input.below(3));
  const image hostile = damaged(input);
  const std::size_t most = input.below(4) != 0 ? lido::unlimited : 5 + input.below(16);
  map_type map({.max_size = most, .compaction = mode});
  for (int i = 0; i < 5; ++i) {
    (void)map.emplace(-i);
  }
  map.erase(map.handle_of(*map.begin()));
  const model before = *read(image(map.snapshot()));
  std::optional<model> wanted = read(hostile);
  if (wanted.has_value() && wanted->values.size() + wanted->reserved > most) {
    wanted.reset();
  }
  bool is_taken = true;
  try {
    map.restore(hostile.view());
  } catch (const std::invalid_argument&) {
    is_taken = false;
  }
  fuzz::check(is_taken == wanted.has_value(),
              is_taken ? "a snapshot that is none was restored" : "a snapshot was refused");
  const model& now = is_taken ? *wanted : before;
  expect(map, now, /*exactly=*/true);
  go_on(map, now, mode == lido::compaction_mode::immediate, input);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::byte_reader input(std::span(data, size));
  restore_hostile(input);
  fuzz::check(counted::live == 0, "a value was never ended");
  return 0;
}
