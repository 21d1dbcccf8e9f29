#include <gmock/gmock.h>
#include <sys/stat.h>

#include "compatcheck/error.h"
#include "files/pickle.h"
#include "frontend/foreign.h"
#include "frontend/sample_archive.h"

namespace compatcheck::frontend {
namespace {

using namespace std::string_literals;
using testing::Folder;
using ::testing::HasSubstr;
using testing::Records;
using ::testing::ThrowsMessage;
using testing::zip;

std::string found(const std::string& bytes, const std::string& name = "model.pt") {
  const Folder folder;
  return std::string(compatcheck::frontend::name(detect(folder.write(name, bytes))));
}

std::string sentence(const std::string& bytes) {
  const Folder folder;
  return why_not(recognise(files::InputFile(folder.write("model.pt", bytes)), "model.pt"));
}

// As torch.save writes them, cut to what matters.
const std::string state_dict_pickle =
    "\x80\x02"
    "ccollections\nOrderedDict\nq\x00)Rq\x01(X\x08\x00\x00\x00net.biasq\x02"
    "ctorch._utils\n_rebuild_tensor_v2\nq\x03"
    "((X\x07\x00\x00\x00storageq\x04"
    "ctorch\nFloatStorage\nq\x05X\x01\x00\x00\x00"
    "0q\x06X\x03\x00\x00\x00"
    "cpuq\x07K\x0atq\x08QK\x00K\x0a\x85q\x09K\x01\x85q\x0a\x89)Rtq\x0bRu."s;
const std::string module_pickle =
    "\x80\x02"
    "cmy_models.net\nSuperNet\nq\x00)\x81q\x01}q\x02(X\x08\x00\x00\x00trainingq\x03\x88ub."s;
const std::string checkpoint_with_module =
    "\x80\x02}q\x00(X\x05\x00\x00\x00"
    "epochq\x01K\x03X\x05\x00\x00\x00modelq\x02"
    "cmodels.yolo\nModel\nq\x03)\x81u."s;
// {"epoch": 3, "model": OrderedDict of a tensor}, and with a foreign class beside it.
const std::string tensor_call =
    "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x00"
    "0X\x03\x00\x00\x00"
    "cpuK\x01tQK\x00K\x01\x85K\x01\x85\x89)tR"s;
const std::string weights = "ccollections\nOrderedDict\n)R(X\x01\x00\x00\x00w"s + tensor_call + "u";
const std::string checkpoint =
    "\x80\x02}(X\x05\x00\x00\x00"
    "epochK\x03X\x05\x00\x00\x00model"s +
    weights;
const std::string checkpoint_pickle = checkpoint + "u.";
const std::string checkpoint_with_arguments = checkpoint +
                                              "X\x04\x00\x00\x00"
                                              "args"
                                              "cargparse\nNamespace\n)\x81}bu."s;
const std::string legacy_magic = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19."s;

TEST(Detect, TorchScript) {
  EXPECT_EQ(found(zip(testing::torchscript_records())), "torchscript");
  EXPECT_EQ(found(testing::zip64(testing::torchscript_records()), "no_ending"), "torchscript");
  Records mobile = testing::torchscript_records();
  mobile.push_back({"m/bytecode.pkl", "\x80\x02."});
  EXPECT_EQ(found(zip(mobile)), "torchscript");  // the code is still there
}

TEST(Detect, ArchivesThatAreNot) {
  EXPECT_EQ(found(zip({{"m/data.pkl", state_dict_pickle}, {"m/data/0", "x"}})), "state_dict");
  EXPECT_EQ(found(zip({{"m/data.pkl", module_pickle}})), "pickled_module");
  EXPECT_EQ(found(zip({{"m/data.pkl", checkpoint_with_module}})), "pickled_module");
  EXPECT_EQ(found(zip({{"m/archive_format", "pt2"}, {"m/models/model.json", "{}"}})), "exported_program");
  EXPECT_EQ(found(zip({{"version", "8.3"}, {"serialized_exported_program.json", "{}"}})), "exported_program");
  EXPECT_EQ(found(zip({{"m/bytecode.pkl", ""}, {"m/data.pkl", module_pickle}})), "mobile_bytecode");
  EXPECT_EQ(found(zip({{"readme.txt", "hello"}})), "unknown");
  EXPECT_THAT(sentence(zip({{"readme.txt", "hello"}})),
              "is a zip archive that holds neither TorchScript code nor an exported program");
  EXPECT_THAT(sentence(zip({{"m/code/a.py", ""}, {"m/data.pkl", ""}})), HasSubstr("no constants.pkl"));
}

// By the top of the pickle, in both formats of torch.save.
TEST(Detect, WhatTorchSaveWrote) {
  const auto both = [](const std::string& pickle) {
    const std::string name = found(zip({{"m/data.pkl", pickle}}));
    EXPECT_EQ(found(legacy_magic + "\x80\x02M\xe9\x03." + "\x80\x02}." + pickle + "\x80\x02]."), name);
    return name;
  };
  EXPECT_EQ(both(checkpoint_pickle), "checkpoint");
  EXPECT_EQ(both(checkpoint_with_arguments), "checkpoint");
  EXPECT_EQ(both("\x80\x02" + weights + "."), "state_dict");
  EXPECT_EQ(both("\x80\x02" + tensor_call + "."), "tensor");
  EXPECT_EQ(both("\x80\x02](" + tensor_call + "e."), "saved_object");
  EXPECT_EQ(both("\x80\x02}."), "saved_object");
  EXPECT_EQ(both("\x80\x02K\x03."), "saved_object");
  EXPECT_EQ(both(module_pickle), "pickled_module");
  EXPECT_THAT(sentence(zip({{"m/data.pkl", checkpoint_pickle}})),
              HasSubstr("holds a checkpoint (a dict with keys epoch, model), whose weights are in \"model\", without code"));
  EXPECT_THAT(sentence(zip({{"m/data.pkl", "\x80\x02" + tensor_call + "."}})), HasSubstr("holds a tensor, not a model"));
  EXPECT_THAT(sentence(zip({{"m/data.pkl", "\x80\x02](" + tensor_call + "e."}})), HasSubstr("holds a list of 1, not a model"));
  EXPECT_EQ(both("\x80\x02}(X\x01\x00\x00\x00w"s + "K\x01" + "X\x01\x00\x00\x00t"s + tensor_call + "u."), "checkpoint");
  // What can't be followed is named by its classes.
  EXPECT_EQ(found(zip({{"m/data.pkl", "\x80\x02(" + tensor_call}})), "checkpoint");
}

TEST(Detect, OtherFiles) {
  EXPECT_EQ(found(legacy_magic + "\x80\x02M\xe9\x03." + "\x80\x02}." + state_dict_pickle + "\x80\x02]." + "raw"), "state_dict");
  EXPECT_EQ(found(legacy_magic + "\x80\x02M\xe9\x03." + "\x80\x02}." + module_pickle), "pickled_module");
  EXPECT_EQ(found("\x08\x08\x12\x07pytorch\x1a\x05"
                  "1.2.3:\x10"s),
            "onnx");
  std::string tar(1024, '\0');
  tar.replace(0, 8, "sys_info");
  tar.replace(257, 5, "ustar");
  EXPECT_EQ(found(tar), "legacy_tar");
  EXPECT_THAT(sentence("ftrt"s + std::string(100, 'e')), HasSubstr("TensorRT engine"));
  EXPECT_THAT(sentence("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("git lfs pull"));
  EXPECT_THAT(sentence("\x30\0\0\0\0\0\0\0{\"weight\":{}}"s), HasSubstr("safetensors"));
  EXPECT_EQ(found("\x30\0\0\0\0\0\0\0{\"weight\":{}}"s), "safetensors");
  EXPECT_EQ(found("ftrt"s + std::string(100, 'e')), "tensorrt_engine");
  EXPECT_EQ(found("version https://git-lfs.github.com/spec/v1\n"), "unknown");  // it stands for a model
  for (const char* junk : {"junk", "junk\1"})
    EXPECT_THAT(sentence(junk), "is neither a file of torch.jit.save or torch.export.save nor a TorchScript graph as text");
}

TEST(Detect, GraphsAsText) {
  EXPECT_EQ(found("graph(%x : Tensor):\n  return (%x)\n"), "graph_text");
  EXPECT_EQ(found("\n  # from print(model.graph)\n\ngraph(%x):\n"), "graph_text");
  EXPECT_EQ(found("prose", "notes.txt"), "graph_text");  // the parser says what it expects instead
  EXPECT_EQ(found("prose", "notes.pt"), "text");
  EXPECT_EQ(found("\0\1\2"s, "notes.txt"), "unknown");
}

TEST(Detect, SentencesSayWhatToDo) {
  EXPECT_THAT(
      sentence(zip({{"m/data.pkl", state_dict_pickle}})),
      "holds weights without code (a state_dict): build the model, load_state_dict them, then in Python, export the model: "
      "torch.export.save(torch.export.export(model.eval(), inputs), \"model.pt2\")");
  EXPECT_THAT(sentence(zip({{"m/data.pkl", module_pickle}})), HasSubstr("(my_models.net.SuperNet)"));
  EXPECT_THAT(sentence(zip({{"m/data.pkl", checkpoint_with_module}})), HasSubstr("(models.yolo.Model)"));
}

TEST(Detect, FilesThatCannotBeOpened) {
  const Folder folder;
  const auto message = [&](const std::filesystem::path& path, const std::string& text) {
    EXPECT_THAT([&] { detect(path); }, ThrowsMessage<ModelError>(path.string() + ": " + text));
  };
  message(folder.path() / "absent.pt", "no such file");
  message(folder.path(), "is a folder, not a model");
  message(folder.write("empty.pt", ""), "is empty");
  message("/dev/null", "is not a regular file; give '-' and the model on standard input");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  message(folder.path() / "pipe", "is not a regular file; give '-' and the model on standard input");
}

TEST(Pickle, NamesByStackGlobal) {
  // Protocol 4: both strings on the stack, the second time from the memo.
  const std::string bytes = "\x80\x04\x95\x20\0\0\0\0\0\0\0\x8c\x06my.net\x94\x8c\x03Net\x94\x93\x94h\x00h\x01\x93."s;
  const auto names = files::names_in_pickle(testing::as_bytes(bytes));
  EXPECT_TRUE(names.whole);
  EXPECT_THAT(names.classes, ::testing::ElementsAre("my.net.Net"));
  EXPECT_EQ(names.bytes, bytes.size());
}

TEST(Pickle, EveryTruncationIsSeen) {
  for (std::size_t size = 0; size < state_dict_pickle.size(); ++size)
    EXPECT_FALSE(files::names_in_pickle(testing::as_bytes(state_dict_pickle.substr(0, size))).whole) << size;
}

}  // namespace
}  // namespace compatcheck::frontend
