#include <gmock/gmock.h>
#include <pthread.h>

#include "compatcheck/error.h"
#include "models.h"

namespace compatcheck::frontend::torchscript {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Reading {
  std::string file, refusal;
};

// libtorch takes deeply nested values apart by recursion: the helper program has the stack for it, a test's main thread may not.
std::string refusal(const std::string& file) {
  constexpr std::size_t stack_bytes = std::size_t{1} << 30;
  Reading reading{file, {}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread;
  const int failed = pthread_create(
      &thread, &attributes,
      [](void* data) -> void* {
        auto& made = *static_cast<Reading*>(data);
        try {
          read_program(broken(made.file), {});
        } catch (const ModelError& error) {
          made.refusal = error.what();
        }
        return nullptr;
      },
      &reading);
  pthread_attr_destroy(&attributes);
  if (failed != 0) throw std::runtime_error("no thread");
  pthread_join(thread, nullptr);
  return reading.refusal;
}

TEST(Malformed, TensorsAndStoragesOutOfBoundsNameTheirRecord) {
  for (const char* file : {"tensor_larger.pt", "tensor_overflow.pt", "tensor_negative.pt", "tensor_offset.pt",
                           "tensor_offset_negative.pt", "tensor_strides.pt", "tensor_strides_negative.pt"})
    EXPECT_THAT(refusal(file), HasSubstr("a tensor in record data/0 reaches outside its storage")) << file;
  for (const char* file :
       {"storage_larger.pt", "storage_huge.pt", "storage_negative.pt", "storage_beyond.pt", "storage_short.pt", "no_storage.pt"})
    EXPECT_THAT(refusal(file), HasSubstr("record data/0")) << file;
}

TEST(Malformed, EachIsRefusedWithAReason) {
  for (const char* file : {"empty.pt",           "junk.pt",         "cut0.5.pt",       "lying_directory.pt",
                           "no_data_pickle.pt",  "no_class.pt",     "code_syntax.pt",  "code_name.pt",
                           "code_type.pt",       "code_bytes.pt",   "code_empty.pt",   "version_future.pt",
                           "version_word.pt",    "pickle_empty.pt", "pickle_junk.pt",  "pickle_deep.pt",
                           "pickle_doubling.pt", "pickle_memo.pt",  "pickle_stack.pt", "pickle_number.pt",
                           "pickle_command.pt",  "deep_type.pt",    "inflated_code.pt"}) {
    const std::string reason = refusal(file);
    EXPECT_FALSE(reason.empty()) << file;
    EXPECT_THAT(reason, testing::Not(HasSubstr("frame #"))) << file;  // libtorch's C++ stack
  }
}

TEST(Malformed, CodeThatDoesntCompileShowsThePlace) {
  EXPECT_THAT(refusal("code_name.pt"), HasSubstr("(code/__torch__/broken.py:9)"));
}

// Neither an endless nor a greedy __setstate__ is run.
TEST(Malformed, SetstateThatComputesIsRefused) {
  for (const char* file :
       {"setstate.pt", "setstate_endless.pt", "setstate_hoarding.pt", "setstate_greedy.pt", "setstate_doubling.pt"}) {
    EXPECT_THAT([&] { read_program(broken(file), {}); }, ThrowsMessage<ModelError>(HasSubstr("can't be run: it"))) << file;
  }
}

}  // namespace
}  // namespace compatcheck::frontend::torchscript
