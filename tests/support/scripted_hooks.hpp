/// @file
/// Hooks that record their calls, and fail on request.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/tracked.hpp"

namespace lido::test {

/// For single-threaded tests; `kept_test` resets the script before each test.
struct scripted_hooks {
  struct script {
    std::string log;  ///< one letter per call: c, a, d, x for create, activate, deactivate, destroy
    int last_argument = 0;
    int throw_in_create = 0;      ///< number of the failing call from now; 0: none
    int throw_in_activate = 0;    ///< as above
    int throw_in_deactivate = 0;  ///< as above
    bool refuse = false;          ///< result of the next deactivation
  };

  static script& state() {
    static script state;
    return state;
  }

  // NOLINTBEGIN(readability-convert-member-functions-to-static): hooks of either kind are called
  tracked create() {
    state().log += 'c';
    if (state().throw_in_create > 0 && --state().throw_in_create == 0) {
      throw refused();
    }
    return tracked(7);
  }
  void activate(tracked& /*object*/) { note_activation(); }
  void activate(tracked& /*object*/, int argument) {
    note_activation();
    state().last_argument = argument;
  }
  // NOLINTEND(readability-convert-member-functions-to-static)
  static bool deactivate(tracked& /*object*/) {
    state().log += 'd';
    if (state().throw_in_deactivate > 0 && --state().throw_in_deactivate == 0) {
      throw refused();
    }
    return !state().refuse;
  }
  static void destroy(tracked& object) noexcept { state().log += object.value() == 7 ? 'x' : '?'; }

 private:
  static void note_activation() {
    state().log += 'a';
    if (state().throw_in_activate > 0 && --state().throw_in_activate == 0) {
      throw refused();
    }
  }
};

class kept_test : public ::testing::Test {
 protected:
  void SetUp() override {
    tracked::counts() = {};
    script() = {};
  }
  void TearDown() override { EXPECT_EQ(tracked::counts().live(), 0); }

  static scripted_hooks::script& script() { return scripted_hooks::state(); }
};

}  // namespace lido::test
