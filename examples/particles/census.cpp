#include "census.hpp"

#include <fmt/format.h>
#include <tbb/parallel_sort.h>

namespace particles {

void census::compare(ledger& books, std::size_t pool_says) {
  std::vector<answer> all = collect();
  check_identities(all, books.found_wrong());
  check_numbers(all, books);
  check_sums(books.totals(), pool_says, books.found_wrong());
}

std::vector<census::answer> census::collect() {
  std::vector<answer> all;
  for (std::vector<answer>& some : answers_) {
    all.insert(all.end(), some.begin(), some.end());
    some.clear();
  }
  return all;
}

void census::check_identities(std::vector<answer>& all, complaints& found) {
  tbb::parallel_sort(all.begin(), all.end(), [](const answer& a, const answer& b) {
    return a.identity < b.identity || (a.identity == b.identity && a.number < b.number);
  });
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].identity == all[i - 1].identity) {
      found.add(fmt::format("particles {} and {} have one place: {:#x}", all[i - 1].number,
                            all[i].number, all[i].identity));
    }
  }
}

void census::check_numbers(const std::vector<answer>& all, ledger& books) {
  std::vector<bool> seen(books.most_births());
  for (const answer& one : all) {
    if (!books.is_alive(one.number)) {
      books.found_wrong().add(
          fmt::format("particle {} is a ghost: it is not alive in the books", one.number));
    } else if (seen[one.number]) {
      books.found_wrong().add(fmt::format("particle {} is there twice", one.number));
    } else {
      seen[one.number] = true;
    }
  }
  for (std::size_t number = 0; number < seen.size(); ++number) {
    if (!seen[number] && books.is_alive(number)) {
      books.found_wrong().add(fmt::format("particle {} is lost", number));
    }
  }
}

void census::check_sums(const tally& sums, std::size_t pool_says, complaints& found) {
  if (sums.asked != sums.born + sums.refused) {
    found.add(fmt::format("{} places were asked for, {} given and {} refused", sums.asked,
                          sums.born, sums.refused));
  }
  if (pool_says != sums.alive()) {
    found.add(
        fmt::format("the pool says {} are in use, the books say {}", pool_says, sums.alive()));
  }
}

}  // namespace particles
