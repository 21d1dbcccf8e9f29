// The helper's side of the protocol.
#include <poll.h>
#include <unistd.h>

#include <exception>
#include <new>
#include <string>
#include <thread>

#include "compatcheck/error.h"
#include "frontend/libtorch_message.h"
#include "frontend/protocol.h"

namespace compatcheck::frontend::protocol {
namespace {

// A loader that hangs would outlive a tool that was killed.
void exit_with_the_tool() {
  std::thread([] {
    for (;;) {
      pollfd gone{helper_socket, POLLRDHUP, 0};
      if (::poll(&gone, 1, -1) > 0 && (gone.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))) ::_exit(0);
    }
  }).detach();
}

std::string attached_path(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

void use_descriptor(Request& request, int descriptor) {
  std::visit(
      [&](auto& held) {
        if constexpr (requires { held.model; }) held.model.path = attached_path(descriptor);
      },
      request);
}

Reply answer_or_error(const std::function<Reply(const Request&)>& answer, const Frame& frame) {
  try {
    Request request = decode_request(frame.bytes);
    if (frame.descriptor >= 0) use_descriptor(request, frame.descriptor);
    return answer(request);
  } catch (const UsageError& error) {
    return ErrorReply{ErrorKind::usage, error.what()};
  } catch (const InternalError& error) {
    return ErrorReply{ErrorKind::internal, error.what()};
  } catch (const ModelError& error) {
    return ErrorReply{ErrorKind::model, error.what()};
  } catch (const std::bad_alloc&) {
    return ErrorReply{ErrorKind::model,
                      "the loader ran out of the memory that it may use (LoadOptions::memory_mb gives it more)"};
  } catch (const std::exception& error) {
    const std::string reason = first_sentence(error.what());
    return ErrorReply{ErrorKind::model, reason.empty() ? "the loader gave up without a reason" : reason};
  }
}

}  // namespace

void serve(const std::function<Reply(const Request&)>& answer) {
  exit_with_the_tool();
  Frame frame;
  while (receive_frame(helper_socket, frame) == Receipt::frame) {
    const Reply reply = answer_or_error(answer, frame);
    if (frame.descriptor >= 0) ::close(frame.descriptor);
    frame.descriptor = -1;
    if (!send_frame(helper_socket, encode(reply))) return;
  }
}

}  // namespace compatcheck::frontend::protocol
