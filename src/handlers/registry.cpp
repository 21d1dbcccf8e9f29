#include "handlers/registry.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "handlers/families.h"

namespace compatcheck::handlers {

void Registry::handler(std::string_view op, Handler function, std::vector<std::string> variants) {
  if (!variants.empty()) variants_.emplace(op, std::move(variants));
  if (!handlers_.emplace(op, std::move(function)).second) throw InternalError("two handlers for " + std::string(op));
}

void Registry::number_handler(std::string_view op, Handler function) {
  if (!numbers_.emplace(op, std::move(function)).second) throw InternalError("two handlers for numbers of " + std::string(op));
}

void Registry::complex_handler(std::string_view op, Handler function) {
  if (!complex_.emplace(op, std::move(function)).second)
    throw InternalError("two handlers for complex tensors of " + std::string(op));
}

void Registry::overlay(std::string_view op, onnx::OpsetRange opsets, Handler function, std::string_view plugin) {
  overlaid_.push_back({std::string(op), std::string(plugin), opsets, std::move(function)});
}

const Handler* Registry::find_exact(std::string_view rows) const {
  const auto found = handlers_.find(rows);
  return found == handlers_.end() ? nullptr : &found->second;
}

const Handler* Registry::find(std::string_view rows) const {
  if (const Handler* exact = find_exact(rows)) return exact;
  return find_exact(mapping::split_overload(rows).first);
}

const Handler* Registry::find_number(std::string_view op) const {
  const auto found = numbers_.find(op);
  return found == numbers_.end() ? nullptr : &found->second;
}

const Handler* Registry::find_complex(std::string_view rows) const {
  const auto found = complex_.find(mapping::split_overload(rows).first);
  return found == complex_.end() ? nullptr : &found->second;
}

const Overlaid* Registry::find_overlaid(std::string_view rows, int opset, onnx::OpsetRange& around) const {
  const auto base = mapping::split_overload(rows).first;
  for (auto overlaid = overlaid_.rbegin(); overlaid != overlaid_.rend(); ++overlaid) {
    if (overlaid->op != rows && overlaid->op != base) continue;
    const onnx::OpsetRange& opsets = overlaid->opsets;
    if (opset < opsets.from)
      around.to = std::min(around.to, opsets.from - 1);
    else if (opset > opsets.to)
      around.from = std::max(around.from, opsets.to + 1);
    else {
      around = {std::max(around.from, opsets.from), std::min(around.to, opsets.to)};
      return &*overlaid;
    }
  }
  return nullptr;
}

const std::vector<std::string>& Registry::variants(std::string_view rows) const {
  static const std::vector<std::string> none;
  auto found = variants_.find(rows);
  if (found == variants_.end() && !find_exact(rows)) found = variants_.find(mapping::split_overload(rows).first);
  return found == variants_.end() ? none : found->second;
}

std::vector<std::string_view> Registry::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, function] : handlers_) names.push_back(name);
  for (const auto& [name, function] : numbers_)
    if (!handlers_.contains(name)) names.push_back(name);
  for (const auto& [name, function] : complex_)
    if (!handlers_.contains(name) && !numbers_.contains(name)) names.push_back(name);
  return names;
}

}  // namespace compatcheck::handlers
