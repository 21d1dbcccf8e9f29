// Threads that begin together.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

namespace compatcheck {

inline constexpr std::size_t threads = 4;

// `work` gets the number of its thread. What it throws fails the test.
inline void in_threads(const std::function<void(std::size_t)>& work) {
  std::latch start(threads);
  std::vector<std::string> failures(threads);
  std::vector<std::thread> running;
  for (std::size_t i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      start.arrive_and_wait();
      try {
        work(i);
      } catch (const std::exception& error) {
        failures[i] = error.what();
      }
    });
  for (std::thread& thread : running) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

}  // namespace compatcheck
