#include "onnx/write.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <fstream>
#include <numeric>

#include "compatcheck/error.h"
#include "onnx/builder.h"
#include "onnx/output_file.h"

namespace compatcheck::onnx {
namespace {

using ir::DType;

// A folder of its own, and in it a file of 0, 1, 2 … as f32 that weights are places of.
class Write : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("write_test" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    std::vector<float> numbers(600 * 700);
    std::iota(numbers.begin(), numbers.end(), 0.f);
    std::ofstream(folder_ / "weights")
        .write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * 4));
    weights_ = open((folder_ / "weights").c_str(), O_RDONLY);
    storage_ = std::make_shared<ir::Storage>(
        ir::Storage{.file_offset = 0, .bytes = numbers.size() * 4, .in_file = true, .data = {}, .record = {}});
  }
  void TearDown() override {
    close(weights_);
    std::filesystem::remove_all(folder_);
  }

  TensorData weight(std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides, std::int64_t offset = 0,
                    DType as = DType::f32) const {
    ir::TensorView view;
    view.sizes = sizes;
    view.strides = std::move(strides);
    view.offset = offset;
    view.storage = storage_;
    return {.dtype = as, .dims = std::move(sizes), .bytes = {}, .view = std::move(view)};
  }

  // y = the weight, as it stands in the file that is written.
  ::onnx::TensorProto written(const TensorData& data, const WriteOptions& options = {}) {
    Model model;
    model.opset = 17;
    Builder builder(model, moved_, {7, 26});
    const Value y = builder.node("Identity", {builder.constant(data)});
    std::vector<Dimension> shape;
    for (const std::int64_t dim : data.dims) shape.push_back({dim, {}});
    model.values[y.id] = {.kind = ValueInfo::Kind::tensor, .dtype = data.dtype, .shape = shape, .name = "y"};
    model.values[model.initializers[0].value].name = "w";
    model.graph.outputs.push_back(y.id);
    write(model, weights_, folder_ / "model.onnx", options);
    ::onnx::ModelProto proto;
    std::ifstream in(folder_ / "model.onnx", std::ios::binary);
    EXPECT_TRUE(proto.ParseFromIstream(&in));
    return proto.graph().initializer(0);
  }

  static std::vector<float> floats(const std::string& bytes) {
    std::vector<float> made(bytes.size() / 4);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(made.data()));
    return made;
  }

  std::filesystem::path folder_;
  int weights_ = -1;
  std::shared_ptr<ir::Storage> storage_;
  MovedAttributes moved_;
};

TEST_F(Write, WeightsComeFromTheirPlace) {
  EXPECT_THAT(floats(written(weight({2, 2}, {2, 1}, 5)).raw_data()), testing::ElementsAre(5, 6, 7, 8));
}

TEST_F(Write, StridesAreLaidStraight) {
  EXPECT_THAT(floats(written(weight({2, 3}, {1, 2}, 1)).raw_data()), testing::ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_THAT(floats(written(weight({2, 2}, {0, 3})).raw_data()), testing::ElementsAre(0, 3, 0, 3));
}

TEST_F(Write, DtypesAreCast) {
  const auto proto = written(weight({3}, {1}, 7, DType::f64));
  EXPECT_EQ(proto.data_type(), ::onnx::TensorProto::DOUBLE);
  EXPECT_EQ(proto.raw_data().size(), 24u);
}

TEST_F(Write, ExternalDataLiesBesideTheModel) {
  const auto proto = written(weight({600, 700}, {700, 1}), {.external_data = ExternalData::always, .progress = {}});
  EXPECT_EQ(proto.data_location(), ::onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(proto.external_data(0).value(), "model.onnx.data");
  EXPECT_EQ(std::filesystem::file_size(folder_ / "model.onnx.data"), 600u * 700u * 4u);
}

TEST_F(Write, NothingIsLeftOfAFailure) {
  TensorData beyond = weight({4}, {1}, 600 * 700 - 2);  // the file ends before
  EXPECT_THROW(written(beyond), ModelError);
  EXPECT_THROW(written(weight({4}, {1}),
                       {.external_data = ExternalData::never, .progress = [](auto, auto) { throw Cancelled("cancelled"); }}),
               Cancelled);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::ElementsAre("weights"));
}

TEST_F(Write, ASizeThatDoesNotFitIsStatedInBytes) {
  const OutputFile file(folder_ / "model.onnx");
  try {
    file.reserve(std::uint64_t{1} << 62);
    FAIL() << "there is no such space";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("model.onnx: can't write 4611686018427387904 bytes: "));
  }
}

TEST_F(Write, ReportsAMissingFolder) {
  Model model;
  model.opset = 17;
  Builder builder(model, moved_, {7, 26});
  const Value y = builder.node("Identity", {builder.scalar(DType::f32, 1)});
  model.values[model.initializers[0].value].name = "w";
  model.values[y.id].name = "y";
  model.values[y.id].shape.emplace();
  model.graph.outputs.push_back(y.id);
  EXPECT_THROW(write(model, -1, folder_ / "absent" / "model.onnx"), UsageError);
}

}  // namespace
}  // namespace compatcheck::onnx
