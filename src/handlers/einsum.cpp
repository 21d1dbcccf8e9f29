// Einstein sums: ONNX has them from opset 12 on; before, they are spelt out as products and sums.
#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "symbolic/emptiness.h"

namespace compatcheck::handlers {
namespace {

// Labels of each operand and of the result; dimensions under an ellipsis are '0', '1', … from the last on.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

std::string labels_of(std::string_view term, std::int64_t rank) {
  const auto dots = term.find("...");
  if (dots == std::string_view::npos) return std::string(term);
  const std::int64_t hidden = rank - static_cast<std::int64_t>(term.size()) + 3;
  if (hidden > 10) throw Refusal{"an ellipsis stands for more than ten dimensions"};
  std::string labels(term.substr(0, dots));
  for (std::int64_t i = hidden; i-- > 0;) labels += static_cast<char>('0' + i);
  return labels.append(term.substr(dots + 3));
}

// Without "->" the result has what stands once, in alphabetical order, after what an ellipsis hides.
std::string implied_result(const std::vector<std::string>& operands) {
  std::map<char, int> count;
  for (const auto& labels : operands)
    for (const char label : labels) ++count[label];
  std::string hidden, once;
  for (const auto& [label, times] : count) {
    if (std::isdigit(static_cast<unsigned char>(label)))
      hidden.insert(hidden.begin(), label);
    else if (times == 1)
      once += label;
  }
  return hidden + once;
}

Equation parse(std::string text, const std::vector<Shape>& shapes) {
  std::erase(text, ' ');
  const auto arrow = text.find("->");
  Equation equation;
  std::size_t from = 0, i = 0;
  const std::string left = text.substr(0, arrow);
  for (; i < shapes.size() && from <= left.size(); ++i) {
    const auto comma = std::min(left.find(',', from), left.size());
    equation.operands.push_back(
        labels_of(std::string_view(left).substr(from, comma - from), static_cast<std::int64_t>(shapes[i].size())));
    from = comma + 1;
  }
  if (i != shapes.size() || from <= left.size()) throw Refusal{"the equation names another number of operands"};
  if (arrow == std::string::npos) {
    equation.result = implied_result(equation.operands);
    return equation;
  }
  std::int64_t hidden = 0;
  for (const auto& labels : equation.operands)
    hidden =
        std::max<std::int64_t>(hidden, std::ranges::count_if(labels, [](unsigned char label) { return std::isdigit(label); }));
  const std::string right = text.substr(arrow + 2);
  equation.result = labels_of(right, static_cast<std::int64_t>(right.size()) - 3 + hidden);
  return equation;
}

// An operand with every label of `all` in that order, of size 1 where it lacks one.
Value aligned(Emission& e, const Value& value, const std::string& labels, const std::string& all) {
  Ints order, missing;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto at = labels.find(all[i]);
    if (at == std::string::npos)
      missing.push_back(static_cast<std::int64_t>(i));
    else
      order.push_back(static_cast<std::int64_t>(at));
  }
  return e.build.unsqueeze(e.build.transpose(value, order), missing);
}

std::string without(const std::string& labels, const std::string& gone) {
  std::string left;
  for (const char label : labels)
    if (gone.find(label) == std::string::npos) left += label;
  return left;
}

// With letters for what ellipses stand for: ONNX wants them in the result, and as many dimensions in each operand.
std::string spelt(const Equation& equation) {
  std::string text;
  for (const auto& labels : equation.operands) text += (text.empty() ? "" : ",") + labels;
  text += "->" + equation.result;
  std::string free;
  for (char letter = 'a'; letter <= 'z'; ++letter)
    if (text.find(letter) == std::string::npos) free += letter;
  for (char& label : text) {
    if (!std::isdigit(static_cast<unsigned char>(label))) continue;
    const auto place = static_cast<std::size_t>(label - '0');
    if (place >= free.size()) throw Refusal{"the equation has too many letters"};
    label = free[place];
  }
  return text;
}

// Every operand and the result have the same number of dimensions under the ellipsis, or none has one.
bool agree(const Equation& equation) {
  const auto count = [](const std::string& labels) {
    return std::ranges::count_if(labels, [](unsigned char label) { return std::isdigit(label); });
  };
  return std::ranges::all_of(equation.operands,
                             [&](const std::string& labels) { return count(labels) == count(equation.result); });
}

// The sizes of each operand's dimensions, by label.
using Sizes = std::vector<std::map<char, symbolic::Dim>>;

Sizes sizes_of(const std::vector<Shape>& shapes, const Equation& equation) {
  Sizes sizes(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i)
    for (std::size_t at = 0; at < shapes[i].size(); ++at) sizes[i].insert_or_assign(equation.operands[i][at], shapes[i][at]);
  return sizes;
}

bool repeats(const std::string& labels) {
  return std::ranges::any_of(labels, [&](char label) { return std::ranges::count(labels, label) > 1; });
}

// Two operands make a MatMul if they sum along one label in common and have, beside a batch, at most one label each of their
// own; without a batch the first may have several. nullopt: they don't.
std::optional<Value> as_matmul(Emission& e, const Values& values, const Equation& equation, const Sizes& sizes) {
  if (values.size() != 2 || !(is_floating(values[0]) || e.at_least(9))) return std::nullopt;
  const std::string &a = equation.operands[0], &b = equation.operands[1], &to = equation.result;
  if (repeats(a) || repeats(b)) return std::nullopt;
  std::string batch, summed;
  for (const char label : a)
    if (b.find(label) != std::string::npos) (to.find(label) != std::string::npos ? batch : summed) += label;
  const std::string rows = without(a, b), columns = without(b, a);
  if (summed.size() != 1 || columns.size() > 1 || (rows.size() > 1 && !batch.empty())) return std::nullopt;
  // A size of 1 is repeated, which MatMul does to batches alone.
  const bool fit = provably_equal(sizes[0].at(summed[0]), sizes[1].at(summed[0]));
  if (!fit || !without(rows + columns, to).empty()) return std::nullopt;
  const std::string row = rows.empty() ? "<" : rows, column = columns.empty() ? ">" : columns;
  // ONNX Runtime leaves what sums nothing unset where it repeats matrices, and in its FusedMatMul, which a Reshape of a
  // transposed operand prevents.
  const bool nothing = !provably_at_least_if_empty(sizes[0].at(summed[0]), 1);
  if (nothing && std::ranges::any_of(batch, [&](char label) { return !provably_equal(sizes[0].at(label), sizes[1].at(label)); }))
    return std::nullopt;
  const auto factor = [&](std::size_t which, const std::string& all) {
    const Value value = aligned(e, values[which], equation.operands[which], all);
    const bool turned = value.id != values[which].id && equation.operands[which].size() == all.size() && all.size() > 2;
    return nothing && turned ? e.build.reshape(value, Ints(all.size(), 0)) : value;
  };
  const Value left = factor(0, batch + row + summed), right = factor(1, batch + summed + column);
  Value made = e.node("MatMul", {left, right});
  const auto depth = static_cast<std::int64_t>(batch.size());
  Ints gone;
  if (rows.empty()) gone.push_back(depth);
  if (columns.empty()) gone.push_back(depth + static_cast<std::int64_t>(row.size()));
  made = e.build.squeeze(made, gone);
  return aligned(e, made, batch + rows + columns, to);
}

std::vector<Shape> shapes_of(Emission& e) {
  const auto facts = e.call.list("tensors");
  if (!facts) e.want("tensors", "the length");
  std::vector<Shape> shapes;
  for (const auto* fact : *facts) {
    const auto* tensor = fact->tensor();
    if (!tensor || !tensor->shape) e.want("tensors", "the rank");
    shapes.push_back(*tensor->shape);
  }
  return shapes;
}

// What only one operand has and the result doesn't is summed before anything is multiplied.
void sum_alone(Emission& e, Values& values, Equation& equation) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string others = equation.result;
    for (std::size_t j = 0; j < values.size(); ++j)
      if (j != i) others += equation.operands[j];
    std::string& labels = equation.operands[i];
    Ints axes;
    for (std::size_t at = 0; at < labels.size(); ++at)
      if (others.find(labels[at]) == std::string::npos) axes.push_back(static_cast<std::int64_t>(at));
    if (axes.empty()) continue;
    values[i] = reduce(e, "ReduceSum", values[i], axes, false);
    labels = without(labels, without(labels, others));
  }
}

