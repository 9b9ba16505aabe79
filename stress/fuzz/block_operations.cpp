// Fuzz target: a block resource of up to three sizes, used by threads that take turns.
//
// The first bytes choose sizes, numbers of blocks and options, the rest are requests and returns. A
// model predicts where each request is served: by blocks of which size, by upstream, or not at all.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "fuzz/byte_reader.hpp"
#include "fuzz/check.hpp"
#include "fuzz/crew.hpp"
#include "fuzz/target.hpp"
#include "lido/block_resource.hpp"
#include "lido/concurrency/thread_number.hpp"

namespace {

/// Refuses large requests, and knows what has not come back.
class counting_upstream final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t most_bytes = 3000;

  [[nodiscard]] std::size_t out() const { return out_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes > most_bytes) {
      throw std::bad_alloc();
    }
    ++out_;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override {
    --out_;
    std::pmr::new_delete_resource()->deallocate(address, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::size_t out_ = 0;
};

/// A request that was served, and the byte that fills its memory.
struct served {
  std::byte* address;
  std::size_t bytes;
  std::size_t alignment;
  std::size_t source;  ///< number of the size, or that of upstream
  std::uint8_t stamp;
};

class block_session {
 public:
  block_session(fuzz::byte_reader& input, const lido::block_resource_options& options)
      : input_(input), options_(with(options, upstream_)), blocks_(options_) {
    for (std::size_t size = 0; size < blocks_.count_sizes(); ++size) {
      const lido::block_stats stats = blocks_.stats(size);
      sizes_.push_back({.bytes = stats.block_bytes, .blocks = stats.blocks.capacity});
    }
  }

  void play() {
    while (input_.more()) {
      const std::size_t member = input_.below(fuzz::crew::size);
      const std::size_t what = input_.below(8);
      if (what == 7 && member != 0) {
        crew_.end(member);
      } else if (what == 7) {
        release();
      } else {
        crew_.run_as(member, [&] { what < 5 ? request() : give_back(); });
      }
      compare();
    }
    while (!out_.empty()) {
      give_back();
    }
    compare();
  }

 private:
  static lido::block_resource_options with(lido::block_resource_options options,
                                           counting_upstream& upstream) {
    options.upstream = &upstream;
    return options;
  }

  [[nodiscard]] std::size_t upstream() const { return sizes_.size(); }
  [[nodiscard]] std::size_t refused() const { return sizes_.size() + 1; }
  [[nodiscard]] std::size_t used(std::size_t size) const {
    return static_cast<std::size_t>(std::count_if(
        out_.begin(), out_.end(), [size](const served& one) { return one.source == size; }));
  }

  /// Returns where the request will be served, and counts it.
  [[nodiscard]] std::size_t predict(std::size_t bytes, std::size_t alignment) {
    const bool can_be_upstream = bytes <= counting_upstream::most_bytes;
    std::size_t size = 0;
    while (size < sizes_.size() && sizes_[size].bytes < bytes) {
      ++size;
    }
    if (size == sizes_.size() || alignment > options_.alignment) {
      ++upstream_requests_;
      return can_be_upstream ? upstream() : refused();
    }
    const std::size_t last = options_.use_larger_blocks ? sizes_.size() : size + 1;
    for (std::size_t i = size; i < last; ++i) {
      if (used(i) < sizes_[i].blocks) {
        served_by_larger_[size] += i != size ? 1 : 0;
        return i;
      }
    }
    upstream_requests_ += options_.overflow_to_upstream ? 1 : 0;
    return options_.overflow_to_upstream && can_be_upstream ? upstream() : refused();
  }

  void request() {
    const std::size_t unit = input_.below(64);
    const std::size_t bytes = unit * (1 + input_.below(64));
    const std::size_t alignment = std::size_t{1} << input_.below(8);
    const bool throws = input_.below(2) == 1;
    const std::size_t source = predict(bytes, alignment);
    void* address = nullptr;
    try {
      address =
          throws ? blocks_.allocate(bytes, alignment) : blocks_.try_allocate(bytes, alignment);
      fuzz::check(address != nullptr || !throws, "allocate returned null");
    } catch (const lido::no_block&) {
      fuzz::check(throws, "try_allocate threw");
    }
    fuzz::check((address == nullptr) == (source == refused()), "a request was served or refused");
    if (address == nullptr) {
      return;
    }
    fuzz::check(std::bit_cast<std::uintptr_t>(address) % alignment == 0, "a wrong alignment");
    fuzz::check(blocks_.owns(address) == (source != upstream()), "a request from elsewhere");
    const std::uint8_t stamp = ++last_stamp_;
    std::memset(address, stamp, bytes);
    out_.push_back({static_cast<std::byte*>(address), bytes, alignment, source, stamp});
  }

  /// Returns a block that the input chooses. The size that is passed for a block may be wrong.
  void give_back() {
    if (out_.empty()) {
      return;
    }
    const std::size_t which = input_.below(out_.size());
    const served one = out_[which];
    out_.erase(out_.begin() + static_cast<std::ptrdiff_t>(which));
    const std::span<const std::byte> content(one.address, one.bytes);
    fuzz::check(std::all_of(content.begin(), content.end(),
                            [&one](std::byte byte) { return byte == std::byte{one.stamp}; }),
                "memory was written that somebody uses");
    const bool lies = one.source != upstream() && input_.below(4) == 3;
    blocks_.deallocate(one.address, lies ? input_.below(256) : one.bytes, one.alignment);
  }

  /// Makes all blocks free; upstream's memory stays in use.
  void release() {
    blocks_.release();
    const auto is_block = [this](const served& one) { return one.source != upstream(); };
    out_.erase(std::remove_if(out_.begin(), out_.end(), is_block), out_.end());
  }

  void compare() {
    for (std::size_t size = 0; size < sizes_.size(); ++size) {
      const lido::block_stats stats = blocks_.stats(size);
      fuzz::check(stats.blocks.in_use == used(size), "a wrong number of blocks in use");
      fuzz::check(stats.served_by_larger == served_by_larger_[size], "a wrong served_by_larger");
    }
    fuzz::check(upstream_.out() == used(upstream()), "upstream's memory is lost");
    fuzz::check(blocks_.upstream_requests() == upstream_requests_, "a wrong upstream_requests");
  }

  fuzz::byte_reader& input_;
  counting_upstream upstream_;
  const lido::block_resource_options options_;
  lido::block_resource blocks_;
  std::vector<lido::block_size> sizes_;
  std::vector<served> out_;
  std::array<std::uint64_t, 3> served_by_larger_{};
  std::uint64_t upstream_requests_ = 0;
  std::uint8_t last_stamp_ = 0;
  fuzz::crew crew_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Always number 1 for this thread, so that the other numbers are the same in every run.
  (void)lido::detail::assign_thread_number();
  fuzz::byte_reader input(std::span(data, size));
  lido::block_resource_options options{.alignment = std::size_t{1} << input.below(7)};
  const std::size_t count = 1 + input.below(3);
  for (std::size_t bytes = 0; options.sizes.size() < count;) {
    bytes += 1 + (options.alignment > 8 ? options.alignment : 8) + input.byte() * 8;
    options.sizes.push_back({.bytes = bytes, .blocks = 1 + input.below(40)});
  }
  const std::size_t flags = input.below(8);
  options.use_larger_blocks = flags % 2 != 0;
  options.overflow_to_upstream = flags / 2 % 2 != 0;
  options.checked = flags / 4 != 0;
  block_session(input, options).play();
  return 0;
}
