#include "frontend/torchscript/nudge_weights.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/ir.h>

#include <span>
#include <unordered_set>

#include "ir/last_bits.h"

namespace compatcheck::frontend::torchscript {
namespace {

class Nudging {
 public:
  explicit Nudging(std::uint64_t draw) : draw_(draw) {}

  // Several tensors may share a storage.
  void add(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.is_quantized() || tensor.layout() != at::kStrided || !tensor.device().is_cpu()) return;
    const auto dtype = ir::dtype_from_number(static_cast<std::int64_t>(tensor.scalar_type()));
    const at::Storage& storage = tensor.storage();
    if (!dtype || !seen_.insert(storage.unsafeGetStorageImpl()).second || storage.nbytes() == 0) return;
    auto* data = static_cast<std::uint8_t*>(storage.mutable_data());
    ir::flip_last_bits({data, storage.nbytes()}, *dtype, draw_++);
  }

  void add(const c10::IValue& value) {
    if (value.isTensor()) return add(value.toTensor());
    if (value.isTensorList())
      for (const at::Tensor& tensor : value.toTensorVector()) add(tensor);
  }

  void add(torch::jit::Block& block) {
    for (torch::jit::Node* node : block.nodes()) {
      if (node->kind() == c10::prim::Constant && node->hasAttribute(c10::attr::value) &&
          node->kindOf(c10::attr::value) == torch::jit::AttributeKind::t)
        add(node->t(c10::attr::value));
      for (torch::jit::Block* inner : node->blocks()) add(*inner);
    }
  }

 private:
  std::uint64_t draw_;
  std::unordered_set<const void*> seen_;
};

}  // namespace

void nudge_weights(torch::jit::Module& module, const std::string& method, std::uint64_t draw) {
  constexpr std::uint64_t apart = 1ull << 32;  // each storage of each draw has a generator of its own
  Nudging nudging((draw - 1) * apart);
  for (const auto& attribute : module.named_attributes(true)) nudging.add(attribute.value);
  if (const auto found = module.find_method(method)) nudging.add(*found->graph()->block());
}

}  // namespace compatcheck::frontend::torchscript
