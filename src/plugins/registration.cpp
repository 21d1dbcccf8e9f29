#include "plugins/registration.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "mapping/table.h"

namespace compatcheck::plugins {
namespace {

std::string string_of(compatcheck_text text) { return text.data ? std::string(text.data, text.size) : std::string(); }

std::string at_opsets(const onnx::OpsetRange& opsets) {
  return opsets.from == opsets.to ? "opset " + std::to_string(opsets.from)
                                  : "opsets " + std::to_string(opsets.from) + " to " + std::to_string(opsets.to);
}

// Out of memory, most likely; nothing may be thrown across.
template <class Work>
compatcheck_status guarded_registration(compatcheck_registry* registry, Work&& work) {
  std::string problem;
  try {
    problem = work();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (problem.empty()) return compatcheck_ok;
  if (registry->problem.empty()) registry->problem = std::move(problem);
  return compatcheck_failed;
}

std::string add_named(std::vector<Named>& all, const char* what, compatcheck_text name, FunctionRef function,
                      const compatcheck_function& given) {
  if (!name.size) return std::string(what) + " without a name";
  if (!given.call) return std::string(what) + " of " + string_of(name) + ": no function";
  if (std::ranges::find(all, string_of(name), &Named::name) != all.end())
    return std::string(what) + " of " + string_of(name) + " twice";
  all.push_back({string_of(name), std::move(function)});
  return {};
}

}  // namespace

compatcheck_status add_handler(compatcheck_registry* registry, const compatcheck_handler* handler) {
  return guarded_registration(registry, [&]() -> std::string {
    if (!handler || handler->size < sizeof(compatcheck_handler)) return "a handler's description is too short";
    auto function = std::make_shared<const Function>(registry->library, handler->function);
    Handler made{.op = string_of(handler->op),
                 .opsets = {handler->from, handler->to},
                 .emits = {},
                 .facts = string_of(handler->facts),
                 .schema = string_of(handler->schema),
                 .function = std::move(function)};
    if (handler->emits_count && !handler->emits) return "the handler for " + made.op + " names no operators that it emits";
    for (std::size_t i = 0; i < handler->emits_count; ++i) made.emits.push_back(string_of(handler->emits[i]));
    const std::string what = "the handler for " + made.op;
    if (made.op.find("::") == std::string::npos) return what + ": an operator's name is namespace::name";
    if (!handler->function.call) return what + ": no function";
    if (made.opsets.from < mapping::lowest_opset || made.opsets.from > mapping::highest_opset ||
        made.opsets.to < made.opsets.from)
      return what + " at " + at_opsets(made.opsets) + ": opsets are " + std::to_string(mapping::lowest_opset) + " to " +
             std::to_string(mapping::highest_opset);
    made.opsets.to = std::min(made.opsets.to, mapping::highest_opset);  // a later compatcheck knows more
    for (const Handler& other : registry->made.handlers)
      if (other.op == made.op && other.opsets.from <= made.opsets.to && made.opsets.from <= other.opsets.to)
        return "two handlers for " + made.op + ", at " + at_opsets(other.opsets) + " and at " + at_opsets(made.opsets);
    registry->made.handlers.push_back(std::move(made));
    return {};
  });
}

compatcheck_status add_facts(compatcheck_registry* registry, compatcheck_text op, compatcheck_function function) {
  return guarded_registration(registry, [&] {
    return add_named(registry->made.facts, "facts", op, std::make_shared<const Function>(registry->library, function), function);
  });
}

compatcheck_status add_condition(compatcheck_registry* registry, compatcheck_text name, compatcheck_function function) {
  return guarded_registration(registry, [&] {
    return add_named(registry->made.conditions, "the condition", name,
                     std::make_shared<const Function>(registry->library, function), function);
  });
}

compatcheck_status add_rows(compatcheck_registry* registry, compatcheck_text yaml) {
  return guarded_registration(registry, [&] {
    registry->made.rows.push_back(string_of(yaml));
    return std::string();
  });
}

void reject(compatcheck_registry* registry, compatcheck_text reason) {
  guarded_registration(registry, [&] { return reason.size ? string_of(reason) : "it gives no reason"; });
}

Plugin load(const std::filesystem::path& file) {
  compatcheck_registry registry;
  registry.library = std::make_shared<const Library>(file);
  registry.made.path = registry.library->path();
  compatcheck_status status = compatcheck_failed;
  try {
    status = registry.library->entry().enter(&host(), &registry);
  } catch (const std::exception& error) {
    registry.problem = error.what();
  } catch (...) {
    registry.problem = "something that is no std::exception was thrown";
  }
  if (status != compatcheck_ok && registry.problem.empty()) registry.problem = "it gives no reason";
  // An error counts even if the plugin ignores it.
  if (!registry.problem.empty()) throw TableError("plugin " + registry.made.path + ": it can't be entered: " + registry.problem);
  return std::move(registry.made);
}

}  // namespace compatcheck::plugins
