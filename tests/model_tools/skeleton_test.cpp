#include "model_tools/skeleton.h"

#include <gmock/gmock.h>

#include <span>

#include "compatcheck/error.h"

namespace compatcheck::model_tools {
namespace {

std::shared_ptr<const frontend::InputFile> file_of(const std::string& bytes) {
  return std::make_shared<const frontend::InputFile>(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
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
  std::string bytes;
  const Layout layout = lay_out(skeleton);
  for (const Segment& segment : layout.segments) {
    if (const auto* text = std::get_if<std::string>(&segment)) bytes += *text;
    else
      for (const auto& part : std::get<const FarElements*>(segment)->parts) {
        const auto read = std::get<const FarElements*>(segment)->file->read(part.at, part.bytes);
        bytes.append(read.begin(), read.end());
      }
  }
  EXPECT_EQ(bytes.size(), layout.bytes);
  return bytes;
}

TEST(Skeleton, LeavesBigElementsInTheFileAndPutsThemBack) {
  const std::string bytes = model().SerializeAsString();
  const Skeleton skeleton = Skeleton::read(file_of(bytes));
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
  const Skeleton skeleton = Skeleton::read(file_of(forged.SerializeAsString()));
  EXPECT_EQ(skeleton.far(skeleton.model.graph().initializer(1)), nullptr);
}

TEST(Skeleton, RefusesWhatIsNoModel) {
  for (const std::string& bytes : {std::string(), std::string("\x08\x08"), std::string("\x08\x08\x3a\x7f"), std::string("hello, world")})
    EXPECT_THROW(Skeleton::read(file_of(bytes)), ModelError);
}

}  // namespace
}  // namespace compatcheck::model_tools
