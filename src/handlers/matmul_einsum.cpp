// Einstein sums: ONNX has them from opset 12 on; before, they are spelt out as products and sums.
#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "handlers/compute.h"
#include "handlers/families.h"
#include "handlers/sizes.h"
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

// Without "->" the result has the letters that occur once, in alphabetical order, after the dimensions of an ellipsis.
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

// Replaces ellipses by letters: ONNX requires them in the result, and as many dimensions in each operand.
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

// ---- Two operands at a time, as PyTorch multiplies them

struct Factor {
  Value value;
  std::string labels;
  std::map<char, Dim> sizes;  // size of each label

  std::int64_t axis(char label) const { return static_cast<std::int64_t>(labels.find(label)); }
};

std::string common(const std::string& a, const std::string& b) { return without(a, without(a, b)); }

Value size_of(Emission& e, const Factor& x, char label) {
  const auto known = x.sizes.at(label).number();
  return known ? e.integers({*known}) : size_at(e, x.value, x.axis(label));
}

void sum_over(Emission& e, Factor& x, const std::string& gone) {
  Ints axes;
  for (std::size_t at = 0; at < x.labels.size(); ++at)
    if (gone.find(x.labels[at]) != std::string::npos) axes.push_back(static_cast<std::int64_t>(at));
  if (axes.empty()) return;
  x.value = reduce(e, "ReduceSum", x.value, axes, false);
  x.labels = without(x.labels, gone);
}

// A size of 1 stands for any: the label is the other one's alone.
void drop(Emission& e, Factor& x, char label) {
  x.value = e.build.squeeze(x.value, {x.axis(label)});
  std::erase(x.labels, label);
}

// Which of two sizes is 1 may show when the model runs.
void stretch(Emission& e, Factor& a, Factor& b, const std::string& labels) {
  const auto marked = e.build.plumbing();
  std::map<char, Value> common_size;
  for (const char label : labels) {
    const Value one = size_of(e, a, label), other = size_of(e, b, label);
    common_size[label] = e.node("Where", {e.node("Equal", {one, e.integers({1})}), other, one});
  }
  for (Factor* x : {&a, &b}) {
    Values sizes;
    for (const char label : x->labels) {
      const auto found = common_size.find(label);
      sizes.push_back(found == common_size.end() ? e.integers({1}) : found->second);
    }
    x->value = e.node("Expand", {x->value, joined(e, sizes)});
    for (const char label : labels) x->sizes[label] = Dim::unknown();
  }
}

Dim product_of_sizes(const Factor& x, const std::string& labels) {
  Dim product(1);
  for (const char label : labels) product = product * x.sizes.at(label);
  return product;
}

// Orders the labels so, those of each group in one dimension; a group without labels has size 1.
Value grouped(Emission& e, const Factor& x, const std::vector<std::string>& groups, bool sums_nothing) {
  std::string order, all;
  bool alike = true;  // each group is a dimension
  for (const std::string& group : groups) {
    order += group;
    all += group.empty() ? std::string(1, static_cast<char>('\x01' + all.size())) : group;
    alike = alike && group.size() <= 1;
  }
  if (alike) {
    const Value value = aligned(e, x.value, x.labels, all);
    // ONNX Runtime leaves what sums nothing unset in its FusedMatMul, which a Reshape of a transposed operand prevents.
    const bool turned = value.id != x.value.id && x.labels.size() == all.size() && all.size() > 2;
    return sums_nothing && turned ? e.build.reshape(value, Ints(all.size(), 0)) : value;
  }
  Shape from, to;
  for (const char label : order) from.push_back(x.sizes.at(label));
  for (const std::string& group : groups) to.push_back(product_of_sizes(x, group));
  return reshape_to(e, aligned(e, x.value, x.labels, order), &from, &to, [&] {
    Values sizes;
    for (const std::string& group : groups) {
      Values factors;
      for (const char label : group) factors.push_back(size_of(e, x, label));
      sizes.push_back(product_of(e, factors));
    }
    return joined(e, sizes);
  });
}

// The labels as groups of one.
std::vector<std::string> apart(const std::string& labels) {
  std::vector<std::string> groups;
  for (const char label : labels) groups.emplace_back(1, label);
  return groups;
}

Value multiplied_matrices(Emission& e, const Factor& a, const Factor& b, const std::string& batch, const std::string& summed,
                          const std::string& rows, const std::string& columns) {
  const bool nothing = !provably_at_least_if_empty(product_of_sizes(a, summed), 1);
  const std::vector<std::string> matrices = apart(batch);
  std::vector<std::string> left = matrices, right = matrices;
  // Without a batch the rows may stay several dimensions.
  if (batch.empty() && rows.size() > 1)
    left = apart(rows);
  else
    left.push_back(rows);
  left.push_back(summed);
  right.insert(right.end(), {summed, columns});
  Value made = e.node("MatMul", {grouped(e, a, left, nothing), grouped(e, b, right, nothing)});
  const bool joins = (!batch.empty() && rows.size() > 1) || columns.size() > 1;
  if (!joins) {
    Ints gone;
    const auto depth = static_cast<std::int64_t>(batch.size());
    if (rows.empty()) gone.push_back(depth);
    if (columns.empty()) gone.push_back(depth + static_cast<std::int64_t>(std::max<std::size_t>(rows.size(), 1)));
    return e.build.squeeze(made, gone);
  }
  Shape to;
  for (const char label : batch + rows) to.push_back(a.sizes.at(label));
  for (const char label : columns) to.push_back(b.sizes.at(label));
  return reshape_to(e, made, nullptr, &to, [&] {
    Values sizes;
    for (const char label : batch + rows) sizes.push_back(size_of(e, a, label));
    for (const char label : columns) sizes.push_back(size_of(e, b, label));
    return joined(e, sizes);
  });
}

