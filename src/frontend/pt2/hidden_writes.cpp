#include "frontend/pt2/hidden_writes.h"

#include <array>
#include <utility>

#include "frontend/pt2/node_writer.h"

namespace compatcheck::frontend::pt2 {
namespace {

// The arguments of batch_norm, native_batch_norm and instance_norm: input, weight, bias and then
constexpr std::size_t mean_at = 3, variance_at = 4, training_at = 5, momentum_at = 6, epsilon_at = 7;

class Statistics {
 public:
  Statistics(NodeWriter& nodes, Values& arguments) : nodes_(nodes), arguments_(arguments) {
    if (arguments.size() <= epsilon_at) return;
    const ir::Constant *training = ir::constant_of(arguments[training_at]), *mean = ir::constant_of(arguments[mean_at]);
    const ir::Constant* momentum = ir::constant_of(arguments[momentum_at]);
    const auto& sizes = arguments[0]->type()->tensor.sizes;
    if (!training || !training->get<bool>() || !*training->get<bool>() || (mean && mean->is_none())) return;
    if (!momentum || !momentum->get<double>() || !sizes || sizes->size() < 2) return;
    momentum_ = *momentum->get<double>();
    rank_ = sizes->size();
    are_moved_ = true;
  }

  bool are_moved() const { return are_moved_; }

  struct Moved {
    ir::Value *mean, *variance;
  };
  // A number of each channel, over the whole batch; or of each instance, the mean of which is kept.
  Moved moved(bool instances) {
    std::vector<std::int64_t> spatial, others{0};
    for (std::size_t dim = 2; dim < rank_; ++dim) spatial.push_back(static_cast<std::int64_t>(dim));
    others.insert(others.end(), spatial.begin(), spatial.end());
    ir::Value* variance =
        call("aten::var", "correction", {arguments_[0], dims(instances ? spatial : others), number(1), flag(false)});
    if (instances) variance = mean(variance, {0});
    return {between(arguments_[mean_at], mean(arguments_[0], others)), between(arguments_[variance_at], variance)};
  }

  void write(const Moved& moved) {
    call("aten::copy_", "", {arguments_[mean_at], moved.mean, flag(false)});
    call("aten::copy_", "", {arguments_[variance_at], moved.variance, flag(false)});
    arguments_[mean_at] = arguments_[variance_at] = nodes_.constant({});
  }

  // Without statistics: (result, mean, 1/deviation).
  Values of_batch() {
    const ir::TypeRef tensor = ir::tensor_type();
    ir::Node* node = nodes_.add_node("aten::_native_batch_norm_legit",
                                     std::array{arguments_[0], arguments_[1], arguments_[2], arguments_[training_at],
                                                arguments_[momentum_at], arguments_[epsilon_at]},
                                     std::array{arguments_[0]->type(), tensor, tensor});
    node->set_overload("no_stats");
    node->set_attribute(std::string(batch_statistics_mark), {true});
    return {node->outputs().begin(), node->outputs().end()};
  }

 private:
  ir::Value* call(const std::string& op, const std::string& overload, const Values& inputs) {
    ir::Value* made = nodes_.add(op, inputs, ir::tensor_type());
    made->producer()->set_overload(overload);
    return made;
  }
  ir::Value* number(std::int64_t value) { return nodes_.constant({value}); }
  ir::Value* flag(bool value) { return nodes_.constant({value}); }
  ir::Value* dims(const std::vector<std::int64_t>& given) {
    ir::ListConstant list{ir::simple_type(ir::TypeKind::integer), {}};
    for (const std::int64_t dim : given) list.items.push_back({dim});
    return nodes_.constant({std::move(list)});
  }
  ir::Value* mean(ir::Value* of, const std::vector<std::int64_t>& over) {
    return call("aten::mean", "dim", {of, dims(over), flag(false), nodes_.constant({})});
  }
  ir::Value* scaled(ir::Value* value, double by) { return call("aten::mul", "Scalar", {value, nodes_.constant({by})}); }
  ir::Value* between(ir::Value* kept, ir::Value* seen) {
    return call("aten::add", "Tensor", {scaled(kept, 1 - momentum_), scaled(seen, momentum_), number(1)});
  }

  NodeWriter& nodes_;
  Values& arguments_;
  double momentum_ = 0;
  std::size_t rank_ = 0;
  bool are_moved_ = false;
};

}  // namespace

StatedWrites with_stated_writes(NodeWriter& nodes, const std::string& op, Values& arguments) {
  const bool instances = op == "aten::instance_norm", functional = op == "aten::_native_batch_norm_legit_functional";
  if (!instances && !functional && op != "aten::batch_norm" && op != "aten::native_batch_norm") return {};
  Statistics statistics(nodes, arguments);
  if (!statistics.are_moved()) return {};
  const auto moved = statistics.moved(instances);
  if (functional) {
    Values results = statistics.of_batch();
    results.insert(results.end(), {moved.mean, moved.variance});
    return {true, std::move(results)};
  }
  statistics.write(moved);
  return {true};
}

}  // namespace compatcheck::frontend::pt2
