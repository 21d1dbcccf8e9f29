// Frames of the protocol on a stream socket.
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "frontend/protocol.h"

namespace compatcheck::frontend::protocol {
namespace {

constexpr std::uint64_t frame_magic = 0x31'6b'63'68'65'63'6b'63;  // "ckcehck1" in memory; both ends are one machine
constexpr int poll_milliseconds = 50;

struct Header {
  std::uint64_t magic = 0;
  std::uint64_t bytes = 0;
};

union ControlBuffer {  // room for one descriptor, aligned as cmsg(3) wants it
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int))];
};

void attach(msghdr& message, ControlBuffer& control, int descriptor) {
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
}

void take_descriptor(msghdr& message, Frame& frame) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    if (frame.descriptor >= 0) ::close(frame.descriptor);
    std::memcpy(&frame.descriptor, CMSG_DATA(header), sizeof(int));
  }
}

// Waits until there is something to read.
Receipt wait(int socket, const std::function<bool()>& while_waiting) {
  for (;;) {
    pollfd ready{socket, POLLIN, 0};
    const int count = ::poll(&ready, 1, while_waiting ? poll_milliseconds : -1);
    if (count < 0 && errno != EINTR) return Receipt::closed;
    if (count > 0) return Receipt::frame;
    if (while_waiting && !while_waiting()) return Receipt::idle;
  }
}

Receipt receive_all(int socket, void* data, std::size_t size, Frame& frame, const std::function<bool()>& while_waiting) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    if (const Receipt waited = wait(socket, while_waiting); waited != Receipt::frame) return waited;
    ControlBuffer control{};
    iovec part{at, size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return Receipt::closed;
    take_descriptor(message, frame);
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return Receipt::frame;
}

}  // namespace

bool send_frame(int socket, std::span<const std::uint8_t> bytes, int descriptor) {
  Header header{frame_magic, bytes.size()};
  std::array<iovec, 2> parts{iovec{&header, sizeof header}, iovec{const_cast<std::uint8_t*>(bytes.data()), bytes.size()}};
  ControlBuffer control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (descriptor >= 0) attach(message, control, descriptor);
  std::size_t left = sizeof header + bytes.size();
  while (left > 0) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    message.msg_control = nullptr;  // a descriptor goes once
    message.msg_controllen = 0;
    left -= static_cast<std::size_t>(sent);
    auto done = static_cast<std::size_t>(sent);
    for (iovec& part : parts) {
      const std::size_t here = std::min(done, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + here;
      part.iov_len -= here;
      done -= here;
    }
  }
  return true;
}

Receipt receive_frame(int socket, Frame& frame, const std::function<bool()>& while_waiting) {
  Header header;
  if (const Receipt got = receive_all(socket, &header, sizeof header, frame, while_waiting); got != Receipt::frame) return got;
  if (header.magic != frame_magic) return Receipt::damaged;
  // Grown as bytes arrive: a length alone must not make us allocate.
  constexpr std::uint64_t step = 16 << 20;
  frame.bytes.clear();
  while (frame.bytes.size() < header.bytes) {
    const std::size_t had = frame.bytes.size();
    frame.bytes.resize(had + static_cast<std::size_t>(std::min(step, header.bytes - had)));
    const Receipt got = receive_all(socket, frame.bytes.data() + had, frame.bytes.size() - had, frame, while_waiting);
    if (got != Receipt::frame) return got;
  }
  return Receipt::frame;
}

}  // namespace compatcheck::frontend::protocol
