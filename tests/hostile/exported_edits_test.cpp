// What exported_fuzz does, from seeds.
#include "hostile/exported_edits.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

namespace compatcheck::hostile {
namespace {

// More of them by COMPATCHECK_EDITS; what fails is left in the temporary folder.
TEST(ExportedEdits, AreConvertedOrRefused) {
  const char* stated = std::getenv("COMPATCHECK_EDITS");
  const unsigned count = stated ? static_cast<unsigned>(std::stoul(stated)) : 600;
  unsigned read = 0;
  for (unsigned seed = 0; seed < count; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::uint8_t> bytes(400);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    Choices choices(bytes);
    const std::string archive = edited_archive(choices);
    try {
      read += convert_exported(archive);
    } catch (const std::exception& error) {
      const auto kept = std::filesystem::temp_directory_path() / ("edited-" + std::to_string(seed) + ".pt2");
      std::ofstream(kept, std::ios::binary) << archive;
      ADD_FAILURE() << kept << ": " << error.what();
    }
  }
  EXPECT_GT(read, count / 10);
}

}  // namespace
}  // namespace compatcheck::hostile
