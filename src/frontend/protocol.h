// The protocol between the tool and its TorchScript helper program over one stream socket: a request, then its
// reply, one at a time. No libtorch here: both sides compile this file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ir/dtype.h"

namespace compatcheck::frontend::protocol {

inline constexpr std::uint32_t version = 8;

// The descriptor under which the helper finds its end of the socket.
inline constexpr int helper_socket = 3;

// Which model, and what must be known to open it.
struct Model {
  std::string path;                       // the file to open; /proc/self/fd/N if the request carried a descriptor
  std::string display_name;               // for messages
  std::vector<std::string> op_libraries;  // libraries to dlopen first, and modules for the helper in Python to import
  std::vector<std::string> schemas;       // users' schemas of operators that nobody ships
  bool gradients = false;                 // it runs with gradients
};

struct HelloRequest {};
struct LoadRequest {
  Model model;
};
struct ExecutionRequest {
  Model model;
  std::vector<std::uint8_t> graph;
  std::string method;
  std::uint64_t seed = 0;
  bool inputs_after = true;  // also compare what the call leaves in its inputs
};
struct ObserveRequest {
  Model model;
  std::vector<std::uint8_t> graph;
  std::uint64_t seed = 0;
};
struct RunRequest {
  Model model;
  std::string method;                   // the module's method to run
  std::vector<std::uint8_t> arguments;  // a snapshot: a list with a tuple for each call
  std::uint64_t seed = 0;               // seed of libtorch's generator before the first call; one more for each further call
  std::uint64_t nudge = 0;              // not 0: the module's weights are rounded differently, by this draw
  std::vector<std::string> state;       // attributes whose values are requested: "layers.0.k_cache"
};
// A request for values in a block's executions `first` to `end`, counted from 0.
struct BlockValues {
  std::uint32_t block = 0;  // see snapshot.h, `blocks_in_order`
  std::uint64_t first = 0, end = 0;
  std::vector<std::uint32_t> positions;  // see snapshot.h, `values_in_order`: of this block and those around it
};
// A graph's inner values in one call of it, by the interpreter.
struct ValuesRequest {
  Model model;
  std::vector<std::uint8_t> graph;
  std::vector<std::uint8_t> arguments;  // a snapshot: a tuple
  std::uint64_t seed = 0;
  std::uint64_t most_bytes = 0;  // returns no values if the requested ones need more bytes
  std::vector<BlockValues> blocks;
};
struct SchemasRequest {
  std::vector<std::string> op_libraries;  // libraries whose schemas are requested; none: all that libtorch registers
};
using Request =
    std::variant<HelloRequest, LoadRequest, ExecutionRequest, ObserveRequest, RunRequest, ValuesRequest, SchemasRequest>;

struct HelloReply {
  std::uint32_t protocol = version;
  std::uint64_t abi = 0;
  std::string libtorch;
};
struct LoadReply {
  std::vector<std::uint8_t> program;
};  // a snapshot
struct ExecutionReply {
  bool agrees = false;
  std::string difference;
};
struct ObservedTensor {
  std::uint32_t position = 0;
  ir::DType dtype{};
  std::vector<std::int64_t> sizes;
};
struct ObserveReply {
  std::vector<ObservedTensor> tensors;
};  // position: see snapshot.h, `values_in_order`
struct RunReply {
  std::vector<std::uint8_t> results;  // a snapshot: a list, for each call a tuple of its result, or a text, why it failed
  std::vector<std::uint8_t> state;    // a snapshot: a list of tuples of `state`'s values, before the first call and after each
};
struct ValuesReply {
  std::vector<std::uint64_t> executions;  // for each block
  std::vector<std::uint64_t> bytes;       // bytes of each value's tensors, by position, summed over executions
  bool too_many = false;                  // the values need more than `most_bytes`
  std::vector<std::uint8_t> values;       // a snapshot: a list; per block of `blocks` a list; per execution a tuple of values
};
struct SchemasReply {
  std::vector<std::string> schemas;
};

enum class ErrorKind : std::uint8_t {
  model,          // the file can't be read or run: ModelError
  usage,          // an operator library, a schema: UsageError
  internal,       // InternalError
  needs_restart,  // an earlier model registered conflicting stubs or classes: retry in a fresh helper
};
struct ErrorReply {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
};
using Reply = std::variant<HelloReply, LoadReply, ExecutionReply, ObserveReply, RunReply, ValuesReply, SchemasReply, ErrorReply>;

std::vector<std::uint8_t> encode(const Request& request);
std::vector<std::uint8_t> encode(const Reply& reply);
// Throw ModelError on anything else than what encode() wrote.
Request decode_request(std::span<const std::uint8_t> bytes);
Reply decode_reply(std::span<const std::uint8_t> bytes);

// A frame on the socket: magic, length, the encoded message; with it, perhaps, an open file.
struct Frame {
  std::vector<std::uint8_t> bytes;
  int descriptor = -1;  // owned by the receiver
};

// Blocking, until all is written; false if the other side is gone. Never raises SIGPIPE.
bool send_frame(int socket, std::span<const std::uint8_t> bytes, int descriptor = -1);

// The event that ended the wait for a frame.
enum class Receipt : std::uint8_t { frame, closed, damaged, idle };
// `while_waiting` is called several times a second and may end the wait by returning false (then `idle`).
Receipt receive_frame(int socket, Frame& frame, const std::function<bool()>& while_waiting = {});

// The helper's whole life: answers requests on `helper_socket` until the tool closes it; dies at once if the tool does,
// even in the middle of an answer. `answer` may throw: ModelError, UsageError and InternalError keep their kind, any
// other exception becomes ErrorKind::model with its text.
void serve(const std::function<Reply(const Request&)>& answer);

}  // namespace compatcheck::frontend::protocol
