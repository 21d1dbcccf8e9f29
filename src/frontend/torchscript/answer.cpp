#include "frontend/torchscript/answer.h"

#include <malloc.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include "compatcheck/error.h"
#include "frontend/snapshot.h"
#include "frontend/torchscript/execution.h"
#include "frontend/torchscript/op_libraries.h"
#include "frontend/torchscript/program_reader.h"

namespace compatcheck::frontend::torchscript {
namespace {

// Returns the version of the loaded library, which may differ from the one at build time.
std::string libtorch_version() {
  const std::uint64_t version = aoti_torch_abi_version();
  return std::to_string(version >> 56) + "." + std::to_string((version >> 48) & 0xff) + "." +
         std::to_string((version >> 40) & 0xff);
}

protocol::Reply reply(const protocol::HelloRequest&) {
  return protocol::HelloReply{protocol::version, aoti_torch_abi_version(), libtorch_version()};
}

protocol::Reply reply(const protocol::LoadRequest& request) {
  auto library_schemas = load_op_libraries(request.model.op_libraries);
  ir::Program program = read_program(request.model.path, request.model.schemas);
  program.library_schemas = std::move(library_schemas);
  program.libtorch_version = libtorch_version();
  return protocol::LoadReply{encode(program)};
}

protocol::Reply reply(const protocol::SchemasRequest& request) {
  return protocol::SchemasReply{request.op_libraries.empty() ? registered_schemas() : load_op_libraries(request.op_libraries)};
}

protocol::Reply reply(const protocol::ExecutionRequest& request) { return compare_execution(request); }
protocol::Reply reply(const protocol::ObserveRequest& request) { return observe(request); }
// The weights are gone with the call: while the other side runs its copy, this process holds none.
template <class Made>
Made trimmed(Made made) {
  ::malloc_trim(0);
  return made;
}

protocol::Reply reply(const protocol::RunRequest& request) { return trimmed(run(request)); }
protocol::Reply reply(const protocol::ValuesRequest& request) { return trimmed(values(request)); }

}  // namespace

protocol::Reply answer(const protocol::Request& request) {
  return std::visit([](const auto& each) { return reply(each); }, request);
}

}  // namespace compatcheck::frontend::torchscript
