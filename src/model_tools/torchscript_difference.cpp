#include "model_tools/torchscript_difference.h"

#include <map>
#include <string_view>

#include "analysis/prepare.h"
#include "compatcheck/error.h"
#include "ir/text.h"
#include "model_tools/module_tree.h"
#include "onnx_file/raw_elements.h"

namespace compatcheck::model_tools {
namespace {

using Tensors = std::map<std::string, const ir::TensorView*>;

// libtorch numbers classes of one name as a process meets them: "___torch_mangle_3.".
std::string unmangled(std::string text) {
  constexpr std::string_view mark = "___torch_mangle_";
  for (std::size_t at = 0; (at = text.find(mark, at)) != text.npos;) {
    const std::size_t end = text.find_first_not_of("0123456789", at + mark.size());
    text.erase(at, (end == text.npos ? text.size() : text[end] == '.' ? end + 1 : end) - at);
  }
  return text;
}

Tensors tensors_of(const Model::State& state) {
  Tensors tensors;
  if (!state.program) return tensors;
  const auto add = [&](const std::string& name, const ir::TensorView& tensor, const char*) {
    tensors.emplace(unmangled(name), &tensor);
  };
  for_each_module(
      *state.program, [](const std::string&, const ir::Object&) {}, add);
  for_each_constant(*state.program, add);
  return tensors;
}

std::string spell_view(const ir::TensorView& tensor) {
  std::string text = std::string(ir::name(tensor.dtype)) + "[";
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) text += (i ? "," : "") + std::to_string(tensor.sizes[i]);
  return text + "]" + (tensor.quantizer ? ", quantized" : "");
}

bool same_scale(const ir::TensorView& a, const ir::TensorView& b) {
  return !a.quantizer || !b.quantizer || *a.quantizer == *b.quantizer;
}

WeightChange compare_weights(const std::string& name, const ir::TensorView* was, const ir::TensorView* is,
                             const Model::State& before, const Model::State& after, const ir::Watch& watch) {
  WeightChange change{.scope = {}, .name = name, .before = {}, .after = {}};
  if (was) change.before = spell_view(*was);
  if (is) change.after = spell_view(*is);
  if (!was || !is || change.before != change.after) return change;
  change.elements = static_cast<std::uint64_t>(is->elements());
  try {
    onnx_file::RawElements a(*was, before.file), b(*is, after.file);
    change.changed = onnx_file::differing(a, b, static_cast<unsigned>(8 * ir::element_bytes(is->dtype)), watch);
    if (!same_scale(*was, *is)) change.changed = change.elements;
  } catch (const ModelError& error) {
    watch.look();  // throws if the time limit or a cancellation ended the call
    change.problem = error.what();
  }
  return change;
}

void add_weights(const Model::State& before, const Model::State& after, const ir::Watch& watch, ModelDifference& made) {
  const Tensors was = tensors_of(before), is = tensors_of(after);
  const auto of = [](const Tensors& tensors, const std::string& name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : found->second;
  };
  const auto add = [&](const std::string& name) {
    WeightChange change = compare_weights(name, of(was, name), of(is, name), before, after, watch);
    if (change.before != change.after || change.changed > 0 || !change.problem.empty()) made.weights.push_back(std::move(change));
  };
  for (const auto& [name, tensor] : was) add(name);
  for (const auto& [name, tensor] : is)
    if (!was.contains(name)) add(name);
}

// The first line that isn't the same.
void add_code(const Model::State& before, const Model::State& after, const ir::Watch& watch, ModelDifference& made) {
  const auto print = [&](const Model::State& state) {
    return unmangled(ir::print(analysis::prepare(state, {}, watch).graph, {.locations = false}));
  };
  const std::string was = print(before), is = print(after);
  const auto next = [](std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto first = line.find_first_not_of(' ');
    return std::string(first == line.npos ? "" : line.substr(first));
  };
  std::string_view rest_was = was, rest_is = is;
  while (!rest_was.empty() || !rest_is.empty()) {
    const std::string a = next(rest_was), b = next(rest_is);
    if (a != b) return made.properties.push_back({"first line of code that differs", a, b});
  }
}

}  // namespace

void compare_torchscript(const Model::State& before, const Model::State& after, const ir::Watch& watch, ModelDifference& made) {
  add_weights(before, after, watch, made);
  add_code(before, after, watch, made);
}

}  // namespace compatcheck::model_tools
