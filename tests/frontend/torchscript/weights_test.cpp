#include <gmock/gmock.h>

#include <map>
#include <set>

#include "models.h"

namespace compatcheck::frontend::torchscript {
namespace {

using Kind = ir::LoadNote::Kind;

TEST(Weights, StayInTheFile) {
  for (const char* name : {"resnet_small-traced", "resnet_small-scripted", "lstm-traced"}) {
    const std::uint64_t size = std::filesystem::file_size(model(name));
    std::size_t tensors = 0;
    for_each_tensor(read(name), [&](const std::string&, const ir::TensorView& tensor) {
      ++tensors;
      ASSERT_TRUE(tensor.storage && tensor.storage->in_file);
      EXPECT_LE(tensor.storage->file_offset + tensor.storage->bytes, size);
      EXPECT_TRUE(tensor.storage->data.empty() || tensor.storage->bytes <= 512);  // small ones come along
    });
    EXPECT_GT(tensors, 3u);
  }
}

TEST(Weights, OfFrozenFilesAreConstants) {
  const ir::Program program = read("resnet_small-frozen-traced");
  std::size_t in_file = 0;
  for (const ir::Node* node : nodes(program, "prim::Constant"))
    if (const auto* tensor = ir::constant_of(node->output()) ? ir::constant_of(node->output())->get<ir::TensorView>() : nullptr) {
      EXPECT_THAT(tensor->storage->record, testing::StartsWith("constants/"));
      in_file += tensor->storage->in_file;
    }
  EXPECT_GT(in_file, 10u);
}

TEST(Weights, SharedStoragesAreShared) {
  std::map<const ir::Storage*, int> users;
  for_each_tensor(read("shared_storages-traced"),
                  [&](const std::string&, const ir::TensorView& tensor) { ++users[tensor.storage.get()]; });
  EXPECT_TRUE(std::any_of(users.begin(), users.end(), [](const auto& user) { return user.second > 1; }));
}

TEST(Weights, KeepTheDeviceTheyWereSavedOn) {
  const ir::Program program = read("gpu-traced");
  std::set<std::string> devices;
  for_each_tensor(program, [&](const std::string&, const ir::TensorView& tensor) { devices.insert(tensor.device); });
  EXPECT_TRUE(devices.contains("cuda:0"));
  EXPECT_EQ(notes(program, Kind::cuda_to_cpu).size(), 1u);
  EXPECT_TRUE(notes(read("my_add-traced"), Kind::cuda_to_cpu).empty());
}

// The same model, stored in ways that can't be mapped.
TEST(Weights, CompressedAndBigEndianArchivesAreUnpacked) {
  const std::string sound_file = file_bytes(broken("sound.pt"));
  std::map<std::string, std::string> sound;
  for_each_tensor(read_program(broken("sound.pt"), {}), [&](const std::string& name, const ir::TensorView& tensor) {
    sound[name] = bytes_of(*tensor.storage, sound_file);
  });
  ASSERT_FALSE(sound.empty());
  for (const char* file : {"deflated.pt", "big_endian.pt"}) {
    SCOPED_TRACE(file);
    const ir::Program program = read_program(broken(file), {});
    EXPECT_EQ(notes(program, Kind::fallback_loader).size(), 1u);
    std::map<std::string, std::string> found;
    for_each_tensor(program,
                    [&](const std::string& name, const ir::TensorView& tensor) { found[name] = bytes_of(*tensor.storage, {}); });
    EXPECT_EQ(found, sound);
  }
}

}  // namespace
}  // namespace compatcheck::frontend::torchscript
