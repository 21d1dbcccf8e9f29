#include "frontend/protocol.h"

#include "frontend/undamaged.h"
#include "process/transfer.h"

namespace compatcheck::frontend::protocol {

using process::all;
using process::is;

template <class Archive, is<Model> T>
void transfer(Archive& archive, T& m) {
  all(archive, m.path, m.display_name, m.op_libraries, m.schemas, m.gradients);
}
template <class Archive, is<HelloRequest> T>
void transfer(Archive&, T&) {}
template <class Archive, is<LoadRequest> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.model);
}
template <class Archive, is<ExecutionRequest> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.model, r.graph, r.method, r.seed, r.inputs_after);
}
template <class Archive, is<ObserveRequest> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.model, r.graph, r.seed);
}
template <class Archive, is<RunRequest> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.model, r.method, r.arguments, r.seed, r.nudge, r.state);
}
template <class Archive, is<BlockValues> T>
void transfer(Archive& archive, T& v) {
  all(archive, v.block, v.first, v.end, v.positions);
}
template <class Archive, is<ValuesRequest> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.model, r.graph, r.arguments, r.seed, r.most_bytes, r.blocks);
}
template <class Archive, is<SchemasRequest> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.op_libraries);
}

template <class Archive, is<HelloReply> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.protocol, r.abi, r.libtorch);
}
template <class Archive, is<LoadReply> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.program);
}
template <class Archive, is<ExecutionReply> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.agrees, r.difference);
}
template <class Archive, is<ObservedTensor> T>
void transfer(Archive& archive, T& t) {
  all(archive, t.position, t.dtype, t.sizes);
}
template <class Archive, is<ObserveReply> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.tensors);
}
template <class Archive, is<RunReply> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.results, r.state);
}
template <class Archive, is<ValuesReply> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.executions, r.bytes, r.too_many, r.values);
}
template <class Archive, is<SchemasReply> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.schemas);
}
static void transfer(process::Reader& in, ErrorKind& kind) { kind = up_to(ErrorKind::needs_restart, in); }
template <class Archive, is<ErrorReply> T>
void transfer(Archive& archive, T& r) {
  all(archive, r.kind, r.message);
}

namespace {

// The variant's index says which message it is.
template <class Message>
std::vector<std::uint8_t> encode_message(const Message& message) {
  process::Writer out;
  transfer(out, message);
  return std::move(out).take();
}

template <class Message>
Message decode_message(std::span<const std::uint8_t> bytes) {
  return undamaged([&] {
    process::Reader in(bytes);
    Message message;
    transfer(in, message);
    in.expect_end();
    return message;
  });
}

}  // namespace

std::vector<std::uint8_t> encode(const Request& request) { return encode_message(request); }
std::vector<std::uint8_t> encode(const Reply& reply) { return encode_message(reply); }
Request decode_request(std::span<const std::uint8_t> bytes) { return decode_message<Request>(bytes); }
Reply decode_reply(std::span<const std::uint8_t> bytes) { return decode_message<Reply>(bytes); }

}  // namespace compatcheck::frontend::protocol
