#include "analysis/custom_opsets.h"

#include <charconv>

#include "compatcheck/error.h"
#include "onnx/domains.h"
#include "onnx/schema.h"

namespace compatcheck::analysis {

std::map<std::string, int, std::less<>> custom_opsets(const std::vector<std::string>& given, const mapping::Table& table) {
  auto versions = table.domains();
  std::map<std::string, int, std::less<>> said;
  for (const std::string& text : given) {
    const auto refuse = [&](const std::string& why) { throw UsageError("--custom-opset " + text + ": " + why); };
    const auto equals = text.rfind('=');
    if (equals == std::string::npos) refuse("expected DOMAIN=N");
    const std::string domain = text.substr(0, equals);
    if (onnx::is_own_domain(domain)) refuse("the version of ONNX's own operators is --opset");
    if (!mapping::is_custom_domain(domain)) refuse("'" + domain + "' isn't the name of a domain");
    int version = 0;
    const char* const end = text.data() + text.size();
    const auto number = std::from_chars(text.data() + equals + 1, end, version);
    if (number.ec != std::errc() || number.ptr != end || version < 1) refuse("the version is a number from 1");
    if (const auto newest = onnx::newest_version(domain); newest && version > *newest)
      refuse("ONNX has that domain up to version " + std::to_string(*newest));
    if (const auto [at, added] = said.emplace(domain, version); !added && at->second != version)
      refuse("the domain has version " + std::to_string(at->second) + " already");
    versions[domain] = version;
  }
  return versions;
}

}  // namespace compatcheck::analysis
