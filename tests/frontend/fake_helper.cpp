// Stands in for the TorchScript helper program: the model's name says how it misbehaves.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compatcheck/error.h"
#include "frontend/protocol.h"
#include "frontend/snapshot.h"

namespace {

using namespace compatcheck;
namespace protocol = frontend::protocol;

constexpr std::uint64_t abi_of(int major, int minor) { return std::uint64_t(major) << 56 | std::uint64_t(minor) << 48; }

bool says(const std::string& name, const char* word) { return name.find(word) != std::string::npos; }

void eat_memory() {
  for (;;) {
    auto* more = new char[1 << 20];
    std::memset(more, 1, 1 << 20);
  }
}

// Its own process as the program's producer; how many models it has seen as a note.
protocol::Reply load(const protocol::Model& model) {
  static int loads = 0;
  ++loads;
  const std::string& name = model.display_name;
  if (says(name, "segv")) ::raise(SIGSEGV);
  if (says(name, "abort")) {
    std::fputs("terminate called: too much\n", stderr);
    std::abort();
  }
  if (says(name, "exit")) {
    std::puts("giving up");
    std::exit(7);
  }
  if (says(name, "hang"))
    for (;;) ::pause();
  if (says(name, "spin"))
    for (;;) static_cast<void>(::getpid());
  if (says(name, "eat")) eat_memory();
  if (says(name, "slow")) ::usleep(200000);  // longer than the front end waits between two looks at the bounds
  if (says(name, "chatter"))
    for (int i = 0; i < 40000; ++i) std::fputs(std::string(1000, 'x').c_str(), stderr);
  if (says(name, "garbage")) {
    ::send(protocol::helper_socket, "this is not a frame, but long enough", 36, MSG_NOSIGNAL);
    ::pause();
  }
  if (says(name, "half")) {
    ::send(protocol::helper_socket, "ckcehck1\x00\x01\0\0\0\0\0\0half", 20, MSG_NOSIGNAL);
    ::_exit(0);
  }
  if (says(name, "cut")) return protocol::LoadReply{{'C', 'C', 'S', 'N', frontend::snapshot_version, 0, 5}};
  if (says(name, "other")) return protocol::SchemasReply{};
  if (says(name, "refuse")) throw ModelError("record data/1 is damaged");
  if (says(name, "usage")) throw UsageError("libacme.so: not found");
  if (says(name, "foreign")) throw std::runtime_error("\nUnknown type name\nException raised from load at x.cpp:1\nframe #0: y");
  if (says(name, "second") && loads > 1) return protocol::ErrorReply{protocol::ErrorKind::needs_restart, "stub in the way"};
  if (says(name, "never")) return protocol::ErrorReply{protocol::ErrorKind::needs_restart, "stub in the way"};
  if (says(name, "fragile") && loads > 1) ::raise(SIGSEGV);
  ir::Program program;
  program.producer = std::to_string(::getpid());
  std::ifstream file(model.path, std::ios::binary);
  program.libtorch_version = std::string(std::istreambuf_iterator<char>(file), {}).size() > 100 ? "read" : "unread";
  program.notes.push_back({ir::LoadNote::Kind::other, std::to_string(loads), model.path});
  return protocol::LoadReply{frontend::encode(program)};
}

// Descriptors beyond the socket and the standard streams would keep the tool's files open.
std::string open_descriptors() {
  std::string open;
  for (int number = 0; number < 64; ++number)
    if (::fcntl(number, F_GETFD) >= 0) open += std::to_string(number) + " ";
  return open;
}

protocol::Reply answer(const protocol::Request& request) {
  if (std::get_if<protocol::HelloRequest>(&request)) {
    const char* abi = std::getenv("FAKE_ABI");
    return protocol::HelloReply{protocol::version, abi ? abi_of(2, std::atoi(abi)) : abi_of(2, 13), "2.13.0"};
  }
  if (const auto* load_request = std::get_if<protocol::LoadRequest>(&request)) return load(load_request->model);
  if (std::get_if<protocol::SchemasRequest>(&request))
    return protocol::SchemasReply{{open_descriptors(), std::getenv("LD_LIBRARY_PATH")}};
  throw InternalError("not asked in these tests");
}

}  // namespace

int main() {
  if (std::getenv("FAKE_DEAD")) {
    std::fputs("error while loading shared libraries: libc10.so: cannot open shared object file\n", stderr);
    return 127;
  }
  protocol::serve(answer);
}
