#include "frontend/protocol.h"

#include "frontend/wire.h"

namespace compatcheck::frontend::protocol {
namespace {

using wire::Reader;
using wire::Writer;

void put(Writer& out, const std::vector<std::string>& strings) {
  out.unsigned_number(strings.size());
  for (const std::string& string : strings) out.string(string);
}

std::vector<std::string> read_strings(Reader& in) {
  std::vector<std::string> all(in.count());
  for (std::string& string : all) string = in.string();
  return all;
}

std::vector<std::uint8_t> blob(Reader& in) {
  const auto bytes = in.blob();
  return {bytes.begin(), bytes.end()};
}

template <class Number>
void put_numbers(Writer& out, const std::vector<Number>& numbers) {
  out.unsigned_number(numbers.size());
  for (const Number number : numbers) out.unsigned_number(number);
}

template <class Number>
std::vector<Number> read_numbers(Reader& in) {
  std::vector<Number> all(in.count());
  for (Number& number : all) number = static_cast<Number>(in.unsigned_number());
  return all;
}

void put(Writer& out, const Model& model) {
  out.string(model.path);
  out.string(model.display_name);
  put(out, model.op_libraries);
  put(out, model.schemas);
}

Model model(Reader& in) {
  Model model;
  model.path = in.string();
  model.display_name = in.string();
  model.op_libraries = read_strings(in);
  model.schemas = read_strings(in);
  return model;
}

void put(Writer&, const HelloRequest&) {}
void put(Writer& out, const LoadRequest& request) { put(out, request.model); }
void put(Writer& out, const ExecutionRequest& request) {
  put(out, request.model);
  out.blob(request.graph);
  out.string(request.method);
  out.unsigned_number(request.seed);
  out.boolean(request.inputs_after);
}
void put(Writer& out, const ObserveRequest& request) {
  put(out, request.model);
  out.blob(request.graph);
  out.unsigned_number(request.seed);
}
void put(Writer& out, const RunRequest& request) {
  put(out, request.model);
  out.string(request.method);
  out.blob(request.arguments);
  out.unsigned_number(request.seed);
  out.unsigned_number(request.nudge);
  put(out, request.state);
}
void put(Writer& out, const ValuesRequest& request) {
  put(out, request.model);
  out.blob(request.graph);
  out.blob(request.arguments);
  for (const std::uint64_t number : {request.seed, request.most_bytes, std::uint64_t{request.wanted.size()}})
    out.unsigned_number(number);
  for (const BlockValues& wanted : request.wanted) {
    for (const std::uint64_t number : {std::uint64_t{wanted.block}, wanted.first, wanted.end}) out.unsigned_number(number);
    put_numbers(out, wanted.positions);
  }
}
void put(Writer& out, const SchemasRequest& request) { put(out, request.op_libraries); }

void put(Writer& out, const HelloReply& reply) {
  out.unsigned_number(reply.protocol);
  out.unsigned_number(reply.abi);
  out.string(reply.libtorch);
}
void put(Writer& out, const LoadReply& reply) { out.blob(reply.program); }
void put(Writer& out, const ExecutionReply& reply) {
  out.boolean(reply.agrees);
  out.string(reply.difference);
}
void put(Writer& out, const ObserveReply& reply) {
  out.unsigned_number(reply.tensors.size());
  for (const ObservedTensor& tensor : reply.tensors) {
    out.unsigned_number(tensor.position);
    out.byte(static_cast<std::uint8_t>(tensor.dtype));
    out.unsigned_number(tensor.sizes.size());
    for (const std::int64_t size : tensor.sizes) out.number(size);
  }
}
void put(Writer& out, const RunReply& reply) {
  out.blob(reply.results);
  out.blob(reply.state);
}
void put(Writer& out, const ValuesReply& reply) {
  put_numbers(out, reply.executions);
  put_numbers(out, reply.bytes);
  out.boolean(reply.too_many);
  out.blob(reply.values);
}
void put(Writer& out, const SchemasReply& reply) { put(out, reply.schemas); }
void put(Writer& out, const ErrorReply& reply) {
  out.byte(static_cast<std::uint8_t>(reply.kind));
  out.string(reply.message);
}

ir::DType read_dtype(Reader& in) {
  if (const auto known = ir::dtype_from_number(in.byte())) return *known;
  Reader::damaged("an element type is unknown");
}

ObserveReply observations(Reader& in) {
  ObserveReply reply;
  reply.tensors.resize(in.count());
  for (ObservedTensor& tensor : reply.tensors) {
    tensor.position = static_cast<std::uint32_t>(in.unsigned_number());
    tensor.dtype = read_dtype(in);
    tensor.sizes.resize(in.count());
    for (std::int64_t& size : tensor.sizes) size = in.number();
  }
  return reply;
}

// The variant's index says which message it is.
template <class Message>
std::vector<std::uint8_t> encode_message(const Message& message) {
  Writer out;
  out.byte(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& held) { put(out, held); }, message);
  return std::move(out).take();
}

template <class Message>
constexpr std::uint8_t index_of(const Message& message) {
  return static_cast<std::uint8_t>(message.index());
}

Request read_request(Reader& in) {
  static const std::uint8_t hello = index_of(Request{HelloRequest{}}), load = index_of(Request{LoadRequest{}}),
                            execution = index_of(Request{ExecutionRequest{}}), observe = index_of(Request{ObserveRequest{}}),
                            run = index_of(Request{RunRequest{}}), values = index_of(Request{ValuesRequest{}}),
                            schemas = index_of(Request{SchemasRequest{}});
  const std::uint8_t kind = in.byte();
  if (kind == hello) return HelloRequest{};
  if (kind == load) return LoadRequest{model(in)};
  if (kind == schemas) return SchemasRequest{read_strings(in)};
  if (kind == execution) {
    ExecutionRequest request{model(in), blob(in), in.string()};
    request.seed = in.unsigned_number();
    request.inputs_after = in.boolean();
    return request;
  }
  if (kind == observe) {
    ObserveRequest request{model(in), blob(in), 0};
    request.seed = in.unsigned_number();
    return request;
  }
  if (kind == run) {
    RunRequest request{model(in), in.string(), blob(in), 0, 0, {}};
    request.seed = in.unsigned_number();
    request.nudge = in.unsigned_number();
    request.state = read_strings(in);
    return request;
  }
  if (kind == values) {
    ValuesRequest request{model(in), blob(in), blob(in), 0, 0, {}};
    request.seed = in.unsigned_number();
    request.most_bytes = in.unsigned_number();
    request.wanted.resize(in.count());
    for (BlockValues& wanted : request.wanted) {
      wanted.block = static_cast<std::uint32_t>(in.unsigned_number());
      wanted.first = in.unsigned_number();
      wanted.end = in.unsigned_number();
      wanted.positions = read_numbers<std::uint32_t>(in);
    }
    return request;
  }
  Reader::damaged("a request is unknown");
}

Reply read_reply(Reader& in) {
  static const std::uint8_t hello = index_of(Reply{HelloReply{}}), load = index_of(Reply{LoadReply{}}),
                            execution = index_of(Reply{ExecutionReply{}}), observe = index_of(Reply{ObserveReply{}}),
                            run = index_of(Reply{RunReply{}}), values = index_of(Reply{ValuesReply{}}),
                            schemas = index_of(Reply{SchemasReply{}}), error = index_of(Reply{ErrorReply{}});
  const std::uint8_t kind = in.byte();
  if (kind == hello) {
    HelloReply reply;
    reply.protocol = static_cast<std::uint32_t>(in.unsigned_number());
    reply.abi = in.unsigned_number();
    reply.libtorch = in.string();
    return reply;
  }
  if (kind == load) return LoadReply{blob(in)};
  if (kind == execution) {
    const bool agrees = in.boolean();
    return ExecutionReply{agrees, in.string()};
  }
  if (kind == observe) return observations(in);
  if (kind == run) return RunReply{blob(in), blob(in)};
  if (kind == values) {
    ValuesReply reply{read_numbers<std::uint64_t>(in), read_numbers<std::uint64_t>(in), false, {}};
    reply.too_many = in.boolean();
    reply.values = blob(in);
    return reply;
  }
  if (kind == schemas) return SchemasReply{read_strings(in)};
  if (kind == error) {
    const std::uint8_t cause = in.byte();
    if (cause > static_cast<std::uint8_t>(ErrorKind::needs_restart)) Reader::damaged("an error's kind is unknown");
    return ErrorReply{static_cast<ErrorKind>(cause), in.string()};
  }
  Reader::damaged("a reply is unknown");
}

}  // namespace

std::vector<std::uint8_t> encode(const Request& request) { return encode_message(request); }
std::vector<std::uint8_t> encode(const Reply& reply) { return encode_message(reply); }

Request decode_request(std::span<const std::uint8_t> bytes) {
  Reader in(bytes);
  Request request = read_request(in);
  in.expect_end();
  return request;
}

Reply decode_reply(std::span<const std::uint8_t> bytes) {
  Reader in(bytes);
  Reply reply = read_reply(in);
  in.expect_end();
  return reply;
}

}  // namespace compatcheck::frontend::protocol
