#include "conversion/trial_operands.h"

#include <stdexcept>

#include "conversion/defect.h"
#include "conversion/foreign.h"
#include "passes/rewrite.h"
#include "symbolic/condition.h"
#include "symbolic/shapes.h"

namespace compatcheck::conversion {
namespace {

using mapping::Lookup;
using mapping::Row;

constexpr std::int64_t most_computed = 64;  // elements
constexpr int most_calls_behind = 64;       // length of a chain of calls that computes a constant; each uses stack

// A tensor of few elements that are known at conversion.
bool is_small_constant(const symbolic::Fact& fact) {
  const auto* tensor = fact.tensor();
  return tensor && tensor->shape && symbolic::is_constant(fact) &&
         symbolic::product(*tensor->shape).number().value_or(most_computed + 1) <= most_computed;
}

}  // namespace

// Holds while another call is emitted than the one on trial.
class TrialOperands::Inside {
 public:
  explicit Inside(TrialOperands& operands)
      : operands_(operands),
        meaning_(operands.builder_.meaning()),
        form_(operands.builder_.form()),
        forms_(operands.builder_.form_range()) {
    ++operands_.calls_behind_;
    operands_.builder_.write_as({});
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    --operands_.calls_behind_;
    operands_.builder_.carry_meaning(meaning_);
    operands_.builder_.write_as(form_, forms_);
  }

 private:
  TrialOperands& operands_;
  std::span<const std::string> meaning_;
  std::optional<int> form_;
  onnx::OpsetRange forms_;
};

const handlers::Operand& TrialOperands::of(const ir::Value* value) {
  if (const auto known = operands_.find(value); known != operands_.end()) return known->second;
  return operands_.emplace(value, made_of(value)).first->second;
}

const handlers::Operand* TrialOperands::if_known(const ir::Value* value) {
  try {
    const handlers::Operand& operand = of(value);
    return std::holds_alternative<handlers::Unresolved>(operand.value) ? nullptr : &operand;
  } catch (const handlers::Wanting&) {
    return nullptr;
  }
}

handlers::Operand TrialOperands::made_of(const ir::Value* value) {
  if (const ir::Constant* constant = ir::constant_of(value)) return handlers::operand_of(*constant, context_.program, builder_);
  if (passes::is_undefined(value)) return {handlers::Uninitialized{}};
  if (value->producer() && value->producer()->is("prim::ListConstruct")) {  // a list of objects, unknown to the facts
    handlers::List list;
    for (const ir::Value* item : value->producer()->inputs()) list.items.push_back(of(item));
    return {std::move(list)};
  }
  if (calls_behind_ < most_calls_behind && is_small_constant(context_.facts.of(value)))
    if (auto constant = computed_constant(*value)) return *std::move(constant);
  const auto fresh = [this](ir::DType dtype, bool sequence) {
    return onnx::Value{
        builder_.model().add_value({.kind = sequence ? onnx::ValueInfo::Kind::sequence : onnx::ValueInfo::Kind::tensor,
                                    .dtype = dtype,
                                    .shape = {},
                                    .name = {}}),
        dtype, sequence};
  };
  try {
    return handlers::operand_of(context_.facts.of(value), value->type(), fresh);
  } catch (const handlers::Wanting& wanting) {
    if (!open_ || !wanting.verdict.wants.empty()) throw;
    return open_operand(*value, context_, builder_);
  }
}

// Makes the value as the conversion does; nullopt if that is no constant. Nodes that it leaves are dead.
std::optional<handlers::Operand> TrialOperands::computed_constant(const ir::Value& value) {
  const ir::Node* maker = value.producer();
  if (!maker || !maker->schema()) return std::nullopt;
  const Lookup& found = lookups_.find(*maker, builder_.model().opset);
  if (found.status != Lookup::Status::rows) return std::nullopt;
  builder_.narrow(lookups_.range(*maker, builder_.model().opset));
  const symbolic::Call call(*maker, context_.facts);
  const Row* row = applying_row(found, call, context_);
  if (!row || row->kind != Row::Kind::mapped || row->random) return std::nullopt;
  if (auto known = known_results(call, *row, builder_)) return std::move((*known)[value.index()]);
  const RowEmitter emitter(call, *row, *found.op, context_, builder_.model().opset);
  if (!emitter.exists() || emitter.by_plugin()) return std::nullopt;
  const Inside inside(*this);
  try {
    handlers::Emission emission(call, row, context_.table.facts(call.op(), maker->overload(), context_.schemas), builder_,
                                [this](const ir::Value* input) -> const handlers::Operand& { return of(input); });
    reporting_defects(*maker, builder_.model().opset, [&] {
      try {
        emitter.emit(emission);
      } catch (const std::length_error& error) {
        throw onnx::Refusal{error.what()};
      }
    });
    const auto& made = emission.results()[value.index()];
    if (made && made->tensor() && builder_.constant_of(*made->tensor())) return made;
  } catch (const onnx::Refusal&) {
  } catch (const handlers::Wanting&) {
  } catch (const symbolic::Impossible&) {
  } catch (const DefectOfCall&) {
    if (!found.user) throw;  // the trial of that call shows a user the effect of the row
  }
  return std::nullopt;
}

}  // namespace compatcheck::conversion
