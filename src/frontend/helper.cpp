#include "frontend/helper.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "compatcheck/error.h"
#include "ir/number_text.h"
#include "process/callback.h"
#include "process/log.h"
#include "process/time_bound.h"

namespace compatcheck::frontend {
namespace {

constexpr std::uint64_t megabyte = 1 << 20;
constexpr std::uint64_t most_megabytes = std::uint64_t{1} << 40;  // more is no bound, and sums of sizes could overflow
constexpr std::uint64_t retire_bytes = 1024 * megabyte;  // a helper in which models left more memory than this is replaced

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name ? std::string("SIG") + name : "signal " + std::to_string(number);
}

std::string output_of(const HelperEnd& end) { return end.printed.empty() ? std::string() : "; it said: " + end.printed; }

std::string how_it_crashed(const HelperEnd& end) {
  switch (end.signal) {
    case 0: return "the loader ended by itself (exit code " + std::to_string(end.exit_code) + ")" + output_of(end);
    case SIGSEGV:
    case SIGBUS:
      return "the loader crashed (" + signal_name(end.signal) +
             "): the code is probably nested too deeply or the file is damaged" + output_of(end);
    case SIGKILL: return "the loader was killed (SIGKILL): the machine was probably out of memory";
    default: return "the loader crashed (" + signal_name(end.signal) + ")" + output_of(end);
  }
}

// Others are sent: by the kernel, a user, or whoever stops a service.
bool is_crash(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGABRT;
}

// libtorch's own words: the major version in the highest byte, then the minor one.
bool is_supported(std::uint64_t abi) {
  const std::string series = std::to_string(abi >> 56) + "." + std::to_string(abi >> 48 & 0xff);
  return series == supported_libtorch();
}

}  // namespace

HelperBounds Helper::bounds() const {
  return {.seconds = std::min(process::longest_seconds, std::max(0.0, options_.timeout_seconds)),
          .memory_bytes = std::min(most_megabytes, options_.memory_mb) * megabyte,
          .cancelled = options_.cancelled};
}

void Helper::explain(const HelperEnd& end) const {
  switch (end.cause) {
    case HelperEnd::Cause::crashed:
      if (end.printed.find("std::bad_alloc") != std::string::npos)
        throw ModelError("the loader ran out of the " + std::to_string(options_.memory_mb) +
                         " MB of memory that it may use (LoadOptions::memory_mb gives it more)");
      if (is_crash(end.signal)) throw HelperCrash(how_it_crashed(end), signal_name(end.signal) + output_of(end));
      throw ModelError(how_it_crashed(end));
    case HelperEnd::Cause::timed_out:
      throw HelperTimeout("the loader was stopped after " + ir::plainly(options_.timeout_seconds) +
                          " s without an answer (LoadOptions::timeout_seconds gives it more): the model's code may never end");
    case HelperEnd::Cause::out_of_memory:
      throw ModelError("the loader was stopped when it used more than " + std::to_string(options_.memory_mb) +
                       " MB of memory (LoadOptions::memory_mb gives it more)");
    case HelperEnd::Cause::cancelled: throw Cancelled("cancelled");
    case HelperEnd::Cause::garbled: break;
  }
  throw ModelError("the loader's answer is damaged" + output_of(end));
}

void Helper::check(const protocol::HelloReply& hello) const {
  if (hello.protocol != protocol::version)
    throw UsageError("the TorchScript helper program belongs to another compatcheck (it speaks protocol " +
                     std::to_string(hello.protocol) + ", not " + std::to_string(protocol::version) + ")");
  if (!runner_->is_python() && !is_supported(hello.abi))
    throw UsageError("the libtorch in " + runner_->libraries.string() + " is version " + hello.libtorch +
                     "; this compatcheck works with " + std::string(supported_libtorch()));
}

