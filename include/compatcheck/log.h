// The library's log: the files that it reads, the program that it starts, the result of each step.
//
//   compatcheck::set_log_sink(compatcheck::LogLevel::info,
//                             [](compatcheck::LogLevel, std::string_view text) { my_log(text); });
//
// Nothing is logged until a sink or a file is set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace compatcheck {

// info: steps that a user recognises. debug: their details and how long they took.
enum class LogLevel : std::uint8_t { debug, info, warning };

// Gets one message: UTF-8 without control characters and without an end of line.
using LogSink = std::function<void(LogLevel level, std::string_view text)>;

// Sets the sink of the whole process. It gets messages of `least` and above; an empty one removes the former. Any thread
// may set it. Calls of the sink never overlap, and it must not call this library. An exception that it throws passes unchanged
// through the library's function that logged.
void set_log_sink(LogLevel least, LogSink sink);

// Appends messages of `least` and above to a file, each with time and process number; an empty name closes the file. Throws
// UsageError where the file can't be opened.
void set_log_file(LogLevel least, const std::filesystem::path& file);

// Puts a message of the embedding program among the library's.
void log(LogLevel level, std::string_view text);

}  // namespace compatcheck
