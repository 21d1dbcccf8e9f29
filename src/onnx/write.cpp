#include "onnx/write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "compatcheck/error.h"
#include "onnx/proto.h"
#include "onnx/weight_copy.h"

namespace compatcheck::onnx {
namespace {

// Source: onnx/onnx.proto.
constexpr std::uint32_t model_graph = 7, graph_initializer = 5, tensor_raw_data = 9;
constexpr std::uint64_t most_bytes = (2ull << 30) - 1;   // of a protobuf message
constexpr std::uint64_t external_alignment = 4096;       // so that runtimes can map it

void put_varint(std::string& into, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) into.push_back(static_cast<char>(value | 0x80));
  into.push_back(static_cast<char>(value));
}

// The head of a length-delimited field.
std::string field(std::uint32_t number, std::uint64_t length) {
  std::string head;
  put_varint(head, number << 3 | 2);
  put_varint(head, length);
  return head;
}

// A file that is there under its name when it is whole.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& file) : file_(target_of(file)), temporary_(file_.string() + ".part" + std::to_string(getpid())) {
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw UsageError(file_.string() + ": can't write: " + std::strerror(errno));
  }
  ~OutputFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!done_) unlink(temporary_.c_str());
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  int descriptor() const { return descriptor_; }

  // A full disk is told at once. Blocks that are there already also spare the file system to write everything out when the file takes
  // an older one's place (ext4's auto_da_alloc).
  void reserve(std::uint64_t bytes) const {
    if (bytes > 0 && fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
      throw UsageError(file_.string() + ": can't write " + std::to_string(bytes >> 20) + " MB: " + std::strerror(errno));
  }

  void put(const std::string& bytes, std::uint64_t at) const { write_all(descriptor_, bytes.data(), bytes.size(), at); }
  std::uint64_t size() const {
    struct stat status {};
    return fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }
  void finish() {
    const bool closed = close(std::exchange(descriptor_, -1)) == 0;
    if (!closed || rename(temporary_.c_str(), file_.c_str()) != 0) throw UsageError(file_.string() + ": can't write: " + std::strerror(errno));
    done_ = true;
  }

 private:
  // A link keeps standing, and what is no file isn't replaced by one.
  static std::filesystem::path target_of(const std::filesystem::path& file) {
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) throw UsageError(file.string() + ": can't write: it is there, and no file");
    const auto target = std::filesystem::is_symlink(std::filesystem::symlink_status(file, error)) ? std::filesystem::weakly_canonical(file, error) : file;
    return error ? file : target;
  }

  std::filesystem::path file_, temporary_;
  int descriptor_ = -1;
  bool done_ = false;
};

// A weight that isn't in the skeleton, and the bytes around it.
struct Far {
  const TensorData* data = nullptr;
  std::string header;                  // the TensorProto's other fields, then the head of raw_data
};

class Layout {
 public:
  explicit Layout(const Model& model) : model_(model), proto_(to_proto(model)) {
    check(proto_, model);
    for (const Initializer& initializer : model.initializers) weights_ += initializer.data.view ? byte_count(initializer.data) : 0;
  }

  std::uint64_t weight_bytes() const { return weights_; }
  std::uint64_t skeleton_bytes() const { return proto_.ByteSizeLong(); }

  void write_whole(OutputFile& out, int weights, const std::function<void(std::uint64_t)>& written) {
    std::vector<Far> far = take_far();
    std::string graph = serialized(proto_.graph());
    std::uint64_t length = graph.size();
    for (const Far& one : far) {
      const std::uint64_t tensor = one.header.size() + byte_count(*one.data);
      length += field(graph_initializer, tensor).size() + tensor;
    }
    proto_.clear_graph();
    const std::string head = serialized(proto_) + field(model_graph, length);
    out.reserve(head.size() + length);
    out.put(head + graph, 0);
    std::vector<PlacedWeight> placed;
    std::uint64_t at = head.size() + graph.size();
    for (const Far& one : far) {
      const std::string before = field(graph_initializer, one.header.size() + byte_count(*one.data)) + one.header;
      out.put(before, at);
      placed.push_back({one.data, at + before.size()});
      at = placed.back().at + byte_count(*one.data);
    }
    copy_weights(placed, weights, out.descriptor(), written);
    if (out.size() != head.size() + length) throw InternalError("the ONNX file isn't as long as it was laid out to be");
  }

  void write_external(OutputFile& out, OutputFile& data, const std::string& location, int weights, const std::function<void(std::uint64_t)>& written) {
    data.reserve(weights_);
    std::vector<PlacedWeight> placed;
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < model_.initializers.size(); ++i) {
      const TensorData& tensor = model_.initializers[i].data;
      if (!tensor.view) continue;
      const std::uint64_t aligned = (at + external_alignment - 1) / external_alignment * external_alignment;
      auto& proto = *proto_.mutable_graph()->mutable_initializer(static_cast<int>(i));
      proto.set_data_location(::onnx::TensorProto::EXTERNAL);
      const auto entry = [&](const char* key, const std::string& value) {
        auto* pair = proto.add_external_data();
        pair->set_key(key);
        pair->set_value(value);
      };
      entry("location", location);
      entry("offset", std::to_string(aligned));
      entry("length", std::to_string(byte_count(tensor)));
      placed.push_back({&tensor, aligned});
      at = aligned + byte_count(tensor);
    }
    copy_weights(placed, weights, data.descriptor(), written);
    if (data.size() != at) throw InternalError("the file of weights isn't as long as it was laid out to be");
    out.put(serialized(proto_), 0);
  }

 private:
  static std::string serialized(const google::protobuf::MessageLite& message) {
    std::string bytes;
    if (!message.SerializeToString(&bytes)) throw InternalError("a message of ONNX could not be written");
    return bytes;
  }

  // Takes them out of the message.
  std::vector<Far> take_far() {
    std::vector<Far> far;
    auto& all = *proto_.mutable_graph()->mutable_initializer();
    google::protobuf::RepeatedPtrField<::onnx::TensorProto> near;
    for (std::size_t i = 0; i < model_.initializers.size(); ++i) {
      auto& tensor = *all.Mutable(static_cast<int>(i));
      const TensorData& data = model_.initializers[i].data;
      if (data.view) far.push_back({&data, serialized(tensor) + field(tensor_raw_data, byte_count(data))});
      else near.Add()->Swap(&tensor);
    }
    all.Swap(&near);
    return far;
  }

  const Model& model_;
  ::onnx::ModelProto proto_;
  std::uint64_t weights_ = 0;
};

}  // namespace

void write(const Model& model, int weights, const std::filesystem::path& file, const WriteOptions& options) {
  Layout layout(model);
  std::uint64_t done = 0;
  const auto written = [&](std::uint64_t bytes) {
    done += bytes;
    if (options.progress) options.progress(done, layout.weight_bytes());
  };
  const std::uint64_t whole = layout.skeleton_bytes() + layout.weight_bytes() + 64 * model.initializers.size();
  const bool external = options.external_data == ExternalData::always || (options.external_data == ExternalData::automatic && whole > most_bytes);
  if (!external && whole > most_bytes) throw UsageError("the model is larger than 2 GB, which one ONNX file can't be: use --external-data auto");
  OutputFile out(file);
  if (!external || layout.weight_bytes() == 0) {
    layout.write_whole(out, weights, written);
    return out.finish();
  }
  const std::filesystem::path data_file = file.string() + ".data";
  OutputFile data(data_file);
  layout.write_external(out, data, data_file.filename().string(), weights, written);
  data.finish();
  out.finish();
}

}  // namespace compatcheck::onnx
