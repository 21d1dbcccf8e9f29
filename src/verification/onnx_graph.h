// An ONNX file for bisecting: the node of each value, and models of parts of the graph.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "ir/watch.h"
#include "onnx/model.h"

namespace compatcheck::verification {

// A model of its own, made of a part of another.
struct Segment {
  std::string bytes;                 // a ModelProto that contains all its weights
  std::vector<std::string> inputs;   // values that it is given
  std::vector<std::string> nodes;    // names of the nodes that it is made of
  std::vector<std::string> results;  // names of the wanted values in this model, in the same order
};

// An output of a node of the main graph.
struct MainValue {
  std::string name;
  std::size_t last_read = 0;  // index of the main graph's value that the last reader makes; 0: never read
};

// A name that several bodies use for values of their own can't be requested; nodes read the right value.
class OnnxGraph {
 public:
  // Throws ModelError for a file that isn't an ONNX model. Weights, in the file or beside it, are read when a segment needs
  // them.
  OnnxGraph(const std::filesystem::path& file, const ir::Watch& watch);
  ~OnnxGraph();
  OnnxGraph(OnnxGraph&&) noexcept;
  OnnxGraph& operator=(OnnxGraph&&) = delete;

  // Throws ModelError if external weights aren't where the model states, or are outside its folder.
  void must_be_whole() const;

  int opset() const;  // opset of ONNX's own operators; 0 if the model states none
  std::string producer() const;
  std::optional<std::string> metadata(std::string_view key) const;
  // Some node gives the value that name: in the main graph, or in a body.
  bool is_made(const std::string& value) const;
  // It is the input of the main graph or of a body.
  bool is_given(const std::string& value) const;
  std::vector<std::string> node_names() const;  // includes nodes in bodies
  // Outputs of the main graph's nodes, in order.
  std::vector<MainValue> main_values() const;
  // The node that makes it: its name, or its operator where it has none; empty if none does.
  std::string maker_of(const std::string& value) const;
  // The model's inputs without its weights. An input that isn't a tensor has no type.
  struct Given {
    std::string name;
    std::optional<ir::DType> dtype;
    std::optional<std::vector<onnx::Dimension>> shape;
    bool sequence = false;    // the type is that of each member
    std::string quantized{};  // the quantized type that its values stand for: "qu8(0.5,128)"
  };
  std::vector<Given> inputs() const;
  // The values that the node reads that makes it, weights left out; empty if none does.
  std::vector<std::string> read_for(const std::string& value) const;
  std::optional<std::size_t> rank_of(const std::string& value) const;  // found by type inference, as the dtype
  // By type inference; nullopt where that doesn't tell.
  std::optional<ir::DType> dtype_of(const std::string& value) const;
  std::uint64_t weight_bytes_of(const std::string& value) const;  // weights that the value's node reads

  // The subgraph that makes `requested` (values that nodes of one graph or body make). Values in `cut` become inputs where they
  // are read, of the dtype that inference finds, or that of `dtypes`. nullopt if it reads a body's input that isn't cut.
  struct Request {
    std::vector<std::string> requested;
    const std::set<std::string>& cut;
    const std::map<std::string, ir::DType>& dtypes;
    const std::set<std::string>& sequences;                  // values of `cut` that are lists of tensors
    std::map<std::string, std::vector<std::int64_t>> sizes;  // sizes of inputs, if they must be declared
  };
  // Throws ModelError where its weights can't be read.
  std::optional<Segment> segment(const Request& request) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace compatcheck::verification
