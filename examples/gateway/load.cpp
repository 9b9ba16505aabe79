#include "load.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "line.hpp"

namespace gateway {

namespace {

namespace net = boost::asio;
using clock = std::chrono::steady_clock;
using error_code = boost::system::error_code;

constexpr std::chrono::seconds patience(60);  // for answers to clients; a connect may take 30

struct tally {
  clock::time_point begin;
  clock::time_point end;
  std::vector<clock::duration> times;
  std::uint64_t wrong = 0;
  std::uint64_t open = 0;  // requests without an answer so far
  std::string wrong_answer;
};

class client {
 public:
  client(net::io_context& context, int port, unsigned number, tally& all)
      : socket_(context), question_("client-" + std::to_string(number) + "\n"), all_(all) {
    socket_.connect({net::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)});
    socket_.set_option(net::ip::tcp::no_delay(true));
  }

  void ask() {
    asked_ = clock::now();
    if (asked_ >= all_.end) {
      return;
    }
    ++all_.open;  // stays counted if anything fails
    net::async_write(socket_, net::buffer(question_), [this](error_code failed, std::size_t) {
      if (!failed) {
        read();
      }
    });
  }

 private:
  void read() {
    net::async_read_until(socket_, net::dynamic_buffer(answer_, longest_line), '\n',
                          [this](error_code failed, std::size_t) {
                            if (!failed) {
                              count();
                            }
                          });
  }

  void count() {
    --all_.open;
    const auto moment = clock::now();
    // Counts every answer in that time: if a turn takes longer, hardly any would count that was
    // also asked in it.
    if (moment >= all_.begin && moment < all_.end) {
      all_.times.push_back(moment - asked_);
    }
    if (answer_ != question_) {
      ++all_.wrong;
      all_.wrong_answer = answer_;
    }
    answer_.clear();
    ask();
  }

  net::ip::tcp::socket socket_;
  std::string question_;
  std::string answer_;
  clock::time_point asked_;
  tally& all_;
};

}  // namespace

load_result put_load_on(int port, unsigned clients, std::chrono::nanoseconds warm_up,
                        std::chrono::nanoseconds time) {
  net::io_context context(1);
  tally all;
  all.times.reserve(1U << 20U);
  std::deque<client> everybody;
  for (unsigned i = 0; i < clients; ++i) {
    everybody.emplace_back(context, port, i, all);
  }
  all.begin = clock::now() + warm_up;
  all.end = all.begin + time;
  for (client& one : everybody) {
    one.ask();
  }
  context.run_until(all.end + patience);
  std::sort(all.times.begin(), all.times.end());
  const auto at = [&all](double part) {
    const auto index = static_cast<std::size_t>(part * static_cast<double>(all.times.size()));
    return all.times.empty()
               ? std::chrono::microseconds(0)
               : std::chrono::duration_cast<std::chrono::microseconds>(all.times.at(index));
  };
  const double seconds = std::chrono::duration<double>(time).count();
  return {.per_second = static_cast<double>(all.times.size()) / seconds,
          .median = at(0.5),
          .p99 = at(0.99),
          .served = all.times.size(),
          .wrong = all.wrong,
          .lost = all.open,
          .wrong_answer = all.wrong_answer};
}

}  // namespace gateway
