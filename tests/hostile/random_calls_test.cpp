// Every operator that libtorch ships, called with what fits its schema and with nothing else in mind.
#include "hostile/random_calls.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "days.h"
#include "hostile/check_text.h"

namespace compatcheck::hostile {
namespace {

unsigned setting(const char* name, unsigned otherwise) {
  const char* given = std::getenv(name);
  return given ? static_cast<unsigned>(std::stoul(given)) : otherwise;
}

// Three rounds of each operator, of which a twelfth runs each day. More rounds and other seeds by COMPATCHECK_RANDOM_ROUNDS and
// COMPATCHECK_RANDOM_SEED.
template <class Judge>
void on_random_calls(std::size_t most_calls, Judge&& judge) {
  const schema::Registry registry;
  const unsigned rounds = setting("COMPATCHECK_RANDOM_ROUNDS", 3);
  std::mt19937 random(setting("COMPATCHECK_RANDOM_SEED", 11));
  std::size_t number = 0;
  for (const std::string_view op : registry.names()) {
    for (unsigned round = 0; round < rounds; ++round) {
      std::vector<std::uint8_t> bytes(200);
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
      if (!is_of_today(++number, 12)) continue;
      Choices choices(bytes);
      const std::string text = random_calls(choices, registry, op, most_calls);
      EXPECT_NO_THROW(judge(text)) << text;
    }
  }
}

TEST(RandomCalls, AreCheckedWhateverTheyAreGiven) { on_random_calls(12, check_text); }

TEST(RandomCalls, AreConvertedWhereTheCheckSaysSo) { on_random_calls(1, convert_text); }

// Calls of other seeds whose conversion failed although the check had said yes.
constexpr const char* failed_once[] = {
    R"(graph(%x : Float(2, 3), %mean : Float(1, 3, 8, 8), %variance : Float()):
  %none : NoneType = prim::Constant[value=None]()
  %eps : float = prim::Constant[value=0.1]()
  %a : Tensor, %b : Tensor, %c : Tensor, %d : Tensor, %e : Tensor, %f : Tensor = aten::_batch_norm_with_update_functional(%x, %none, %none, %mean, %variance, %eps, %eps)
  return (%a, %b, %c, %d, %e, %f)
)",
    R"(graph(%x : Float()):
  %dtype : int = prim::Constant[value=1]()
  %scale : Tensor, %zero : Tensor = quantized_decomposed::choose_qparams_per_token_asymmetric(%x, %dtype)
  return (%scale, %zero)
)",
    R"(graph(%x : Byte(2)):
  %many : int = prim::Constant[value=9223372036854775807]()
  %few : int = prim::Constant[value=3]()
  %sizes : int[] = prim::ListConstruct(%many, %few, %few)
  %parts : Tensor[] = aten::split_with_sizes(%x, %sizes)
  return (%parts)
)",
    R"(graph(%x : Half(4, 4), %window : Half(0)):
  %points : int = prim::Constant[value=1]()
  %hop : int = prim::Constant[value=7]()
  %none : NoneType = prim::Constant[value=None]()
  %true : bool = prim::Constant[value=True]()
  %y : Tensor = aten::stft(%x, %points, %hop, %none, %window, %true, %true, %none, %none)
  return (%y)
)",
    R"(graph(%x : Long(3), %weights : Float(0)):
  %y : Tensor = aten::bincount(%x, %weights)
  return (%y)
)",
    R"(graph(%x : Float(4, 2), %more : Float(0)):
  %n : int = prim::Constant[value=2]()
  %dim : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant[value=None]()
  %y : Tensor = aten::diff(%x, %n, %dim, %none, %more)
  return (%y)
)",
    R"(graph(%x : Float(), %y : Float()):
  %z : Tensor = aten::linalg_cross(%x, %y)
  return (%z)
)",
    R"(graph(%x : Float(2, 3), %y : Long(3)):
  %list : Tensor[] = prim::ListConstruct(%x, %y)
  %false : bool = prim::Constant[value=False]()
  %number : float = prim::Constant[value=0.]()
  %side : str = prim::Constant[value="left"]()
  %z : Tensor = aten::pad_sequence(%list, %false, %number, %side)
  return (%z)
)",
    R"(graph(%x : Float(2, 6), %zero : Long(0)):
  %low : int = prim::Constant[value=-8]()
  %high : int = prim::Constant[value=7]()
  %dtype : int = prim::Constant[value=1]()
  %size : int = prim::Constant[value=3]()
  %y : Tensor = quantized_decomposed::quantize_per_channel_group(%x, %x, %zero, %low, %high, %dtype, %size)
  return (%y)
)",
};

TEST(RandomCalls, FailNoMore) {
  for (const char* text : failed_once) EXPECT_NO_THROW(convert_text(text)) << text;
}

}  // namespace
}  // namespace compatcheck::hostile
