#include "verify/match.h"

#include "onnx/model.h"

namespace compatcheck::verification {
namespace {

ir::TensorView scalar(ir::DType dtype, double number, std::int64_t whole) {
  const auto data = ir::is_floating(dtype) ? onnx::make_tensor(dtype, {}, std::vector<double>{number}) : onnx::make_tensor(dtype, {}, std::vector<std::int64_t>{whole});
  auto storage = std::make_shared<ir::Storage>();
  storage->data = data.bytes;
  storage->bytes = data.bytes.size();
  return {.dtype = dtype, .sizes = {}, .strides = {}, .storage = std::move(storage), .quantizer = nullptr};
}

// `beside`: the dtype of what it is compared with.
std::optional<ir::TensorView> tensor_of(const ir::Constant& value, std::optional<ir::DType> beside) {
  if (const auto* view = value.get<ir::TensorView>()) return *view;
  if (const auto* number = value.get<std::int64_t>()) return scalar(ir::DType::i64, static_cast<double>(*number), *number);
  if (const auto* boolean = value.get<bool>()) return scalar(ir::DType::boolean, *boolean, *boolean);
  if (const auto* number = value.get<double>()) return scalar(beside && ir::is_floating(*beside) ? *beside : ir::DType::f64, *number, 0);
  return std::nullopt;
}

class Matching {
 public:
  Matching(const ir::Constants& found, const std::vector<std::string>& names) : found_(found), names_(names) {}

  Matched run(const ir::Constant& expected) {
    walk(expected);
    if (made_.mismatch.empty() && next_ != found_.size())
      made_.mismatch = "the ONNX model gives " + std::to_string(found_.size()) + " values, TorchScript " + std::to_string(next_);
    return std::move(made_);
  }

 private:
  void walk(const ir::Constant& expected) {
    if (!made_.mismatch.empty() || expected.is_none()) return;
    if (const auto* tuple = expected.get<ir::TupleConstant>()) {
      for (const auto& item : tuple->items) walk(item);
    } else if (const auto* dict = expected.get<ir::DictConstant>()) {
      for (const auto& [key, item] : dict->items) walk(item);
    } else if (const auto* list = expected.get<ir::ListConstant>()) {
      if (next_ < found_.size() && found_[next_].get<ir::ListConstant>()) sequence(*list, *found_[next_].get<ir::ListConstant>(), names_[next_]), ++next_;
      else for (const auto& item : list->items) walk(item);
    } else if (next_ >= found_.size()) {
      made_.mismatch = "the ONNX model gives only " + std::to_string(found_.size()) + " values";
    } else {
      pair(expected, found_[next_], names_[next_]);
      ++next_;
    }
  }

  void sequence(const ir::ListConstant& expected, const ir::ListConstant& found, const std::string& name) {
    if (expected.items.size() != found.items.size()) {
      made_.mismatch = "output '" + name + "' is a sequence of " + std::to_string(found.items.size()) + ", TorchScript's list has " + std::to_string(expected.items.size());
      return;
    }
    for (std::size_t i = 0; i < expected.items.size(); ++i) pair(expected.items[i], found.items[i], name + "." + std::to_string(i));
  }

  void pair(const ir::Constant& expected, const ir::Constant& found, const std::string& name) {
    const auto right = tensor_of(found, {});
    const auto left = tensor_of(expected, right ? std::optional(right->dtype) : std::nullopt);
    if (left && right) made_.pairs.push_back({name, *left, *right});
    else made_.mismatch = "output '" + name + "' is " + (right ? "a tensor" : "no tensor") + ", TorchScript's is " + (left ? "one" : "none");
  }

  const ir::Constants& found_;
  const std::vector<std::string>& names_;
  std::size_t next_ = 0;
  Matched made_;
};

void collect(const ir::Constant& value, std::vector<ir::TensorView>& into) {
  if (const auto* tuple = value.get<ir::TupleConstant>()) for (const auto& item : tuple->items) collect(item, into);
  else if (const auto* list = value.get<ir::ListConstant>()) for (const auto& item : list->items) collect(item, into);
  else if (const auto* dict = value.get<ir::DictConstant>()) for (const auto& [key, item] : dict->items) collect(item, into);
  else if (auto tensor = tensor_of(value, {})) into.push_back(std::move(*tensor));
}

}  // namespace

Matched match(const ir::Constant& expected, const ir::Constants& found, const std::vector<std::string>& names) { return Matching(found, names).run(expected); }

std::vector<ir::TensorView> leaves_of(const ir::Constant& value) {
  std::vector<ir::TensorView> leaves;
  collect(value, leaves);
  return leaves;
}

}  // namespace compatcheck::verification
