// The helper program itself, asked by its client.
#include <gmock/gmock.h>

#include <cstdlib>

#include "compatcheck/error.h"
#include "frontend/load.h"
#include "models.h"

namespace compatcheck::frontend {
namespace {

LoadOptions with_helper() {
  LoadOptions options;
  options.helper = COMPATCHECK_HELPER;
  options.frontend = FrontendKind::libtorch;
  return options;
}

TEST(Helper, GivesTheProgramAsItReadsIt) {
  Frontend frontend(with_helper());
  const Loaded loaded = frontend.load(torchscript::model("resnet_small-traced"));
  const auto& program = std::get<ir::Program>(loaded.content);
  const ir::Program direct = torchscript::read("resnet_small-traced");
  EXPECT_EQ(torchscript::nodes(program).size(), torchscript::nodes(direct).size());
  EXPECT_EQ(program.objects.size(), direct.objects.size());
  EXPECT_THAT(program.libtorch_version, testing::StartsWith("2."));
}

TEST(Helper, ServesSeveralModelsAndOutlivesRefusals) {
  Frontend frontend(with_helper());
  EXPECT_THROW(frontend.load(torchscript::broken("code_name.pt")), ModelError);
  EXPECT_NO_THROW(frontend.load(torchscript::model("custom_list-scripted")));
  EXPECT_NO_THROW(frontend.load(torchscript::model("custom_tuple-scripted")));
}

TEST(Helper, ListsTheSchemasOfItsLibtorch) {
  Frontend frontend(with_helper());
  const auto schemas = frontend.registered_schemas();
  EXPECT_GT(schemas.size(), 3000u);
  EXPECT_THAT(schemas, testing::Contains("aten::relu(Tensor self) -> Tensor"));
}

// The wheels bring a library of operators for torch's own tests.
TEST(Helper, LoadsOperatorLibraries) {
  const char* libtorch = std::getenv("COMPATCHECK_LIBTORCH");
  const std::string library = std::string(libtorch ? libtorch : "") + "/lib/libaoti_custom_ops.so";
  ASSERT_TRUE(std::filesystem::exists(library)) << library;
  LoadOptions options = with_helper();
  options.op_libraries = {library};
  Frontend frontend(options);
  frontend.load(torchscript::model("my_add-traced"));
  EXPECT_THAT(frontend.registered_schemas(), testing::Contains(testing::HasSubstr("aoti_custom_ops::")));
}

TEST(Helper, AnOperatorLibraryThatIsNotThereIsTheUsersMistake) {
  LoadOptions options = with_helper();
  options.op_libraries = {"/nonexistent/libops.so"};
  Frontend frontend(options);
  EXPECT_THROW(frontend.load(torchscript::model("my_add-traced")), UsageError);
}

}  // namespace
}  // namespace compatcheck::frontend
