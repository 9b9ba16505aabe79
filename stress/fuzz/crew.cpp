#include "fuzz/crew.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace fuzz {

/// One thread and the job it is given. The mutex also carries all plain data from turn to turn.
class crew::worker {
 public:
  worker() : thread_([this] { loop(); }) {}
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void run(const std::function<void()>& body) {
    std::unique_lock lock(mutex_);
    job_ = &body;
    changed_.notify_all();
    changed_.wait(lock, [this] { return job_ == nullptr; });
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || job_ != nullptr; });
      if (job_ == nullptr) {
        return;
      }
      const std::function<void()>& body = *job_;
      lock.unlock();
      body();
      lock.lock();
      job_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* job_ = nullptr;
  bool ending_ = false;
  std::thread thread_;  // last: it uses the others
};

crew::crew() = default;
crew::~crew() = default;

void crew::run_as(std::size_t member, const std::function<void()>& body) {
  busy_[member] = true;
  if (member == 0) {
    body();
  } else {
    if (workers_[member] == nullptr) {
      workers_[member] = std::make_unique<worker>();
    }
    workers_[member]->run(body);
  }
  busy_[member] = false;
}

void crew::end(std::size_t member) {
  workers_[member].reset();
}

std::size_t crew::alive() const {
  const auto threads = std::count_if(workers_.begin(), workers_.end(),
                                     [](const auto& thread) { return thread != nullptr; });
  return static_cast<std::size_t>(threads) + 1;
}

}  // namespace fuzz