// Indices that neither `kept` nor the other operand has are summed first; those that both have and `kept` lacks, with the
// product.
Factor contracted(Emission& e, Factor a, Factor b, const std::string& kept) {
  std::string stretched;
  for (const char label : common(a.labels, b.labels)) {
    const Dim &one = a.sizes.at(label), &other = b.sizes.at(label);
    if (provably_equal(one, other)) continue;
    if (one.number() == 1)
      drop(e, a, label);
    else if (other.number() == 1)
      drop(e, b, label);
    else if (!one.is_number() || !other.is_number())
      stretched += label;
  }
  sum_over(e, a, without(a.labels, b.labels + kept));
  sum_over(e, b, without(b.labels, a.labels + kept));
  const std::string both = common(a.labels, b.labels), batch = common(both, kept), summed = without(both, kept),
                    rows = without(a.labels, b.labels), columns = without(b.labels, a.labels);
  // Before opset 12 Expand may be missing, and Reshape may not know the sizes: elements are multiplied and summed.
  const bool joins = summed.size() > 1 || columns.size() > 1 || (rows.size() > 1 && !batch.empty());
  const bool as_matrices =
      !summed.empty() && (is_floating(a.value) || e.at_least(9)) && (e.at_least(12) || !(joins || !stretched.empty()));
  Factor made{.value = {}, .labels = batch + rows + columns, .sizes = b.sizes};
  for (const auto& [label, size] : a.sizes)
    if (const auto found = made.sizes.find(label); found == made.sizes.end() || found->second.number() == 1)
      made.sizes[label] = size;
  if (as_matrices) {
    if (!stretched.empty()) stretch(e, a, b, stretched);
    made.value = multiplied_matrices(e, a, b, batch, summed, rows, columns);
  } else {
    const std::string all = made.labels + summed;
    made.value = e.node("Mul", {aligned(e, a.value, a.labels, all), aligned(e, b.value, b.labels, all)});
    Factor product{.value = made.value, .labels = all, .sizes = {}};
    sum_over(e, product, summed);
    made.value = product.value;
  }
  for (const char label : stretched) made.sizes[label] = Dim::unknown();
  return made;
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

// A letter that one operand repeats stands for its diagonal. With a size of 0, ONNX Runtime's Einsum ends the process unless the
// two last dimensions are the diagonal's, and no others.
void take_diagonals(Emission& e, Factor& x) {
  for (std::size_t first = 0; first < x.labels.size(); ++first) {
    const std::size_t second = x.labels.find(x.labels[first], first + 1);
    if (second == std::string::npos) continue;
    if (!e.at_least(12)) throw Refusal{"a diagonal needs Einsum, which came with opset 12", "use opset 12"};
    Ints order;
    std::string left, letters;
    for (std::size_t at = 0; at < x.labels.size(); ++at) {
      if (at == first || at == second) continue;
      order.push_back(static_cast<std::int64_t>(at));
      left += x.labels[at];
      letters += static_cast<char>('b' + letters.size());
    }
    order.insert(order.end(), {static_cast<std::int64_t>(first), static_cast<std::int64_t>(second)});
    x.value = e.node("Einsum", {e.build.transpose(x.value, order)}, {{"equation", letters + "aa->" + letters + "a"}});
    x.labels = left + x.labels[first];
    return take_diagonals(e, x);
  }
}

// From the left to the right.
void spell_out(Emission& e, const Values& values, const Equation& equation, const std::vector<Shape>& shapes) {
  std::vector<Factor> factors;
  for (std::size_t i = 0; i < values.size(); ++i) {
    factors.push_back({.value = values[i], .labels = equation.operands[i], .sizes = {}});
    for (std::size_t at = 0; at < shapes[i].size(); ++at)
      factors.back().sizes.insert_or_assign(equation.operands[i][at], shapes[i][at]);
    take_diagonals(e, factors.back());
  }
  Factor made = factors.front();
  for (std::size_t i = 1; i < factors.size(); ++i) {
    std::string kept = equation.result;
    for (std::size_t later = i + 1; later < factors.size(); ++later) kept += factors[later].labels;
    made = contracted(e, made, factors[i], kept);
  }
  sum_over(e, made, without(made.labels, equation.result));
  e.give(e.cast(aligned(e, made.value, made.labels, equation.result), e.output_dtype()));
}

void einsum(Emission& e) {
  const std::string text = e.string("equation");
  const bool dots = text.find("...") != std::string::npos;
  Values operands = e.tensors("tensors");
  if (operands.empty()) throw Refusal{"PyTorch refuses an equation without tensors"};
  // Bools have no sum.
  const DType dtype = e.output_dtype() == DType::boolean ? DType::i32 : e.output_dtype();
  for (Value& operand : operands) operand = e.cast(operand, dtype);
  const auto give = [&](const std::string& equation) {
    e.give(e.cast(e.node("Einsum", operands, {{"equation", equation}}), e.output_dtype()));
  };
  if (e.variant("operator") && !dots) return give(text);
  const std::vector<Shape> shapes = shapes_of(e);
  const Equation equation = parse(text, shapes);
  if (!e.variant("operator")) return spell_out(e, operands, equation, shapes);
  give(agree(equation) ? text : spelt(equation));
}

}  // namespace

void register_matmul_einsum(Registry& registry) { registry.handler("aten::einsum", einsum, {"operator"}); }

}  // namespace compatcheck::handlers
