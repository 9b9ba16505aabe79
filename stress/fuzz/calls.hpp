/// @file
/// The calls of the pool that have begun and not ended.
#pragma once

namespace fuzz {

class calls {
 public:
  /// One call, for the lifetime of this object.
  class one {
   public:
    explicit one(calls& all) : all_(all), interruptions_(all.interruptions_) { ++all_.depth_; }
    one(const one&) = delete;
    one& operator=(const one&) = delete;
    ~one() { --all_.depth_; }

    /// Returns true if no other call is under way, and nothing has intervened.
    [[nodiscard]] bool alone() const {
      return all_.depth_ == 1 && interruptions_ == all_.interruptions_;
    }

   private:
    calls& all_;
    unsigned interruptions_;
  };

  [[nodiscard]] bool none() const { return depth_ == 0; }
  /// Notes that a call runs in the middle of another.
  void note_interruption() { ++interruptions_; }

 private:
  unsigned depth_ = 0;
  unsigned interruptions_ = 0;
};

}  // namespace fuzz
