#include "hostile/random_calls.h"

#include <map>
#include <vector>

namespace compatcheck::hostile {
namespace {

using ir::TypeKind;
using Names = std::vector<std::string>;

constexpr const char* integers[] = {"0",
                                    "1",
                                    "-1",
                                    "2",
                                    "3",
                                    "-2",
                                    "4",
                                    "7",
                                    "64",
                                    "65",
                                    "1000000",
                                    "2147483648",
                                    "4611686018427387904",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "-9223372036854775807"};
constexpr const char* floats[] = {"0.", "1.", "-1.", "0.5", "1e308", "-1e308", "inf", "nan", "1e-308", "9.3e18"};
constexpr const char* texts[] = {"floor", "trunc", "same",    "valid",    "sum", "mean",      "none",
                                 "xy",    "ij",    "reduced", "complete", "r",   "ij,jk->ik", "a...b,...->b...",
                                 "...",   "ii->i", ",->",     "->",       "cpu", "cuda:0",    "",
                                 "fro",   "nuc",   "reflect", "circular"};
constexpr const char* tensor_types[] = {"Tensor",
                                        "Float()",
                                        "Float(0)",
                                        "Float(3)",
                                        "Float(2, 3)",
                                        "Float(1, 3, 8, 8)",
                                        "Float(*, 3, *)",
                                        "Long()",
                                        "Long(0)",
                                        "Long(4)",
                                        "Bool(2, 3)",
                                        "Byte(2)",
                                        "Half(4, 4)",
                                        "ComplexFloat(2, 2)",
                                        "Double(1)",
                                        "Float(9223372036854775807, 2)",
                                        "Float(4611686018427387904)",
                                        "Long(2, 2, 2, 2, 2, 2)",
                                        "QUInt8(1, 3, 4, 4)"};
// Type and value.
constexpr std::pair<const char*, const char*> tensor_constants[] = {{"Long()", "{3}"},
                                                                    {"Long()", "{-9223372036854775808}"},
                                                                    {"Long(0)", "[ CPULongType{0} ]"},
                                                                    {"Long(3)", " 1  2  3 [ CPULongType{3} ]"},
                                                                    {"Float()", "{0.5}"},
                                                                    {"Float()", "{inf}"},
                                                                    {"Double()", "{1e300}"},
                                                                    {"Float(2)", " 0.5  1.5 [ CPUFloatType{2} ]"},
                                                                    {"Bool()", "{1}"},
                                                                    {"Long(2)", " 9223372036854775807  -1 [ CPULongType{2} ]"},
                                                                    {"Float(5, 5, 3, 3)", "<Tensor>"},
                                                                    {"Float(4, 2)", "<Tensor>"}};

class Writer {
 public:
  Writer(Choices& choices, const schema::Registry& registry, std::string_view op, std::size_t most_calls)
      : choices_(choices), registry_(registry), op_(op), most_calls_(most_calls), names_(registry.names()) {}

  std::string write() {
    std::string inputs;
    for (int i = 0; i < 4; ++i) inputs += "%" + add("Tensor") + " : " + choices_.of(tensor_types) + ", ";
    inputs += "%" + add("int") + " : int, %" + add("bool") + " : bool, %" + add("int[]") + " : int[], %" + add("Tensor[]") +
              " : Tensor[]";
    std::size_t calls = 0;
    do call(2);
    while (choices_.any() && ++calls < most_calls_);
    return "graph(" + inputs + "):\n" + body_ + "  return (" + results_ + ")\n";
  }

 private:
  std::string add(const std::string& type) {
    std::string name = "v" + std::to_string(next_++);
    values_[type].push_back(name);
    return name;
  }
  void line(int indent, const std::string& text) { body_ += std::string(static_cast<std::size_t>(indent), ' ') + text + "\n"; }

  std::string constant(int indent, const std::string& type, const std::string& value) {
    std::string name = "v" + std::to_string(next_++);
    line(indent, "%" + name + " : " + type + " = prim::Constant[value=" + value + "]()");
    return name;
  }

  // One made before, if there is one.
  std::string known(const std::string& type) {
    const Names& names = values_[type];
    return names.empty() || choices_.one_in(3) ? "" : choices_.of(names);
  }

