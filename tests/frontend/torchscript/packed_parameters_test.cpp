#include <gtest/gtest.h>

#include "ir/text.h"
#include "models.h"

namespace compatcheck::frontend::torchscript {
namespace {

const ir::TensorView* tensor(const ir::Program& program, const ir::Object& object, const std::string& name) {
  const ir::Constant* value = attribute(program, object, name);
  return value ? value->get<ir::TensorView>() : nullptr;
}

void expect_weights_in_file(const ir::Program& program, const std::vector<const ir::Object*>& packed) {
  ASSERT_FALSE(packed.empty());
  for (const ir::Object* object : packed) {
    const ir::TensorView* weight = tensor(program, *object, "weight");
    ASSERT_TRUE(weight);
    EXPECT_EQ(weight->dtype, ir::DType::qi8);
    ASSERT_TRUE(weight->quantizer);
    EXPECT_TRUE(weight->quantizer->per_channel ? !weight->quantizer->scales.empty() : weight->quantizer->scale > 0);
    EXPECT_TRUE(weight->storage->in_file);
  }
}

TEST(PackedParameters, OfDynamicLinearLayers) {
  for (const char* name : {"quantized_linear-traced", "quantized_linear-scripted"}) {
    const ir::Program program = read(name);
    const auto packed = objects_of(program, "quantized.LinearPackedParamsBase");
    EXPECT_EQ(packed.size(), 2u);
    expect_weights_in_file(program, packed);
  }
}

TEST(PackedParameters, OfStaticConvolutions) {
  for (const char* name : {"quantized_static-traced", "quantized_static-scripted"}) {
    const ir::Program program = read(name);
    const auto packed = objects_of(program, "quantized.Conv2dPackedParamsBase");
    expect_weights_in_file(program, packed);
    for (const ir::Object* object : packed) {
      EXPECT_EQ(ir::print(*attribute(program, *object, "stride")), "[1, 1]");
      EXPECT_EQ(ir::print(*attribute(program, *object, "padding")), "[1, 1]");
      EXPECT_EQ(ir::print(*attribute(program, *object, "dilation")), "[1, 1]");
      EXPECT_EQ(*attribute(program, *object, "groups")->get<std::int64_t>(), 1);
      EXPECT_FALSE(*attribute(program, *object, "transpose")->get<bool>());
    }
  }
}

TEST(PackedParameters, OfRecurrentCells) {
  const ir::Program program = read("quantized_dynamic-scripted");
  const auto cells = objects_of(program, "rnn.CellParamsBase");
  ASSERT_FALSE(cells.empty());
  const auto* packed = attribute(program, *cells[0], "packed")->get<ir::ListConstant>();
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->items.size(), 2u);
}

// Their __setstate__ packs for an engine; none was needed.
TEST(PackedParameters, StatesAreAllSet) {
  for (const char* name : {"quantized_static-scripted", "quantized_dynamic-scripted"})
    EXPECT_TRUE(notes(read(name), ir::LoadNote::Kind::setstate_skipped).empty()) << name;
}

}  // namespace
}  // namespace compatcheck::frontend::torchscript
