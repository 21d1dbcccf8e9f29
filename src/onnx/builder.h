// Adds nodes to a model as one opset's schemas allow them. Handlers name attributes as any opset calls them: what became an
// input by now is given as one, dtypes that the operator or the runtime doesn't take go through casts that change no value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/checked_vector.h"
#include "onnx/model.h"
#include "onnx/schema.h"

namespace compatcheck::onnx {

// A value of the model that is made; false: absent.
struct Value {
  ValueId id = absent;
  ir::DType dtype = ir::DType::f32;  // a sequence has the dtype of its tensors
  bool sequence = false;

  explicit operator bool() const { return id != absent; }
};

// Thrown for calls that this opset can't express, by handlers too: the call is refused (CC005).
struct Refusal {
  std::string reason;
  std::string hint{};
};

using Ints = ir::CheckedVector<std::int64_t>;
using Doubles = ir::CheckedVector<double>;

// The value of an attribute; a Value where it may be an input.
class Argument {
 public:
  using Variant = std::variant<std::int64_t, double, std::string, Ints, std::vector<double>, std::vector<std::string>, TensorData,
                               std::shared_ptr<Graph>, Value>;
  Argument(int value) : value_(std::int64_t{value}) {}                    // NOLINT: arguments are written as they are
  Argument(std::int64_t value) : value_(value) {}                         // NOLINT
  Argument(bool value) : value_(std::int64_t{value}) {}                   // NOLINT
  Argument(double value) : value_(value) {}                               // NOLINT
  Argument(const char* value) : value_(std::string(value)) {}             // NOLINT
  Argument(std::string value) : value_(std::move(value)) {}               // NOLINT
  Argument(Ints value) : value_(std::move(value)) {}                      // NOLINT
  Argument(std::vector<double> value) : value_(std::move(value)) {}       // NOLINT
  Argument(std::vector<std::string> value) : value_(std::move(value)) {}  // NOLINT
  Argument(TensorData value) : value_(std::move(value)) {}                // NOLINT
  Argument(std::shared_ptr<Graph> value) : value_(std::move(value)) {}    // NOLINT
  Argument(Value value) : value_(value) {}                                // NOLINT
  const Variant& variant() const { return value_; }

 private:
  Variant value_;
};

struct NamedArgument {
  std::string_view name;
  Argument value;
};
using Arguments = std::vector<NamedArgument>;
using Values = ir::CheckedVector<Value>;

// Attributes that became inputs: operator → (attribute, input). From mappings/onnx_changes.yaml.
using MovedAttributes = std::map<std::string, std::vector<std::pair<std::string, std::string>>, std::less<>>;

// The opsets within which everything that was asked of the builder has the same answer.
struct OpsetRange {
  int from = 0, to = 0;
};

// The role of a node. Plumbing brings values into the form that the nodes around it need: dtypes, dimensions, sizes computed when
// the model runs.
struct Emitted {
  std::string op;  // "Conv", or "domain::Name"
  bool plumbing = false;
  int count = 1;  // one after the other
};

class Builder {
  // In ascending order: of two that apply to a node, the later counts.
  enum class Role : std::uint8_t {
    work,      // carries the meaning of the call
    layout,    // changes how a value is held; work where the row says that the operator is the meaning (aten::reshape: Reshape)
    plumbing,  // whatever the row says
  };

  class Marking {
   public:
    Marking(Role& role, Role marked) : role_(role), before_(role) { role_ = std::max(role_, marked); }
    ~Marking() { role_ = before_; }
    Marking(const Marking&) = delete;
    Marking& operator=(const Marking&) = delete;

   private:
    Role& role_;
    Role before_;
  };

 public:
  Builder(Model& model, const MovedAttributes& moved, OpsetRange all);

  // Whether the model has this opset or a later one: how a node is spelled. Asking narrows the range.
  bool opset_at_least(int opset);
  // The same of the form that the nodes have: the model's opset, unless write_as() says another.
  bool at_least(int opset);
  // From here on nodes are those that a call becomes at opset `form`, spelled as the model's opset has them; nullopt: the
  // model's.
  void write_as(std::optional<int> form, OpsetRange all = {});
  OpsetRange form_range() const { return form_range_; }  // the forms for which at_least() had the same answers
  std::optional<int> form() const { return form_; }
  // The version in force; null if the opset has none that isn't deprecated.
  const Schema* schema(std::string_view op, std::string_view domain = {});
  bool has(std::string_view op) { return schema(op) != nullptr; }
  void narrow(OpsetRange range);
  OpsetRange range() const { return range_; }

  // "Conv", or "domain::Name". `dtype` is the output's where no input tells. Throws Refusal for what this opset's schema
  // doesn't allow, InternalError for what no opset's does.
  Value node(std::string_view op, const Values& inputs, const Arguments& attributes = {}, std::optional<ir::DType> dtype = {});
  Values nodes(std::string_view op, const Values& inputs, std::size_t outputs, const Arguments& attributes = {},
               std::optional<ir::DType> dtype = {});

  // A node of an operator that ONNX doesn't have: "domain::Name", its outputs as they are stated; null: an output that nobody
  // reads.
  Values foreign(std::string_view op, const Values& inputs, std::vector<NodeAttribute> attributes,
                 std::vector<std::optional<ValueInfo>> outputs);
  bool is_untyped(const Value& value) const { return model_.values[value.id].untyped; }

  // ---- Which nodes are plumbing. Casts that widen, changes of dtype and of dimensions by the functions below, and what is
  // computed from sizes alone, are marked as they are added; other nodes are work.
  // Nodes added while it lives are plumbing.
  [[nodiscard]] Marking plumbing() { return {role_, Role::plumbing}; }
  // The operators that carry the meaning of the call. They must outlive the builder.
  void carry_meaning(std::span<const std::string> operators) { meaning_ = operators; }
  std::span<const std::string> meaning() const { return meaning_; }
  // A number that sizes or places something: what is computed from such numbers alone is, too.
  Value size(const Value& value);
  // The value is a result of the call: so is what it was computed from, were it sizes.
  void mark_result(const Value& value);