  std::string list(int indent, const ir::Type& element) {
    const std::string type = ir::to_string(element) + "[]";
    if (const std::string name = known(type); !name.empty() && choices_.one_in(3)) return name;
    std::string items;
    for (std::size_t count = choices_.below(6); count > 0; --count)
      items += (items.empty() ? "%" : ", %") + argument(indent, element);
    const std::string name = "v" + std::to_string(next_++);
    line(indent, "%" + name + " : " + type + " = prim::ListConstruct(" + items + ")");
    values_[type].push_back(name);
    return name;
  }

  std::string argument(int indent, const ir::Type& type) {
    switch (type.kind) {
      case TypeKind::tensor: {
        if (const std::string name = known("Tensor"); !name.empty()) return name;
        const auto& [spelled, value] = choices_.of(tensor_constants);
        return constant(indent, spelled, value);
      }
      case TypeKind::optional:
        return choices_.one_in(2) ? constant(indent, "NoneType", "None") : argument(indent, *type.elements[0]);
      case TypeKind::list: return list(indent, *type.elements[0]);
      case TypeKind::floating: return constant(indent, "float", choices_.of(floats));
      case TypeKind::boolean:
        return choices_.one_in(4) ? known_or(indent, "bool", "False")
                                  : constant(indent, "bool", choices_.one_in(2) ? "True" : "False");
      case TypeKind::string: return constant(indent, "str", "\"" + std::string(choices_.of(texts)) + "\"");
      case TypeKind::number:
        return choices_.one_in(2) ? constant(indent, "float", choices_.of(floats))
                                  : constant(indent, "int", choices_.of(integers));
      case TypeKind::device: return constant(indent, "Device", "\"cpu\"");
      case TypeKind::none:
      case TypeKind::generator:
      case TypeKind::layout:
      case TypeKind::memory_format: return constant(indent, "NoneType", "None");
      case TypeKind::any:
      case TypeKind::var: return argument(indent, *ir::simple_type(choices_.one_in(2) ? TypeKind::tensor : TypeKind::integer));
      default: return choices_.one_in(4) ? known_or(indent, "int", "5") : constant(indent, "int", choices_.of(integers));
    }
  }

  std::string known_or(int indent, const std::string& type, const std::string& value) {
    const std::string name = known(type);
    return name.empty() ? constant(indent, type, value) : name;
  }

  void call(int indent) {
    const auto overloads = registry_.overloads(op_.empty() ? choices_.of(names_) : op_);
    if (overloads.empty()) return;
    const schema::Schema& schema = *choices_.of(overloads);
    std::size_t count = schema.arguments.size();
    while (count > 0 && schema.arguments[count - 1].default_value && choices_.one_in(3)) --count;
    std::string arguments;
    for (std::size_t i = 0; i < count; ++i) arguments += (i ? ", %" : "%") + argument(indent, *schema.arguments[i].type);
    std::string outputs;
    for (const auto& result : schema.returns) {
      const std::string type = result.type->kind == TypeKind::var ? "Tensor" : ir::to_string(*result.type);
      const std::string name = add(type);
      outputs += (outputs.empty() ? "%" : ", %") + name + " : " + type;
      results_ += (results_.empty() ? "%" : ", %") + name;  // all of them: nothing is dead code
    }
    line(indent, outputs + (outputs.empty() ? "" : " = ") + schema.name + "(" + arguments + ")");
  }

  Choices& choices_;
  const schema::Registry& registry_;
  std::string_view op_;
  std::size_t most_calls_;
  std::vector<std::string_view> names_;
  std::map<std::string, Names> values_;
  std::string body_, results_;
  std::size_t next_ = 0;
};

}  // namespace

std::size_t Choices::below(std::size_t bound) {
  std::size_t chosen = 0;
  for (std::size_t range = 1; range < bound && any(); range *= 256) chosen = chosen * 256 + bytes_[at_++];
  return bound == 0 ? 0 : chosen % bound;
}

std::string random_calls(Choices& choices, const schema::Registry& registry, std::string_view op, std::size_t most_calls) {
  return Writer(choices, registry, op, most_calls).write();
}

}  // namespace compatcheck::hostile
