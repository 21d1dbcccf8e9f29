// Every operator that libtorch ships, called with what fits its schema and with nothing else in mind.
#include "hostile/random_calls.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "hostile/check_text.h"

namespace compatcheck::hostile {
namespace {

// More rounds and other seeds by COMPATCHECK_RANDOM_ROUNDS and COMPATCHECK_RANDOM_SEED.
unsigned setting(const char* name, unsigned otherwise) {
  const char* given = std::getenv(name);
  return given ? static_cast<unsigned>(std::stoul(given)) : otherwise;
}

template <class Judge>
void on_random_calls(unsigned rounds, std::size_t most_calls, Judge&& judge) {
  const schema::Registry registry;
  rounds = setting("COMPATCHECK_RANDOM_ROUNDS", rounds);
  std::mt19937 random(setting("COMPATCHECK_RANDOM_SEED", 11));
  for (const std::string_view op : registry.names()) {
    for (unsigned round = 0; round < rounds; ++round) {
      std::vector<std::uint8_t> bytes(200);
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
      Choices choices(bytes);
      const std::string text = random_calls(choices, registry, op, most_calls);
      EXPECT_NO_THROW(judge(text)) << text;
    }
  }
}

TEST(RandomCalls, AreCheckedWhateverTheyAreGiven) { on_random_calls(3, 12, check_text); }

TEST(RandomCalls, AreConvertedWhereTheCheckSaysSo) { on_random_calls(3, 1, convert_text); }

}  // namespace
}  // namespace compatcheck::hostile
