// Every operator that libtorch ships, called with what fits its schema and with nothing else in mind.
#include <gtest/gtest.h>

#include <random>

#include "hostile/check_text.h"
#include "hostile/random_calls.h"

namespace compatcheck::hostile {
namespace {

TEST(RandomCalls, EveryOperatorIsCheckedWhateverItIsGiven) {
  const schema::Registry registry;
  constexpr int rounds = 6;
  std::mt19937 random(11);
  for (const std::string_view op : registry.names()) {
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::uint8_t> bytes(200);
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
      Choices choices(bytes);
      const std::string text = random_calls(choices, registry, op);
      ASSERT_NO_THROW(check_text(text)) << text;
    }
  }
}

}  // namespace
}  // namespace compatcheck::hostile