void spell_out(Emission& e, Values values, Equation equation, const Sizes& sizes) {
  if (std::ranges::any_of(equation.operands, repeats))
    throw Refusal{"a diagonal needs Einsum, which came with opset 12", "use opset 12"};
  sum_alone(e, values, equation);
  if (const auto product = as_matmul(e, values, equation, sizes)) return e.give(*product);
  std::string summed;
  for (const auto& labels : equation.operands) summed += without(labels, equation.result + summed);
  const std::string all = equation.result + summed;
  Value made = aligned(e, values[0], equation.operands[0], all);
  for (std::size_t i = 1; i < values.size(); ++i) made = e.node("Mul", {made, aligned(e, values[i], equation.operands[i], all)});
  Ints axes;
  for (std::size_t i = equation.result.size(); i < all.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  e.give(reduce(e, "ReduceSum", made, axes, false));
}

void einsum(Emission& e) {
  const std::string text = e.string("equation");
  const bool dots = text.find("...") != std::string::npos;
  Values operands = e.tensors("tensors");
  if (operands.empty()) throw Refusal{"PyTorch refuses an equation without tensors"};
  for (Value& operand : operands) operand = e.cast(operand, e.output_dtype());
  if (e.variant("operator") && !dots) return e.give(e.node("Einsum", operands, {{"equation", text}}));
  const std::vector<Shape> shapes = shapes_of(e);
  const Equation equation = parse(text, shapes);
  if (!e.variant("operator") && !e.variant("matrices")) return spell_out(e, operands, equation, sizes_of(shapes, equation));
  if (e.variant("matrices"))
    if (const auto product = as_matmul(e, operands, equation, sizes_of(shapes, equation))) return e.give(*product);
  e.give(e.node("Einsum", operands, {{"equation", agree(equation) ? text : spelt(equation)}}));
}

}  // namespace

void register_einsum(Registry& registry) { registry.handler("aten::einsum", einsum, {"operator", "matrices"}); }

}  // namespace compatcheck::handlers
