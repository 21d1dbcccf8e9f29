#include "onnx/domains.h"

#include <algorithm>

#include "onnx/schema.h"

namespace compatcheck::onnx {

std::optional<int> newest_version(std::string_view domain) {
  std::optional<int> newest;
  if (is_own_domain(domain)) return newest;
  for (const Schema& schema : all_schemas())
    if (schema.domain == domain) newest = std::max(newest.value_or(1), schema.since);
  return newest;
}

}  // namespace compatcheck::onnx
