#include "server_process.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <thread>

extern char** environ;  // NOLINT(readability-redundant-declaration): not declared everywhere

namespace servers {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* servant = "postgres";

bool is_root() {
  return ::geteuid() == 0;
}

void hand_to_servant(const fs::path& path) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread asks for a user
  const passwd* const user = is_root() ? ::getpwnam(servant) : nullptr;
  if (user != nullptr && ::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) {
    throw std::runtime_error("cannot chown " + path.string());
  }
}

class open_socket {
 public:
  open_socket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  open_socket(const open_socket&) = delete;
  open_socket& operator=(const open_socket&) = delete;
  ~open_socket() { ::close(fd_); }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Starts a process through setpriv(1), which also makes the kernel end the child with its parent.
pid_t spawn(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<std::string> words{"setpriv", "--pdeathsig", "KILL"};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): as above
  if (is_root() && ::getpwnam(servant) != nullptr) {
    words.insert(words.end(), {"--reuid", servant, "--regid", servant, "--init-groups"});
  }
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  std::transform(words.begin(), words.end(), std::back_inserter(arguments),
                 [](std::string& word) { return word.data(); });
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files{};
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes{};
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  sigset_t none{};
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  pid_t child = -1;
  const int failed =
      ::posix_spawnp(&child, "setpriv", &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) {
    throw std::runtime_error("cannot start " + command.front());
  }
  return child;
}

struct process_stat {
  char state = 0;
  pid_t parent = 0;
};

/// Returns the content of /proc/<number>/stat, or zeros if the process is gone.
process_stat stat_of(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  // The name, which may contain anything, is in parentheses; then come the state and the parent.
  std::istringstream behind_name(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  process_stat found;
  behind_name >> found.state >> found.parent;
  return found;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
        stat_of(entry.path()).parent == parent) {
      found.push_back(std::stoi(name));
    }
  }
  return found;
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace

temporary_folder::temporary_folder(const std::string& name) {
  std::string pattern = (fs::temp_directory_path() / ("lido_" + name + "_XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("cannot make a folder like " + pattern);
  }
  path_ = pattern;
  hand_to_servant(path_);
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path temporary_folder::write(const std::string& name, const std::string& text) const {
  fs::path file = path_ / name;
  std::ofstream(file) << text;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  hand_to_servant(file);
  return file;
}

int free_port() {
  const open_socket probe;
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
  if (::bind(probe.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no free port");
  }
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  return ntohs(address.sin_port);
}

std::optional<std::string> find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): no test sets it
  std::istringstream folders(std::string(path == nullptr ? "" : path) +
                             ":/usr/sbin:/usr/local/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / name;
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate.string();
    }
  }
  std::optional<std::string> found;
  std::error_code absent;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", absent)) {
    const std::string candidate = (version.path() / "bin" / name).string();
    if (::access(candidate.c_str(), X_OK) == 0 && (!found || *found < candidate)) {
      found = candidate;
    }
  }
  return found;
}

server_process::server_process(const std::vector<std::string>& command, const fs::path& log)
    : pid_(spawn(command, log)) {}

server_process::~server_process() {
  end(SIGTERM);
}

void server_process::signal(int number) const {
  if (pid_ > 0) {
    (void)::kill(pid_, number);
  }
}

void server_process::end(int number) {
  if (pid_ <= 0) {
    return;
  }
  signal(number);
  signal(SIGCONT);
  if (!is_over(10s)) {
    (void)::kill(-pid_, SIGKILL);
    (void)is_over(10s);
  }
  pid_ = -1;
}

bool server_process::has_ended() {
  if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) != 0) {
    pid_ = -1;
  }
  return pid_ <= 0;
}

void server_process::end_family() {
  if (pid_ <= 0) {
    return;
  }
  // When the process is gone its children are ours: we can wait for their end, and none remains.
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  signal(SIGSTOP);
  (void)::waitpid(pid_, nullptr, WUNTRACED);  // from now on it starts no others
  const std::vector<pid_t> children = children_of(pid_);
  for (const pid_t child : children) {
    (void)::kill(child, SIGKILL);
  }
  end(SIGKILL);
  for (const pid_t child : children) {
    (void)::waitpid(child, nullptr, 0);
  }
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

bool server_process::is_over(std::chrono::seconds patience) const {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

void run_program(const std::vector<std::string>& command, const fs::path& log) {
  const pid_t child = spawn(command, log);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) {
    throw std::runtime_error(command.front() + " failed: " + text_of(log));
  }
}

standing_still::standing_still(pid_t process) {
  (void)::kill(process, SIGSTOP);
  // The process may receive the signal later than its next request.
  const fs::path entry = fs::path("/proc") / std::to_string(process);
  for (int i = 0; i < 5000 && stat_of(entry).state != 'T'; ++i) {
    std::this_thread::sleep_for(1ms);
  }
  rescue_ = std::jthread([process](const std::stop_token& over) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any woken;
    (void)woken.wait_for(lock, over, 30s, [] { return false; });
    (void)::kill(process, SIGCONT);
  });
}

standing_still::~standing_still() {
  rescue_.request_stop();
  rescue_.join();
}

}  // namespace servers
