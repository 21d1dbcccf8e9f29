#include "conversion/calls.h"

#include <algorithm>

#include "compatcheck/error.h"
#include "handlers/complex_form.h"
#include "symbolic/condition.h"

namespace compatcheck::conversion {
namespace {

using handlers::Operand;
using symbolic::Dim;
using symbolic::Fact;

bool same(const mapping::Lookup& a, const mapping::Lookup& b) {
  return a.status == b.status && a.op == b.op && a.rows.data() == b.rows.data() && a.rows.size() == b.rows.size();
}

struct NotKnown {};

std::optional<Operand> known_tensor(const symbolic::TensorFact& tensor, onnx::Builder& builder) {
  if (!tensor.dtype || !tensor.shape || !onnx::data_type(symbolic::real_part(*tensor.dtype))) return std::nullopt;
  onnx::Ints dims;
  std::int64_t elements = 1;
  for (const Dim& dim : *tensor.shape) {
    if (!dim.is_number()) return std::nullopt;
    dims.push_back(*dim.number());
    elements *= dims.back();
  }
  const ir::DType part = symbolic::real_part(*tensor.dtype);
  const auto nothing = [&] { return builder.constant({.dtype = part, .dims = dims, .bytes = {}, .view = {}}); };
  if (elements == 0 && ir::is_complex(*tensor.dtype)) return Operand{handlers::Complex{nothing(), nothing()}};
  if (elements == 0) return Operand{nothing()};
  const bool whole = ir::is_integral(*tensor.dtype) || *tensor.dtype == ir::DType::boolean;
  if (!whole || !tensor.contents || static_cast<std::int64_t>(tensor.contents->size()) != elements) return std::nullopt;
  onnx::Ints numbers;
  for (const Dim& dim : *tensor.contents) {
    if (!dim.is_number()) return std::nullopt;
    numbers.push_back(*dim.number());
  }
  return Operand{builder.constant(onnx::make_tensor(*tensor.dtype, dims, numbers))};
}

std::optional<Operand> known(const Fact& fact, const ir::TypeRef& type, onnx::Builder& builder) {
  if (const auto* tensor = fact.tensor()) return known_tensor(*tensor, builder);
  if (const auto* list = fact.list(); list && list->items) {
    handlers::List made;
    for (const Fact& item : *list->items) {
      auto operand = known(item, type && !type->elements.empty() ? type->elements.front() : nullptr, builder);
      if (!operand) return std::nullopt;
      made.items.push_back(*std::move(operand));
    }
    return Operand{std::move(made)};
  }
  if (!fact.number() && !fact.is_none() && !std::holds_alternative<symbolic::ConstantFact>(fact.value)) return std::nullopt;
  try {
    return handlers::operand_of(fact, type, [](ir::DType, bool) -> onnx::Value { throw NotKnown{}; });
  } catch (const NotKnown&) {
    return std::nullopt;
  }
}

}  // namespace

onnx::Model empty_model(const Context& context, int opset) {
  onnx::Model model;
  model.opset = opset;
  model.versions = context.domain_versions;
  model.inline_functions = context.inline_functions;
  model.compact = context.prefer == Preference::compact;
  return model;
}

onnx::MovedAttributes moved_attributes(const mapping::Table& table) {
  onnx::MovedAttributes moved;
  for (const auto& change : table.onnx_changes())
    for (const auto& pair : change.moved) moved[change.op].push_back(pair);
  return moved;
}

const Lookups::History& Lookups::history(const ir::Node& node) {
  const auto [at, added] = histories_.try_emplace({node.op(), node.overload()});
  if (added)
    for (int opset = mapping::lowest_opset; opset <= mapping::highest_opset; ++opset)
      at->second[static_cast<std::size_t>(opset)] = context_.table.find(node.op(), node.overload(), opset, context_.schemas);
  return at->second;
}

const mapping::Lookup& Lookups::find(const ir::Node& node, int opset) { return history(node)[static_cast<std::size_t>(opset)]; }

onnx::OpsetRange Lookups::range(const ir::Node& node, int opset) {
  const History& all = history(node);
  const auto equal = [&](int other) { return same(all[static_cast<std::size_t>(opset)], all[static_cast<std::size_t>(other)]); };
  onnx::OpsetRange range{opset, opset};
  while (range.from > mapping::lowest_opset && equal(range.from - 1)) --range.from;
  while (range.to < mapping::highest_opset && equal(range.to + 1)) ++range.to;
  return range;
}

bool states_schema_of(const std::vector<std::string>& schemas, const std::string& op) {
  return std::ranges::any_of(
      schemas, [&](const std::string& schema) { return schema.starts_with(op + "(") || schema.starts_with(op + "."); });
}

bool is_on_numbers(const schema::Schema& schema) {
  const auto number = [](const schema::Argument& argument) {
    const auto kind = argument.type->kind;
    return kind == ir::TypeKind::integer || kind == ir::TypeKind::floating || kind == ir::TypeKind::boolean ||
           kind == ir::TypeKind::number;
  };
  return !schema.variadic_arguments && std::ranges::all_of(schema.arguments, number) &&
         std::ranges::all_of(schema.returns, number);
}

namespace {

// A user's row that no handler knows: it states its arguments, or no shipped row has its operator.
bool speaks_for_itself(const mapping::Row& row, const mapping::OperatorRows& rows, const Context& context) {
  if (row.body) return true;
  if (!row.one_to_one() || !context.table.is_users(row.place)) return false;
  if (row.inputs || !row.attributes.empty()) return true;
  static const mapping::Table shipped = mapping::Table::shipped();
  const auto* below = shipped.stated(rows.name);
  return !below || std::ranges::none_of(below->history, [&](const mapping::Entry& entry) {
    return std::ranges::any_of(
        entry.rows, [&](const mapping::Row& other) { return std::ranges::find(other.to, row.to.front()) != other.to.end(); });
  });
}

}  // namespace

const mapping::Row* applying_row(const mapping::Lookup& found, const symbolic::Call& call, const Context& context) {
  for (const mapping::Row& row : found.rows) {
    if (row.complex && !symbolic::has_complex(call)) continue;
    const auto truth = symbolic::applies(row, call, context.registry, context.schemas).truth;
    if (truth != symbolic::Truth::no) return truth == symbolic::Truth::yes ? &row : nullptr;
  }
  return nullptr;
}

RowEmitter::RowEmitter(const symbolic::Call& call, const mapping::Row& row, const mapping::OperatorRows& rows,
                       const Context& context, int opset) {
  const ir::Node& node = call.node();
  const bool numbers = node.schema() && is_on_numbers(*node.schema());
  const std::string own = context.schemas.functional_form(node.op()).value_or(node.op());
  if (row.complex) {
    handler_ = context.handlers.find_complex(own);
    if (!handler_) handler_ = context.handlers.find_complex(rows.name);
    if (speaks_for_itself(row, rows, context)) handler_ = nullptr;
    plain_ = handlers::is_plain(row) && node.schema() && handlers::unmapped_arguments(row, call).empty();
    return;
  }
  if (symbolic::has_complex(call)) form_ = &context.table.complex_form(rows);
  const bool lists =
      node.schema() && !node.schema()->arguments.empty() && ir::is(node.schema()->arguments.front().type, ir::TypeKind::list);
  // An overload on lists with rows of its own shares no more than the name with the operator on tensors.
  if (numbers)
    handler_ = context.handlers.find_number(mapping::split_overload(rows.name).first);
  else
    handler_ = lists ? context.handlers.find_exact(rows.name) : context.handlers.find(rows.name);
  // An alias shares another operator's rows, not always its nodes. An overload alone may be one, too ("aten::max.other").
  if (!numbers && own != mapping::split_overload(rows.name).first) {
    const auto* of_base = context.table.find(own, {}, mapping::highest_opset, context.schemas).op;
    const auto* handler = context.handlers.find_exact(own);
    if (handler && of_base && mapping::split_overload(of_base->name).first != own) handler_ = handler;
  }
  if (speaks_for_itself(row, rows, context)) handler_ = nullptr;
  plain_ = handlers::is_plain(row) && node.schema() && handlers::unmapped_arguments(row, call).empty();
  if (numbers && !handler_ && !plain_ && !row.body) handler_ = context.handlers.find(rows.name);
  // A plugin's, but for what shares no more than the name with the operator on tensors.
  if (numbers && handler_) return;
  const auto* overlaid =
      context.handlers.find_overlaid(node.overload().empty() ? own : own + "." + node.overload(), opset, opsets_);
  if (!overlaid) overlaid = context.handlers.find_overlaid(rows.name, opset, opsets_);
  // A row of a mapping file wins over plugins.
  if (overlaid && (!context.table.is_users(row.place) || row.place.file.starts_with(overlaid->plugin + "(")))
    handler_ = &overlaid->function, by_plugin_ = true;
}

void RowEmitter::emit(handlers::Emission& emission) const {
  const auto by_row = [this](handlers::Emission& real) { handler_ ? (*handler_)(real) : handlers::emit_row(real); };
  if (form_)
    handlers::emit_complex_form(emission, *form_, by_row);
  else
    by_row(emission);
}

std::optional<std::vector<Operand>> known_results(const symbolic::Call& call, const mapping::Row& row, onnx::Builder& builder) {
  if (row.random) return std::nullopt;
  std::vector<Operand> results;
  for (const ir::Value* output : call.node().outputs()) {
    auto operand = known(call.facts().of(output), output->type(), builder);
    if (!operand) return std::nullopt;
    results.push_back(*std::move(operand));
  }
  return results.empty() ? std::nullopt : std::optional(std::move(results));
}

}  // namespace compatcheck::conversion
