// Pieces of JSON that several reports have.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "compatcheck/report.h"

namespace compatcheck::report {

using Json = nlohmann::ordered_json;

// Strings of a model need not be UTF-8.
inline constexpr auto replace_bad_utf8 = Json::error_handler_t::replace;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json tensors(const std::vector<TensorInfo>& infos);
Json assumed_inputs(const std::vector<AssumedInput>& all);
Json findings(const std::vector<Finding>& all);
Json object(const Report& report);
Json list(std::span<const Report> reports);  // {"schema_version", "reports", "totals", "exit_code"}

}  // namespace compatcheck::report
