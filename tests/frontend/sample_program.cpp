#include "frontend/sample_program.h"

#include <array>
#include <cmath>

namespace compatcheck::frontend::testing {
namespace {

using ir::Constant;
using ir::TypeKind;

std::shared_ptr<const ir::Storage> stored_in_file() {
  auto storage = std::make_shared<ir::Storage>();
  storage->file_offset = 4096;
  storage->bytes = 24;
  storage->in_file = true;
  storage->record = "data/0";
  return storage;
}

ir::TensorView tensor(std::shared_ptr<const ir::Storage> storage, std::vector<std::int64_t> sizes,
                      std::vector<std::int64_t> strides) {
  ir::TensorView view;
  view.sizes = std::move(sizes);
  view.strides = std::move(strides);
  view.storage = std::move(storage);
  return view;
}

ir::TensorView quantized() {
  auto storage = std::make_shared<ir::Storage>();
  storage->data = {1, 2, 3};
  storage->bytes = 3;
  ir::TensorView view = tensor(storage, {3}, {1});
  view.dtype = ir::DType::qi8;
  view.device = "cuda:1";
  view.requires_grad = true;
  view.quantizer = std::make_shared<ir::Quantizer>(ir::Quantizer{true, 0.5, -3, {0.1, 0.2, 0.3}, {0, 1, -1}, {0.5}, 2});
  return view;
}

std::vector<Constant> one_of_each() {
  const Constant nan{std::nan("")};
  return {{},
          {std::int64_t{-5}},
          {std::int64_t{1} << 62},
          nan,
          {0.1},
          {true},
          {std::complex<double>(1, -2)},
          {std::string("bytes \0 in it", 13)},
          {quantized()},
          {ir::TensorView{}},
          {ir::ListConstant{ir::simple_type(TypeKind::integer), {{std::int64_t{1}}, {std::int64_t{2}}}}},
          {ir::TupleConstant{ir::tuple_of({ir::simple_type(TypeKind::floating), ir::simple_type(TypeKind::none)}), {{1.5}, {}}}},
          {ir::DictConstant{ir::simple_type(TypeKind::string),
                            ir::tensor_type(),
                            {{{std::string("k")}, {tensor(stored_in_file(), {2, 3}, {3, 1})}}}}},
          {ir::ObjectConstant{0}},
          {ir::EnumConstant{"__torch__.Colour", "red", std::make_shared<Constant>(Constant{std::int64_t{7}})}},
          {ir::DeviceConstant{"cuda:0"}},
          {ir::FunctionConstant{"__torch__.warp"}},
          {ir::OpaqueConstant{"__torch__.torch.classes.acme.Engine"}}};
}

}  // namespace

ir::Graph sample_graph() {
  ir::Graph graph;
  ir::TensorType image{ir::DType::f32, {{1, 3, std::nullopt, 224}}, std::nullopt, false, "cuda:0"};
  ir::Value* x = graph.top()->add_input(ir::tensor_type(image), "x");
  ir::Value* flag = graph.top()->add_input(ir::simple_type(TypeKind::boolean), "flag");
  for (const Constant& constant : one_of_each()) {
    ir::Node* node = graph.create("prim::Constant");
    node->set_attribute("value", constant);
    node->add_output(ir::optional_of(ir::dict_of(ir::simple_type(TypeKind::string), ir::named_type("__torch__.Net"))));
    graph.top()->append(node);
  }
  const std::array<ir::Value*, 1> condition = {flag};
  ir::Node* branch = graph.create("prim::If", condition);
  graph.top()->append(branch);
  for (const char* op : {"aten::relu", "aten::neg"}) {
    ir::Block* block = branch->add_block();
    const std::array<ir::Value*, 1> inputs = {x};
    ir::Node* node = graph.create(op, inputs);
    node->set_overload("Tensor");
    block->append(node);
    block->add_output(node->add_output(ir::tensor_type()));
  }
  branch->add_output(ir::tensor_type())->set_name("y");
  branch->set_module("encoder.layer.0");
  const auto caller = std::make_shared<const ir::Location>(ir::Location{"net.py", 40, 1, "forward", "return warp(x)", nullptr});
  branch->set_location(std::make_shared<const ir::Location>(ir::Location{"net.py", 12, 5, "warp", "if flag:", caller}));
  graph.top()->add_output(branch->output());
  return graph;
}

ir::Program sample_program() {
  ir::Program program;
  ir::Class net{"__torch__.Net", true, false, {}, {}, {}};
  net.attributes = {{"weight", ir::tensor_type(), true, false}, {"tied", ir::tensor_type(), false, true}};
  net.constants["scale"] = {2.5};
  net.methods["forward"] = "__torch__.Net.forward";
  program.classes[net.name] = net;
  ir::Function forward;
  forward.name = "__torch__.Net.forward";
  forward.parameters = {{"x", ir::tensor_type(), std::nullopt},
                        {"times", ir::simple_type(TypeKind::integer), Constant{std::int64_t{3}}}};
  forward.returns = {ir::tensor_type()};
  forward.graph = sample_graph();
  program.functions.emplace(forward.name, std::move(forward));
  const auto storage = stored_in_file();
  program.objects.push_back({"__torch__.Net", {{tensor(storage, {2, 3}, {3, 1})}, {tensor(storage, {3, 2}, {1, 3})}}});
  program.recorded_inputs = {{"x", ir::tensor_type({ir::DType::i64, {{2}}, {{1}}, std::nullopt, ""})}};
  program.notes = {{ir::LoadNote::Kind::cuda_to_cpu, "cuda:0", "saved on cuda:0"}};
  program.stub_schemas = {"acme::fused(Tensor x) -> Tensor"};
  program.library_schemas = {"acme::loaded(Tensor x) -> Tensor"};
  program.producer = "torch 2.13";
  program.libtorch_version = "2.13.0";
  program.traced = true;
  return program;
}

}  // namespace compatcheck::frontend::testing
