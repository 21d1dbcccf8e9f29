#include "handlers/registry.h"

#include "compatcheck/error.h"
#include "handlers/families.h"

namespace compatcheck::handlers {

void Registry::handler(std::string_view op, Handler function) {
  if (!handlers_.emplace(op, function).second) throw InternalError("two handlers for " + std::string(op));
}

void Registry::number_handler(std::string_view op, Handler function) {
  if (!numbers_.emplace(op, function).second) throw InternalError("two handlers for numbers of " + std::string(op));
}

Handler Registry::find_exact(std::string_view rows) const {
  const auto found = handlers_.find(rows);
  return found == handlers_.end() ? nullptr : found->second;
}

Handler Registry::find(std::string_view rows) const {
  if (const Handler exact = find_exact(rows)) return exact;
  const auto base = handlers_.find(mapping::split_overload(rows).first);
  return base == handlers_.end() ? nullptr : base->second;
}

Handler Registry::find_number(std::string_view op) const {
  const auto found = numbers_.find(op);
  return found == numbers_.end() ? nullptr : found->second;
}

std::vector<std::string_view> Registry::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, function] : handlers_) names.push_back(name);
  return names;
}

}  // namespace compatcheck::handlers
