/// @file
/// Real servers on loopback, started and ended by the tests that need them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace servers {

/// A new folder below the system's for temporary files, that goes with everything in it. Belongs to
/// the user that servers run as.
class temporary_folder {
 public:
  explicit temporary_folder(const std::string& name);
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// A file with that text, owned like the folder, for no other user to read.
  std::filesystem::path write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

/// A port of 127.0.0.1 that was free a moment ago. Somebody else may have it by now, be it for a
/// connection of his own.
[[nodiscard]] int free_port();

/// Where a program is: in PATH, in the folders for administrators, or in the newest
/// /usr/lib/postgresql/*/bin.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

/// One child. Killed with its process group when this object ends, and by the kernel when the
/// thread that has started it does. As root it runs as the user postgres, since PostgreSQL insists
/// on that.
class server_process {
 public:
  /// Standard output and error go to `log`. Throws std::runtime_error if it cannot be started.
  server_process(const std::vector<std::string>& command, const std::filesystem::path& log);
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process();

  void signal(int number) const;
  /// Ends it and waits: by that signal, after ten seconds by SIGKILL.
  void end(int number);
  /// Kills it and its children, all of them before any can do something about it, as when the power
  /// fails.
  void end_family();
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Whether it has ended, also by itself.
  [[nodiscard]] bool has_ended();

 private:
  [[nodiscard]] bool is_over(std::chrono::seconds patience);

  pid_t pid_ = -1;
};

/// A process, ours or not, does nothing while this lives; but no longer than half a minute: a
/// wait for it without a limit fails, and does not hang.
class standing_still {
 public:
  explicit standing_still(pid_t process);
  standing_still(const standing_still&) = delete;
  standing_still& operator=(const standing_still&) = delete;
  ~standing_still();

 private:
  std::jthread rescue_;
};

/// Runs to its end. Throws std::runtime_error with what it wrote if that was bad.
void run_program(const std::vector<std::string>& command, const std::filesystem::path& log);

}  // namespace servers
