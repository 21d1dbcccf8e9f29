#include "handlers/body_facts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "handlers/body.h"
#include "handlers/emission.h"
#include "handlers/operand.h"
#include "handlers/row_arguments.h"
#include "onnx/proto.h"
#include "symbolic/shapes.h"

namespace compatcheck::handlers {
namespace {

using symbolic::Call;
using symbolic::Dim;
using symbolic::Fact;
using symbolic::Shape;
using symbolic::TensorFact;

constexpr int usual_opset = 17;

struct BodyRow {
  mapping::Row row;
  int opset = 0;  // at which it holds
};

bool is_body(const mapping::Row& row) { return row.kind == mapping::Row::Kind::mapped && row.body; }

// The nodes of one call alone, and what ONNX infers of them.
class Inference {
 public:
  Inference(const Call& call, const BodyRow& row, const onnx::MovedAttributes& moved) : call_(call), row_(row) {
    model_.opset = row.opset;
    builder_.emplace(model_, moved, onnx::OpsetRange{row.opset, row.opset});
  }

  std::vector<Fact> results() {
    Emission emission(call_, &row_.row, {}, *builder_,
                      [this](const ir::Value* value) -> const Operand& { return operand(value); });
    const BoundArguments bound = bind_arguments(emission);
    const Values made = body_nodes(*builder_, *row_.row.body, bound.inputs, bound.attributes, otherwise(bound.inputs));
    for (onnx::ValueId value = 1; value < model_.values.size(); ++value)
      if (model_.values[value].name.empty()) model_.values[value].name = "v" + std::to_string(value);
    onnx::infer_shapes(model_, true);
    std::vector<Fact> facts;
    for (std::size_t i = 0; i < std::min(made.size(), call_.node().outputs().size()); ++i)
      facts.push_back(made[i] && !made[i].sequence ? symbolic::tensor_fact(made[i].dtype, shape_of(made[i])) : Fact{});
    return facts;
  }

 private:
  const Operand& operand(const ir::Value* value) {
    if (const auto known = operands_.find(value); known != operands_.end()) return known->second;
    if (const ir::Constant* constant = ir::constant_of(value))
      return operands_.emplace(value, operand_of(*constant, nullptr, *builder_)).first->second;
    std::vector<const TensorFact*> tensors;
    collect(call_.facts().of(value), tensors);
    std::size_t next = 0;
    const auto fresh = [&](ir::DType dtype, bool sequence) {
      const TensorFact* tensor = next < tensors.size() ? tensors[next++] : nullptr;
      const onnx::ValueId id =
          model_.add_value({.kind = sequence ? onnx::ValueInfo::Kind::sequence : onnx::ValueInfo::Kind::tensor,
                            .dtype = dtype,
                            .shape = tensor && tensor->shape && !sequence ? std::optional(named(*tensor->shape)) : std::nullopt,
                            .name = {}});
      model_.graph.inputs.push_back(id);
      return Value{id, dtype, sequence};
    };
    return operands_.emplace(value, operand_of(call_.facts().of(value), value->type(), fresh)).first->second;
  }

  static void collect(const Fact& fact, std::vector<const TensorFact*>& tensors) {
    if (const auto* tensor = fact.tensor()) tensors.push_back(tensor);
    if (const auto* list = fact.list(); list && list->items)
      for (const Fact& item : *list->items) collect(item, tensors);
  }

  // Sizes under names by which they are found again.
  std::vector<onnx::Dimension> named(const Shape& shape) {
    std::vector<onnx::Dimension> dims;
    for (const Dim& dim : shape) {
      const std::string name = dim.is_number() || dim.is_unknown() ? "" : dim.to_string();
      if (!name.empty()) names_.emplace(name, dim);
      dims.push_back({dim.number(), name});
    }
    return dims;
  }

  std::optional<Shape> shape_of(const Value& value) const {
    Shape shape;
    if (const onnx::TensorData* constant = builder_->constant_of(value)) {
      for (const std::int64_t size : constant->dims) shape.push_back(Dim(size));
      return shape;
    }
    const auto& inferred = model_.values[value.id].shape;
    if (!inferred) return std::nullopt;
    for (const onnx::Dimension& dim : *inferred) {
      const auto known = names_.find(dim.name);
      shape.push_back(dim.size ? Dim(*dim.size) : known != names_.end() ? known->second : Dim::unknown());
    }
    return shape;
  }

  // The dtype of what a node of another domain gives, which nothing tells.
  static DType otherwise(const Values& inputs) { return inputs.empty() || !inputs.front() ? DType::f32 : inputs.front().dtype; }

  const Call& call_;
  const BodyRow& row_;
  onnx::Model model_;
  std::optional<onnx::Builder> builder_;
  std::map<const ir::Value*, Operand> operands_;
  std::map<std::string, Dim, std::less<>> names_;
};

bool knows_sizes(const Fact& fact) {
  const auto* tensor = fact.tensor();
  return tensor && tensor->shape && std::ranges::none_of(*tensor->shape, &Dim::is_unknown);
}

bool records_sizes(const ir::Value& output) {
  const auto& type = output.type();
  return ir::is(type, ir::TypeKind::tensor) && type->tensor.dtype && type->tensor.sizes;
}

// Facts that hold whichever of the rows applies. Empty ones leave a result to the type that the model records.
std::vector<Fact> facts_of_bodies(const Call& call, const std::vector<BodyRow>& rows, const onnx::MovedAttributes& moved) {
  std::optional<std::vector<Fact>> all;
  for (const BodyRow& row : rows) {
    std::vector<Fact> facts;
    try {
      facts = Inference(call, row, moved).results();
    } catch (const onnx::Refusal&) {  // the row doesn't take the call
      continue;
    } catch (const Wanting&) {
      return {};
    }
    if (!all)
      all = std::move(facts);
    else
      for (std::size_t i = 0; i < all->size(); ++i) (*all)[i] = i < facts.size() ? symbolic::join((*all)[i], facts[i]) : Fact{};
  }
  std::vector<Fact> facts = all.value_or(std::vector<Fact>{});
  for (std::size_t i = 0; i < std::min(facts.size(), call.node().outputs().size()); ++i)
    if (!knows_sizes(facts[i]) && records_sizes(*call.node().output(i))) facts[i] = {};
  return facts;
}

}  // namespace

bool has_body(const mapping::OperatorRows& rows) {
  return std::ranges::any_of(rows.history, [](const auto& entry) { return std::ranges::any_of(entry.rows, is_body); });
}

void infer_facts_of_bodies(const mapping::Table& table, const schema::Registry& schemas, const onnx::MovedAttributes& moved,
                           symbolic::Registry& registry) {
  for (const mapping::OperatorRows* operator_rows : table.users()) {
    const auto [base, overload] = mapping::split_overload(operator_rows->name);
    if (!has_body(*operator_rows) || !table.facts(base, overload, schemas).empty() || registry.find_facts(base, overload))
      continue;
    const mapping::Lookup usual = table.find(base, overload, usual_opset, schemas);
    std::vector<BodyRow> rows;
    for (const mapping::Entry& entry : operator_rows->history) {
      const bool holds = usual.status == mapping::Lookup::Status::rows && usual.since == entry.opset;
      for (const mapping::Row& row : entry.rows)
        if (is_body(row)) rows.push_back({row, holds ? std::max(usual_opset, entry.opset) : entry.opset});
    }
    registry.replace_facts(operator_rows->name,
                           [rows = std::move(rows), moved](const Call& call) { return facts_of_bodies(call, rows, moved); });
  }
}

}  // namespace compatcheck::handlers
