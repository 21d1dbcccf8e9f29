// compatcheck-torchscript: opens TorchScript models with libtorch for compatcheck, which starts it (see protocol.h).
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "frontend/protocol.h"
#include "frontend/torchscript/answer.h"

namespace {

// libtorch's parser and compiler recurse over the code: what a thread has by default is too little for deep code.
constexpr std::size_t stack_bytes = 256u << 20;

void* serve(void*) {
  compatcheck::frontend::protocol::serve(compatcheck::frontend::torchscript::answer);
  return nullptr;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) {
    std::fputs("compatcheck-torchscript is a part of compatcheck, which starts it; it takes no arguments\n", stderr);
    return 2;
  }
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);  // weights and what is computed go back to the system when they are freed
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  if (const int error = pthread_create(&thread, &attributes, serve, nullptr)) {
    std::fprintf(stderr, "compatcheck-torchscript: can't start a thread: %s\n", std::strerror(error));
    return 3;
  }
  pthread_join(thread, nullptr);
  std::fflush(nullptr);
  _exit(0);  // nothing is left to do, and libtorch's own end takes longer than a small model
}
