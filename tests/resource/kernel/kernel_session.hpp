/// @file
/// Bytes encode a sequence of events for the kernel. A reference model judges the effects.
#pragma once

#include <span>
#include <string>

#include "resource/kernel/kernel_driver.hpp"
#include "resource/kernel/kernel_model.hpp"

namespace lido::test {

class kernel_session final : public kernel_driver {
 public:
  /// Plays the events that the bytes encode. Returns the first problem, or an empty text.
  [[nodiscard]] static std::string play(std::span<const std::uint8_t> bytes,
                                        std::string* log = nullptr);

 private:
  using bytes = std::span<const std::uint8_t>;

  kernel_session(const pool_setup& how, bytes rest, std::string* log);
  static std::uint32_t next(bytes& rest, std::uint32_t below);
  [[nodiscard]] static pool_setup setup_of(bytes& rest);
  std::uint32_t next(std::uint32_t below) { return next(rest_, below); }

  void problem(const std::string& what) override;
  void before_return(const client& one) override;
  void after(const happenings& all) override;
  void note(const std::string& event);

  void step();
  void step_of_client(client& one);
  void acquire_somehow(client& one);
  void use(client& one);
  void finish_task();
  void control();
  void change_limits();
  void end_create(std::uint32_t slot, char name, bool made);

  bytes rest_;
  std::string* log_;
  std::string problem_;
  kernel_model model_;
};

}  // namespace lido::test
