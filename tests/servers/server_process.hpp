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

/// A new folder below the system's temporary folder, removed with its content on destruction. It
/// belongs to the user that servers run as.
class temporary_folder {
 public:
  explicit temporary_folder(const std::string& name);
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Writes a file with that text, owned like the folder, and unreadable for other users.
  [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

/// Returns a port of 127.0.0.1 that was free a moment ago. By now another process may have it,
/// perhaps only for a client's connection.
[[nodiscard]] int free_port();

/// Returns the path of a program in PATH, in the folders for administrators, or in the newest
/// /usr/lib/postgresql/*/bin.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

/// One child process, killed with its process group on destruction, and by the kernel when the
/// thread that started it ends. If root starts it, it runs as the user postgres, since PostgreSQL
/// insists on that.
class server_process {
 public:
  /// Starts the process; its output and errors go to `log`. Throws std::runtime_error if it cannot
  /// be started.
  server_process(const std::vector<std::string>& command, const std::filesystem::path& log);
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;
  ~server_process();

  void signal(int number) const;
  /// Ends it and waits: by that signal, after ten seconds by SIGKILL.
  void end(int number);
  /// Kills it and its children, all of them before any can react, as in a power failure.
  void end_family();
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Returns whether it has ended, for whatever reason.
  [[nodiscard]] bool has_ended();

 private:
  [[nodiscard]] bool is_over(std::chrono::seconds patience) const;

  pid_t pid_ = -1;
};

/// Stops a process, ours or not, during its lifetime; but no longer than half a minute, so that a
/// wait for it without a limit fails instead of hanging.
class standing_still {
 public:
  explicit standing_still(pid_t process);
  standing_still(const standing_still&) = delete;
  standing_still& operator=(const standing_still&) = delete;
  ~standing_still();

 private:
  std::jthread rescue_;
};

/// Runs a command to its end. Throws std::runtime_error with its output if it failed.
void run_program(const std::vector<std::string>& command, const std::filesystem::path& log);

}  // namespace servers
