#include "onnx_file/skeleton.h"

#include <gmock/gmock.h>

#include <span>

#include "compatcheck/error.h"
#include "onnx/wire.h"

namespace compatcheck::onnx_file {
namespace {

std::shared_ptr<const files::InputFile> file_of(const std::string& bytes) {
  return std::make_shared<const files::InputFile>(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

::onnx::TensorProto tensor(const std::string& name, std::size_t bytes) {
  ::onnx::TensorProto made;
  made.set_name(name);
  made.set_data_type(::onnx::TensorProto::UINT8);
  made.add_dims(static_cast<std::int64_t>(bytes));
  made.set_raw_data(std::string(bytes, 'w'));
  return made;
}

// Weights in the graph, in an attribute, in a body and in a function.
::onnx::ModelProto model() {
  ::onnx::ModelProto made;
  made.set_ir_version(8);
  auto& graph = *made.mutable_graph();
  *graph.add_initializer() = tensor("big", 5000);
  *graph.add_initializer() = tensor("small", 3);
  auto* attribute = graph.add_node()->add_attribute();
  *attribute->mutable_t() = tensor("constant", 4000);
  auto* body = graph.add_node()->add_attribute()->mutable_g();
  *body->add_initializer() = tensor("inner", 3000);
  *made.add_functions()->add_node()->add_attribute()->mutable_t() = tensor("function", 2000);
  return made;
}

std::string written(const Skeleton& skeleton) {
  const Layout layout = lay_out(skeleton);
  const std::string bytes = bytes_of(layout);
  EXPECT_EQ(bytes.size(), layout.bytes);
  return bytes;
}

TEST(Skeleton, LeavesBigElementsInTheFileAndPutsThemBack) {
  const std::string bytes = model().SerializeAsString();
  const Skeleton skeleton = Skeleton::read(file_of(bytes), {});
  EXPECT_EQ(skeleton.far_elements().size(), 4u);
  EXPECT_LT(skeleton.model.ByteSizeLong(), 500u);
  const auto& big = skeleton.model.graph().initializer(0);
  ASSERT_NE(skeleton.far(big), nullptr);
  EXPECT_EQ(skeleton.far(big)->bytes(), 5000u);
  EXPECT_EQ(skeleton.far(skeleton.model.graph().initializer(1)), nullptr);
  ::onnx::ModelProto again;
  ASSERT_TRUE(again.ParseFromString(written(skeleton)));
  EXPECT_EQ(again.SerializeAsString(), bytes);
}

TEST(Skeleton, AFilesOwnMarkersAreDropped) {
  auto forged = model();
  forged.mutable_graph()->mutable_initializer(1)->mutable_unknown_fields()->AddVarint(536870911, 0);
  const Skeleton skeleton = Skeleton::read(file_of(forged.SerializeAsString()), {});
  EXPECT_EQ(skeleton.far(skeleton.model.graph().initializer(1)), nullptr);
}

std::string message_of(const std::string& bytes) {
  try {
    Skeleton::read(file_of(bytes), {});
  } catch (const ModelError& error) {
    return error.what();
  }
  return "it was read";
}

std::string repeated(const std::string& piece, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += piece;
  return all;
}

std::string model_of(const std::string& graph) { return std::string("\x08\x08", 2) + onnx::length_head(7, graph.size()) + graph; }

// Two bytes each in the file, hundreds in memory.
TEST(Skeleton, BoundsTheMemoryOfEmptyMessages) {
  const auto empty = [](char field) { return std::string{static_cast<char>(field << 3 | 2), '\0'}; };
  EXPECT_THAT(message_of(model_of(repeated(empty(1), 4 << 20))), testing::HasSubstr("512 MB of memory"));   // nodes
  EXPECT_THAT(message_of(model_of(repeated(empty(13), 8 << 20))), testing::HasSubstr("512 MB of memory"));  // value_info
  const std::string inputs = repeated(empty(1), 16 << 20);                                                  // of one node
  EXPECT_THAT(message_of(model_of(onnx::length_head(1, inputs.size()) + inputs)), testing::HasSubstr("512 MB of memory"));
}

TEST(Skeleton, PartsOfSparseTensorsStayInTheMessage) {
  ::onnx::ModelProto made = model();
  auto& sparse = *made.mutable_graph()->add_sparse_initializer();
  *sparse.mutable_values() = tensor("sparse", 5000);
  const Skeleton skeleton = Skeleton::read(file_of(made.SerializeAsString()), {});
  EXPECT_EQ(skeleton.far_elements().size(), 4u);
  EXPECT_EQ(skeleton.model.graph().sparse_initializer(0).values().raw_data().size(), 5000u);
}

TEST(Skeleton, ReadingEndsWhenItsCallerSays) {
  const ir::Watch watch([] { return true; }, 1000);
  EXPECT_THROW(Skeleton::read(file_of(model_of(repeated(std::string("\x0a\0", 2), 1000))), watch), Cancelled);
}

TEST(Skeleton, RefusesWhatIsNoModel) {
  for (const std::string& bytes :
       {std::string(), std::string("\x08\x08"), std::string("\x08\x08\x3a\x7f"), std::string("hello, world")})
    EXPECT_THROW(Skeleton::read(file_of(bytes), {}), ModelError);
}

}  // namespace
}  // namespace compatcheck::onnx_file
