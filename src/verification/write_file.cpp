#include "verification/write_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "compatcheck/error.h"

namespace compatcheck::verification {

void write_file(const std::filesystem::path& file, std::initializer_list<std::string_view> parts) {
  std::ofstream out(file, std::ios::binary);
  for (const std::string_view part : parts) out.write(part.data(), static_cast<std::streamsize>(part.size()));
  out.close();
  if (!out) throw UsageError(file.string() + ": can't write: " + std::strerror(errno));
}

}  // namespace compatcheck::verification
