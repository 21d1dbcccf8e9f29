#include "onnx/write.h"

#include <string>
#include <vector>

#include "compatcheck/error.h"
#include "onnx/output_file.h"
#include "onnx/proto.h"
#include "onnx/weight_copy.h"
#include "onnx/wire.h"

namespace compatcheck::onnx {
namespace {

// Source: onnx/onnx.proto.
constexpr std::uint32_t model_graph = 7, graph_initializer = 5, tensor_raw_data = 9;

// A weight that isn't in the skeleton, and the bytes around it.
struct Far {
  const TensorData* data = nullptr;
  std::string header;  // the TensorProto's other fields, then the head of raw_data
};

class Layout {
 public:
  Layout(const Model& model, const WriteOptions& options) : model_(model), proto_(to_proto(model)) {
    state_types(proto_, check(proto_, model), model, options.shapes);
    for (const auto& [key, value] : options.metadata) {
      auto* entry = proto_.add_metadata_props();
      entry->set_key(key);
      entry->set_value(value);
    }
    for (const Initializer& initializer : model.initializers)
      weights_ += initializer.data.view ? byte_count(initializer.data) : 0;
  }

  std::uint64_t weight_bytes() const { return weights_; }
  std::uint64_t skeleton_bytes() const { return proto_.ByteSizeLong(); }

  void write_whole(OutputFile& out, int weights, const std::function<void(std::uint64_t)>& written) {
    std::vector<Far> far = take_far();
    std::string graph = serialized(proto_.graph());
    std::uint64_t length = graph.size();
    for (const Far& one : far) {
      const std::uint64_t tensor = one.header.size() + byte_count(*one.data);
      length += length_head(graph_initializer, tensor).size() + tensor;
    }
    proto_.clear_graph();
    const std::string head = serialized(proto_) + length_head(model_graph, length);
    out.reserve(head.size() + length);
    out.put(head + graph, 0);
    std::vector<PlacedWeight> placed;
    std::uint64_t at = head.size() + graph.size();
    for (const Far& one : far) {
      const std::string before = length_head(graph_initializer, one.header.size() + byte_count(*one.data)) + one.header;
      out.put(before, at);
      placed.push_back({one.data, at + before.size()});
      at = placed.back().at + byte_count(*one.data);
    }
    copy_weights(placed, weights, out.descriptor(), written);
    if (out.size() != head.size() + length) throw InternalError("the ONNX file isn't as long as it was laid out to be");
  }

  void write_external(OutputFile& out, OutputFile& data, const std::string& location, int weights,
                      const std::function<void(std::uint64_t)>& written) {
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
      if (data.view)
        far.push_back({&data, serialized(tensor) + length_head(tensor_raw_data, byte_count(data))});
      else
        near.Add()->Swap(&tensor);
    }
    all.Swap(&near);
    return far;
  }

  const Model& model_;
  ::onnx::ModelProto proto_;
  std::uint64_t weights_ = 0;
};

// Counts what is written for the caller.
std::function<void(std::uint64_t)> counting(const Layout& layout, const WriteOptions& options) {
  return [&layout, &options, done = std::uint64_t{0}](std::uint64_t bytes) mutable {
    done += bytes;
    if (options.progress) options.progress(done, layout.weight_bytes());
  };
}

bool too_large(const Layout& layout, const Model& model) {
  return layout.skeleton_bytes() + layout.weight_bytes() + 64 * model.initializers.size() > most_message_bytes;
}

}  // namespace

Written write(const Model& model, int weights, const std::filesystem::path& file, const WriteOptions& options) {
  Layout layout(model, options);
  const bool large = too_large(layout, model);
  const bool external =
      options.external_data == ExternalData::always || (options.external_data == ExternalData::automatic && large);
  if (!external && large)
    throw UsageError(
        "the model is larger than 2 GB, which one ONNX file can't be: ConvertOptions::external_data must not be `never`");
  OutputFile out(file);
  Written written;
  if (!external || layout.weight_bytes() == 0) {
    layout.write_whole(out, weights, counting(layout, options));
    written.bytes = out.size();
    out.finish();
    return written;
  }
  written.external_file = file.string() + ".data";
  OutputFile data(written.external_file);
  layout.write_external(out, data, written.external_file.filename().string(), weights, counting(layout, options));
  written.bytes = out.size();
  written.external_bytes = data.size();
  data.finish();
  out.finish();
  return written;
}

Written write(const Model& model, int weights, const Piece& piece, const WriteOptions& options) {
  Layout layout(model, options);
  if (options.external_data == ExternalData::always)
    throw UsageError("ConvertOptions::external_data `always` needs a file to write, beside which the weights lie");
  if (too_large(layout, model))
    throw UsageError(
        "the model is larger than 2 GB, which one ONNX file can't be: write it to a file, beside which the weights lie");
  OutputFile out = OutputFile::nameless();
  layout.write_whole(out, weights, counting(layout, options));
  out.read(piece);
  return {.bytes = out.size()};
}

}  // namespace compatcheck::onnx