  // ---- Constants: initializers of the model, each once
  Value constant(TensorData data);
  Value ints(const Ints& values);  // i64, one dimension
  Value integer(std::int64_t value) { return scalar(ir::DType::i64, value); }
  Value scalar(ir::DType dtype, double value);  // without dimensions
  Value scalar(ir::DType dtype, std::int64_t value);
  Value scalar(ir::DType dtype, int value) { return scalar(dtype, std::int64_t{value}); }
  const TensorData* constant_of(const Value& value) const;  // null: computed when the model runs
  std::optional<Ints> ints_of(const Value& value) const;    // a constant's elements

  // ---- Folded if the operand is a constant
  Value cast(const Value& value, ir::DType dtype);  // the value itself if it has the dtype
  Value transpose(const Value& value, const Ints& permutation);
  void state_sizes(const Value& value, const Ints& sizes);  // written into the model: ONNX's inference doesn't find them
  Value reshape(const Value& value, const Ints& dims);      // dims as Reshape's: one may be -1
  Value reshape_by(const Value& value, const Value& dims, const Arguments& attributes = {});
  Value unsqueeze(const Value& value, const Ints& axes);  // axes of the result, not negative
  Value squeeze(const Value& value, const Ints& axes);
  Value concat(const Values& parts, std::int64_t axis);  // one part: itself; vectors of constants: folded
  Value gather(const Value& data, const Value& indices, std::int64_t axis);
  // Bounds as Slice's.
  Value slice(const Value& data, const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps = {});

  Value again(const Value& value);  // the same under another name

  // ---- What a value was made of, for whoever would undo it: a packed sequence's padded one
  void remember(const Value& value, Values parts) { parts_[value.id] = std::move(parts); }
  Values made_of(const Value& value) const {
    const auto found = parts_.find(value.id);
    return found == parts_.end() ? Values{} : found->second;
  }

  // ---- Bodies of If, Loop and Scan
  std::shared_ptr<Graph> begin_body();
  Value body_input(ir::DType dtype, bool sequence = false, std::optional<std::vector<Dimension>> shape = {});
  void end_body(const Values& outputs);
  // `op`: "If", "Loop" or "Scan"; its outputs have the dtypes of the values that leave the body. Where it doesn't support a
  // dtype at this opset, values enter and leave it and its bodies in a wider dtype.
  Values control(std::string_view op, const Values& inputs, const Arguments& bodies, const std::vector<ir::DType>& dtypes,
                 const std::vector<bool>& sequences);

  // An If that gives `value` as an optional where the bool `present` holds, and an optional without a value elsewhere. Only
  // an output of the model may be one. Throws Refusal before opset 16, and for a dtype that ONNX has no optional tensors of.
  Value optional(const Value& present, const Value& value);

  // The model carries the functions of a text that nodes call.
  void add_functions(const std::shared_ptr<const FunctionText>& text);

  Value add_input(ir::DType dtype, std::optional<std::vector<Dimension>> shape, std::string name, bool sequence = false);
  Model& model() { return model_; }
  // Another model of the same opset, to try nodes in.
  Builder in(Model& other) const { return {other, moved_, range_}; }
  void set_origin(const ir::Node* origin) { origin_ = origin; }
  // Operators added since the last call, in order; those in bodies of If, Loop and Scan before the node that holds the body.
  std::vector<Emitted> take_emitted();

  // Whether shorter nodes are requested that differ from PyTorch only by `difference`, which is then reported.
  bool compact(std::string_view difference);
  // Returns the arguments of compact() since the last call, each once.
  std::vector<std::string> take_differences();

 private:
  struct Call;
  void place_attributes(Call& call, const Arguments& attributes);
  void place_moved(Call& call, const std::string& input, const Argument& value);
  void check_inputs(Call& call);
  static void demand_attributes(const Call& call);
  void widen(Call& call);
  static void widen_fill(Call& call);
  static void check_output(const Call& call, std::size_t i, const Value& given);
  void carry(const Schema& schema, const std::shared_ptr<Graph>& body);
  std::vector<ir::DType> output_dtypes(const Call& call, std::size_t outputs, std::optional<ir::DType> dtype) const;
  void add_node(Node node);
  void record(const Node& node);
  Values append(Call& call, std::size_t outputs, const std::vector<ir::DType>& dtypes);
  Value add_constant(TensorData data);
  std::optional<TensorData> known(const Value& value) const;

  Model& model_;
  const MovedAttributes& moved_;
  OpsetRange range_;
  std::optional<int> form_;
  OpsetRange form_range_;
  std::vector<std::shared_ptr<Graph>> bodies_;
  const ir::Node* origin_ = nullptr;
  struct Added {
    std::string op;
    Role role = Role::work;
    bool of_sizes = false;        // computed from sizes alone, and no result of the call: plumbing whatever its role
    std::vector<ValueId> inputs;  // inputs of such a node
  };
  std::vector<Added> emitted_;
  std::vector<std::string> differences_;
  Role role_ = Role::work;
  std::span<const std::string> meaning_;
  static constexpr std::size_t from_outside = static_cast<std::size_t>(-1);
  std::map<ValueId, std::size_t> sizes_;      // values that hold sizes → index into emitted_
  std::map<ValueId, std::size_t> constants_;  // index into initializers
  std::multimap<std::size_t, std::size_t> by_hash_;
  std::map<ValueId, Values> parts_;
};

}  // namespace compatcheck::onnx
