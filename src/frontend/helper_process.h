// One running helper program: started, bounded, asked, ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "frontend/protocol.h"
#include "process/unfinished.h"

namespace compatcheck::frontend {

struct HelperBounds {
  double seconds = 120;
  std::uint64_t memory_bytes = 0;
  std::function<bool()> cancelled;  // may be empty
};

// How a request ended without a reply.
struct HelperEnd {
  enum class Cause : std::uint8_t { crashed, timed_out, out_of_memory, cancelled, garbled } cause = Cause::crashed;
  int signal = 0;  // crashed: 0 if it exited by itself
  int exit_code = 0;
  std::string printed;  // the end of what it wrote to its standard streams
};

class HelperProcess {
 public:
  // Throws UsageError if the program can't be started. Safe while other threads run; installs nothing.
  // `libraries`: a folder that it finds first; may be empty.
  HelperProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                const std::filesystem::path& libraries);
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // Sends a request, with it perhaps an open file. After a HelperEnd the process is gone.
  // `mapped_bytes`: of the model file, which may lie in memory beyond the bound.
  std::variant<std::vector<std::uint8_t>, HelperEnd> roundtrip(std::span<const std::uint8_t> request, int descriptor,
                                                               std::uint64_t mapped_bytes, const HelperBounds& bounds);

  bool alive();                          // between requests it may have been killed
  std::uint64_t resident_bytes() const;  // anonymous memory; 0 if unknown

 private:
  void limit(std::uint64_t data_bytes) const;
  HelperEnd end(HelperEnd::Cause cause);
  std::string output_tail() const;

  pid_t pid_ = -1;
  std::unique_ptr<process::RunningProcess> running_;  // null: it has ended
  int socket_ = -1;
  int output_ = -1;  // an anonymous file that receives its output
};

}  // namespace compatcheck::frontend