void Helper::start() {
  if (!runner_) runner_ = find_runner(options_);
  const auto& program = runner_->program;
  process_ = std::make_unique<HelperProcess>(program, runner_->arguments, runner_->libraries);
  fresh_ = true;
  // Loading libtorch is no part of loading a model: the caller's bound holds from the first model on.
  HelperBounds starting = bounds();
  starting.memory_bytes = std::max(starting.memory_bytes, LoadOptions{}.memory_mb * megabyte);
  const auto answer = process_->roundtrip(protocol::encode(protocol::Request{protocol::HelloRequest{}}), -1, 0, starting);
  if (const auto* end = std::get_if<HelperEnd>(&answer)) {
    process_.reset();
    if (end->cause != HelperEnd::Cause::crashed) explain(*end);
    if (runner_->is_python())
      throw UsageError("the helper in Python doesn't run with " + program.string() + ": " + how_it_crashed(*end));
    throw UsageError("the program that reads TorchScript, " + program.string() + ", does not run with the libtorch in " +
                     runner_->libraries.string() + ": " + how_it_crashed(*end));
  }
  const protocol::Reply reply = protocol::decode_reply(std::get<std::vector<std::uint8_t>>(answer));
  const auto* hello = std::get_if<protocol::HelloReply>(&reply);
  try {
    if (const auto* error = std::get_if<protocol::ErrorReply>(&reply)) throw UsageError(error->message);
    if (!hello) throw InternalError("the TorchScript helper program doesn't say hello");
    check(*hello);
  } catch (...) {
    process_.reset();
    throw;
  }
  version_ = hello->libtorch;
  logging::info("started {} with torch {}", program.string(), version_);
}

std::optional<protocol::Reply> Helper::try_once(const std::vector<std::uint8_t>& request, const files::InputFile* file,
                                                bool attach) {
  if (process_ && !process_->alive()) process_.reset();
  if (!process_) start();
  const bool was_fresh = std::exchange(fresh_, false);
  const auto answer = process_->roundtrip(request, attach ? file->descriptor() : -1, file ? file->size() : 0, bounds());
  if (const auto* end = std::get_if<HelperEnd>(&answer)) {
    process_.reset();
    if (end->cause == HelperEnd::Cause::crashed && !was_fresh) return std::nullopt;  // an earlier model may be to blame
    explain(*end);
  }
  if (options_.one_file) process_.reset();
  protocol::Reply reply = protocol::decode_reply(std::get<std::vector<std::uint8_t>>(answer));
  const auto* error = std::get_if<protocol::ErrorReply>(&reply);
  const bool restart = error && error->kind == protocol::ErrorKind::needs_restart;
  if (process_ && (restart || process_->resident_bytes() > retire_bytes)) process_.reset();
  if (restart && !was_fresh) return std::nullopt;
  return reply;
}

protocol::Reply Helper::ask_here(const std::vector<std::uint8_t>& request, const files::InputFile* file, bool attach) const {
  return protocol::decode_reply(process::call(options_.run_in_process, request, attach ? file->descriptor() : -1));
}

protocol::Reply Helper::roundtrip(const protocol::Request& request, const files::InputFile* file, bool attach) {
  const auto bytes = protocol::encode(request);
  auto reply = options_.run_in_process ? ask_here(bytes, file, attach) : try_once(bytes, file, attach);
  if (!reply) reply = try_once(bytes, file, attach);
  if (!reply) throw InternalError("a fresh TorchScript helper program asks for a fresh one");
  if (const auto* error = std::get_if<protocol::ErrorReply>(&*reply)) {
    switch (error->kind) {
      case protocol::ErrorKind::model:
      case protocol::ErrorKind::needs_restart: throw ModelError(error->message);
      case protocol::ErrorKind::usage: throw UsageError(error->message);
      case protocol::ErrorKind::internal: throw InternalError(error->message);
    }
  }
  return std::move(*reply);
}

const std::string& Helper::libtorch_version() {
  if (options_.run_in_process && version_.empty()) {
    const auto reply = roundtrip(protocol::HelloRequest{});
    if (const auto* hello = std::get_if<protocol::HelloReply>(&reply)) version_ = hello->libtorch;
  }
  if (options_.run_in_process) return version_;
  if (!process_ || !process_->alive()) start();
  return version_;
}

}  // namespace compatcheck::frontend
