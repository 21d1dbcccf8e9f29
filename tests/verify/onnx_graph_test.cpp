#include "verification/onnx_graph.h"

#include <gmock/gmock.h>

#include <fstream>
#include <stdexcept>

#include "compatcheck/error.h"
#include "onnx_file/onnx_text.h"
#include "verification/temporary.h"

namespace compatcheck::verification {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

::onnx::ModelProto model_of(const char* text) { return onnx_file::read_text<::onnx::ModelProto>(text); }

class OnnxGraphTest : public testing::Test {
 protected:
  OnnxGraph graph(const ::onnx::ModelProto& model) const {
    const auto file = folder_.path() / "model.onnx";
    std::ofstream(file, std::ios::binary) << model.SerializeAsString();
    return {file, {}};
  }

  static Segment segment(const OnnxGraph& graph, const std::string& value, const std::set<std::string>& cut) {
    const auto made = graph.segment({{value}, cut, {}, {}, {}});
    if (!made) throw std::runtime_error("it can't stand alone");
    return *made;
  }

  static ::onnx::GraphProto read(const Segment& segment) {
    ::onnx::ModelProto model;
    if (!model.ParseFromString(segment.bytes)) throw std::runtime_error("it can't be read");
    return model.graph();
  }

  TemporaryFolder folder_;
};

TEST_F(OnnxGraphTest, ANameThatSeveralBodiesUseIsRightInEach) {
  const OnnxGraph onnx = graph(model_of(onnx_file::branches));
  EXPECT_FALSE(onnx.is_made("p"));
  const Segment first = segment(onnx, "q", {"a"}), second = segment(onnx, "r", {"a"});
  EXPECT_THAT(first.inputs, ElementsAre("a"));
  EXPECT_THAT(first.nodes, ElementsAre("Add", "Neg"));
  EXPECT_THAT(second.nodes, ElementsAre("Reshape", "Add"));
  EXPECT_EQ(read(first).initializer(0).data_type(), ::onnx::TensorProto::FLOAT);
  EXPECT_EQ(read(second).initializer_size(), 2);
  EXPECT_EQ(read(second).initializer(1).data_type(), ::onnx::TensorProto::INT64);
  EXPECT_EQ(onnx.dtype_of("r"), ir::DType::f32);
}

::onnx::TensorProto weight(std::size_t elements) {
  ::onnx::TensorProto made;
  made.set_name("w");
  made.set_data_type(::onnx::TensorProto::FLOAT);
  made.add_dims(static_cast<std::int64_t>(elements));
  made.set_raw_data(std::string(elements * sizeof(float), 'w'));
  return made;
}

TEST_F(OnnxGraphTest, WeightsGoIntoTheSegmentThatReadsThem) {
  auto model =
      model_of("<ir_version: 8, opset_import: [\"\" : 17]> g (float[1000] x) => (float[1000] y) { a = Add(x, w) y = Abs(a) }");
  *model.mutable_graph()->add_initializer() = weight(1000);
  const OnnxGraph onnx = graph(model);
  EXPECT_EQ(onnx.weight_bytes_of("a"), 4000u);
  EXPECT_EQ(read(segment(onnx, "y", {})).initializer(0).raw_data(), std::string(4000, 'w'));
  EXPECT_EQ(read(segment(onnx, "y", {"a"})).initializer_size(), 0);
}

TEST_F(OnnxGraphTest, SparseInitializersAreKept) {
  auto model = model_of("<ir_version: 8, opset_import: [\"\" : 17]> g (float[4] x) => (float[4] y) { y = Add(x, w) }");
  auto& sparse = *model.mutable_graph()->add_sparse_initializer();
  *sparse.mutable_values() = weight(1);
  sparse.add_dims(4);
  sparse.mutable_indices()->set_data_type(::onnx::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(2);
  const auto found = read(segment(graph(model), "y", {}));
  ASSERT_EQ(found.sparse_initializer_size(), 1);
  EXPECT_EQ(found.sparse_initializer(0).values().name(), "w");
}

TEST_F(OnnxGraphTest, WeightsBesideItStayInItsFolder) {
  auto model = model_of("<ir_version: 8, opset_import: [\"\" : 17]> g (float[4] x) => (float[4] y) { y = Add(x, w) }");
  auto& outside = *model.mutable_graph()->add_initializer() = weight(4);
  outside.clear_raw_data();
  outside.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto& entry = *outside.add_external_data();
  entry.set_key("location");
  entry.set_value("../secret.bin");
  const OnnxGraph onnx = graph(model);
  const auto message_of = [](const auto& work) {
    try {
      work();
    } catch (const ModelError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(message_of([&] { onnx.must_be_whole(); }), HasSubstr("lies outside of the model's folder"));
  EXPECT_THAT(message_of([&] { segment(onnx, "y", {}); }), HasSubstr("lies outside of the model's folder"));
}

TEST_F(OnnxGraphTest, MainValuesKnowWhoReadsThemLast) {
  const OnnxGraph onnx = graph(model_of(onnx_file::branches));
  const auto values = onnx.main_values();
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].name, "a");
  EXPECT_EQ(values[0].last_read, 1u);
  EXPECT_EQ(values[1].last_read, 0u);
}

}  // namespace
}  // namespace compatcheck::verification
