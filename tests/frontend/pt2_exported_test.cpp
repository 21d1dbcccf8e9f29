// Exported programs written by hand: what the archive, the signature, arguments and guards become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compatcheck/error.h"
#include "frontend/pt2/archive.h"
#include "frontend/pt2/exported.h"
#include "ir/text.h"
#include "sample_archive.h"

namespace compatcheck::frontend::pt2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string size_text(const std::string& size) {
  if (size.front() != 's') return R"({"as_int": )" + size + "}";
  return R"j({"as_expr": {"expr_str": "Symbol(')j" + size + R"j(', positive=True, integer=True)", "hint": {"as_int": 6}}})j";
}

std::string meta(const std::vector<std::string>& sizes, int dtype = 7) {
  std::string text = R"({"dtype": )" + std::to_string(dtype) + R"(, "sizes": [)";
  std::string strides;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    text += (i ? ", " : "") + size_text(sizes[i]);
    strides += (i ? ", " : "") + std::string(R"({"as_int": 1})");
  }
  return text + R"(], "strides": [)" + strides +
         R"(], "storage_offset": {"as_int": 0}, "requires_grad": false, "device": {"type": "cpu", "index": null}, "layout": 7})";
}

std::string tensor(const std::string& name) { return R"({"as_tensor": {"name": ")" + name + R"("}})"; }
std::string argument(const std::string& name, const std::string& value) {
  return R"({"name": ")" + name + R"(", "arg": )" + value + R"(, "kind": 1})";
}

struct Program {
  std::string nodes =
      R"({"target": "torch.ops.aten.add.Tensor", "inputs": [)" + argument("self", tensor("x")) + ", " +
      argument("other", tensor("p_w")) + R"(], "outputs": [)" + tensor("add") +
      R"(], "metadata": {"stack_trace": "  File \"net.py\", line 7, in forward\n    y = self.inner(x)\n  File \"net.py\", line 3, in forward\n    return x + self.w",
          "nn_module_stack": "MODULES"}})";
  std::string outputs = tensor("add");
  std::string output_specs = R"({"user_output": {"arg": )" + tensor("add") + "}}";
  std::string values = R"("x": )" + meta({"s0", "3"}) + R"(, "p_w": )" + meta({"3"}) + R"(, "add": )" + meta({"s0", "3"});
  std::string out_spec = R"([1, {\"type\": null, \"context\": null, \"children_spec\": []}])";
  std::string modules = "L__self__,,net.Net;L__self___inner,inner,net.Inner";  // of the node
  std::string parameters = "x", range = R"({"min_val": 2, "max_val": 64})";
  std::string guards, version = R"({"major": 8, "minor": 20})";
  std::string more_of_module, more;  // at the end of the graph module, and of the program
  testing::Records others;

  std::string json() const {
    std::string in_place = nodes;
    if (const auto at = in_place.find("MODULES"); at != in_place.npos) in_place.replace(at, 7, modules);
    const std::string leaf = R"({\"type\": null, \"context\": null, \"children_spec\": []})";
    return R"({"graph_module": {"graph": {"inputs": [)" + tensor("p_w") + ", " + tensor("x") + R"(], "outputs": [)" + outputs +
           R"(], "nodes": [)" + in_place + R"(], "tensor_values": {)" + values +
           R"(}, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false},
             "signature": {"input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "inner.w"}},
                                           {"user_input": {"arg": )" +
           tensor("x") + R"(}}], "output_specs": [)" + output_specs + R"(]},
             "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], "forward_arg_names": [")" +
           parameters + R"("],
               "in_spec": "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [)" +
           leaf + R"(]}, {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]", "out_spec": ")" +
           out_spec + R"("}}])" + more_of_module + R"(}, "range_constraints": {"s0": )" + range + R"(}, "guards_code": [)" +
           guards + R"(], "schema_version": )" + version + R"(, "torch_version": "2.13.0+cpu")" + more + "}";
  }

  testing::Records records() const {
    const std::string config =
        R"({"config": {"inner.w": {"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": )" +
        meta({"3"}) + "}}}";
    testing::Records all = {{"net/data/weights/weight_0", std::string(12, '\0')},
                            {"net/data/weights/model_weights_config.json", config},
                            {"net/models/model.json", json()},
                            {"net/archive_format", "pt2"},
                            {"net/archive_version", "0"}};
    for (const auto& record : others) {
      const auto same = std::ranges::find(all, record.first, [](const auto& each) { return each.first; });
      if (same == all.end())
        all.push_back(record);
      else
        *same = record;
    }
    return all;
  }
};

Exported read_records(const testing::Records& records, const std::string& model = "") {
  const files::InputFile file(testing::as_bytes(testing::zip(records)));
  const files::ZipDirectory directory = files::read_zip_directory(file);
  static const schema::Registry schemas;
  return read_exported(file, directory, model, schemas);
}

Exported read(const Program& program) { return read_records(program.records()); }

std::string refusal(const testing::Records& records, const std::string& model = "") {
  try {
    read_records(records, model);
    return "read";
  } catch (const Error& error) {
    return error.what();
  }
}
std::string refusal(const Program& program) { return refusal(program.records()); }

const ir::Graph& graph_of(const Exported& exported) { return exported.program.functions.begin()->second.graph; }

const ir::Node* find(const Exported& exported, std::string_view op) {
  const ir::Node* found = nullptr;
  ir::for_each_node(*graph_of(exported).top(), [&](const ir::Node* node) {
    if (node->is(op)) found = node;
  });
  return found;
}

std::vector<std::string> notes(const Exported& exported) {
  std::vector<std::string> notes;
  for (const auto& note : exported.program.notes) notes.push_back(note.message);
  return notes;
}

TEST(Exported, BecomesAProgram) {
  const Exported exported = read({});
  EXPECT_EQ(exported.program.producer, "torch 2.13");
  ASSERT_EQ(exported.interface.inputs.size(), 1u);
  EXPECT_EQ(exported.interface.inputs[0].name, "x");
  EXPECT_EQ(exported.interface.inputs[0].sizes[0].name, "s0");
  EXPECT_EQ(exported.interface.ranges.at("s0").most, 64);
  const ir::Node* add = find(exported, "aten::add");
  ASSERT_TRUE(add);
  EXPECT_EQ(add->overload(), "Tensor");
  ASSERT_EQ(add->inputs().size(), 3u);  // alpha has its default
  EXPECT_EQ(*ir::constant_of(add->input(2))->get<std::int64_t>(), 1);
  EXPECT_EQ(add->module(), "inner");
  ASSERT_TRUE(add->location());
  EXPECT_EQ(add->location()->line, 3);
  EXPECT_EQ(add->location()->text, "return x + self.w");
  EXPECT_EQ(add->location()->caller->line, 7);
  const ir::Node* weight = add->input(1)->producer();
  EXPECT_EQ(*weight->attribute("name")->get<std::string>(), "inner.w");
  graph_of(exported).verify();
}

// As releases spell paths; the second call of a module, and a name that a pass of the exporter made up.
TEST(Exported, NamesModules) {
  for (const auto& [modules, path] : std::vector<std::pair<std::string, std::string>>{
           {"L__self__,,net.Net", ""},
           {"a,L['self'],net.Net;b,L['self'].layers[0],net.Layer", "layers.0"},
           {"a,L['self'],net.Net;b,L['self'].blocks['up'].conv,net.Conv", "blocks.up.conv"},
           {"a,,net.Net;b,inner@1,net.Inner", "inner"},
           {"a,,net.Net;b,_encoder._norm,net.Norm", "_encoder._norm"},
           {"a,,net.Net;b,_export_root,net.Net", ""},
           {"a,,net.Net;b,_export_root.inner,net.Inner", "inner"}}) {
    Program program;
    program.modules = modules;
    EXPECT_EQ(find(read(program), "aten::add")->module(), path) << modules;
  }
}

TEST(Exported, NamesResultsByTheirKeys) {
  Program program;
  program.outputs += ", " + tensor("x");
  program.output_specs += R"(, {"user_output": {"arg": )" + tensor("x") + "}}";
  program.out_spec =
      R"([1, {\"type\": \"builtins.dict\", \"context\": \"[\\\"sum\\\", \\\"same\\\"]\", \"children_spec\": [{\"type\": null, \"context\": null, \"children_spec\": []}, {\"type\": null, \"context\": null, \"children_spec\": []}]}])";
  const Exported exported = read(program);
  EXPECT_THAT(graph_of(exported).outputs()[0]->type()->field_names, ElementsAre("sum", "same"));
  program.out_spec.replace(program.out_spec.find("builtins.dict"), 13, "collections.namedtuple");
  const std::string keys = R"([\\\"sum\\\", \\\"same\\\"])";
  program.out_spec.replace(program.out_spec.find(keys), keys.size(), "net.Pair");
  program.more_of_module = R"(, "treespec_namedtuple_fields": {"net.Pair": {"field_names": ["total", "as_it_was"]}})";
  EXPECT_THAT(graph_of(read(program)).outputs()[0]->type()->field_names, ElementsAre("total", "as_it_was"));
}

TEST(Exported, ComputesSizesAsTorchScriptDoes) {
  Program program;
  const auto sym = [](const std::string& name) { return R"({"as_sym_int": {"as_name": ")" + name + R"("}})"; };
  program.nodes = R"({"target": "torch.ops.aten.sym_size.int", "inputs": [)" + argument("self", tensor("x")) + ", " +
                  argument("dim", R"({"as_int": 0})") + R"(], "outputs": [)" + sym("n") + R"(], "metadata": {}},
                  {"target": "_operator.floordiv", "inputs": [)" +
                  argument("a", sym("n")) + ", " + argument("b", R"({"as_int": 2})") + R"(], "outputs": [)" + sym("half") +
                  R"(], "metadata": {}},
                  {"target": "torch.ops.aten.view.default", "inputs": [)" +
                  argument("self", tensor("x")) + ", " +
                  argument("size", R"({"as_sym_ints": [{"as_name": "half"}, {"as_int": -1}]})") + R"(], "outputs": [)" +
                  tensor("add") + R"(], "metadata": {}})";
  const Exported exported = read(program);
  EXPECT_TRUE(find(exported, "aten::size"));
  const ir::Node* view = find(exported, "aten::view");
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->input(1)->producer()->is("prim::ListConstruct"));
  EXPECT_TRUE(view->input(1)->producer()->input(0)->producer()->is("aten::floordiv"));
}

TEST(Exported, FixesASizeThatAGuardFixes) {
  Program program;
  program.guards = R"j("math.trunc(0.5*torch.sym_float(L['x'].size()[0])) == 3 and L['x'].size()[0] < 7")j";
  const Exported exported = read(program);
  EXPECT_EQ(exported.interface.inputs[0].sizes[0].kind, Expression::Kind::number);
  EXPECT_EQ(std::get<std::int64_t>(exported.interface.inputs[0].sizes[0].value), 6);
  ASSERT_EQ(exported.interface.fixed.size(), 1U);
  EXPECT_EQ(exported.interface.fixed[0].input, "x");
  EXPECT_EQ(exported.interface.fixed[0].size, 6);
}

TEST(Exported, FixesASizeThatAnEquationHoldsFor) {
  Program program;
  program.guards = R"("L['x'].size()[0] // 2 == 3")";  // at 6 and 7
  EXPECT_EQ(std::get<std::int64_t>(read(program).interface.inputs[0].sizes[0].value), 6);
  program.guards = R"("L['x'].size()[0] // 64 == 0")";  // at 2 to 63
  const Exported exported = read(program);
  EXPECT_EQ(exported.interface.inputs[0].sizes[0].kind, Expression::Kind::symbol);
  EXPECT_THAT(exported.interface.conditions, ElementsAre("L['x'].size()[0] // 64 == 0"));
}

TEST(Exported, TriesGuardsAtTheEndOfTheRange) {
  Program program;
  program.range = R"({"min_val": 2, "max_val": 100000})";
  program.guards = R"("L['x'].size()[0] * L['x'].size()[0] <= 1000000000", "L['x'].size()[0] * L['x'].size()[0] <= 10000000000")";
  EXPECT_THAT(read(program).interface.conditions, ElementsAre("L['x'].size()[0] * L['x'].size()[0] <= 1000000000"));
}

TEST(Exported, KeepsAGuardForSomeSizesAsACondition) {
  Program program;
  program.guards = R"("(L['x'].size()[0] % 2) == 0", "L['x'].size()[0] != 1", "L['x'].size()[1] == 3")";
  const Exported exported = read(program);
  EXPECT_EQ(exported.interface.inputs[0].sizes[0].kind, Expression::Kind::symbol);
  EXPECT_THAT(exported.interface.conditions, ElementsAre("(L['x'].size()[0] % 2) == 0"));
  EXPECT_THAT(notes(exported), ElementsAre());  // CC013 states it
}

TEST(Exported, ListsEachAssertionOnce) {
  Program program;
  const std::string assertion = R"({"target": "torch.ops.aten._assert_scalar.default", "inputs": [)" +
                                argument("self", R"({"as_bool": true})") + ", " +
                                argument("assert_msg", R"({"as_string": "n is even"})") + R"(], "outputs": [], "metadata": {}})";
  program.nodes = assertion + ", " + assertion + ", " + program.nodes;
  const Exported exported = read(program);
  EXPECT_THAT(exported.interface.assertions, ElementsAre(::testing::Field(&LeftOutAssertion::message, "n is even")));
  EXPECT_THAT(notes(exported), ElementsAre());
}

// torch 2.1 and 2.2 name a tensor by a text.
TEST(Exported, ReadsOptionalTensors) {
  for (const char* index : {R"({"as_tensor": {"name": "x"}})", R"({"as_tensor": "x"})"}) {
    Program program;
    program.nodes = R"({"target": "torch.ops.aten.index.Tensor", "inputs": [)" + argument("self", tensor("x")) + ", " +
                    argument("indices", R"({"as_optional_tensors": [{"as_none": true}, )" + std::string(index) + "]}") +
                    R"(], "outputs": [)" + tensor("add") + R"(], "metadata": {}})";
    const Exported exported = read(program);
    const ir::Node* list = find(exported, "prim::ListConstruct");
    ASSERT_TRUE(list);
    ASSERT_EQ(list->inputs().size(), 2u);
    EXPECT_TRUE(ir::constant_of(list->input(0))->is_none());
    EXPECT_EQ(list->input(1), graph_of(exported).inputs()[1]);
  }
}

// A function that isn't known, and a relation of sizes, fix nothing.
TEST(Exported, FixesNoSizeThatMayBeAnother) {
  for (const char* guard :
       {"(L['x'].size()[0] + 10) % 16 == 0", "math.log2(L['x'].size()[0]) < 9", "L['x'].size()[0] * L['x'].size()[0] < 50"}) {
    Program program;
    program.guards = std::string("\"") + guard + "\"";
    const Exported exported = read(program);
    EXPECT_EQ(exported.interface.inputs[0].sizes[0].kind, Expression::Kind::symbol) << guard;
    EXPECT_THAT(exported.interface.conditions, ElementsAre(guard));
  }
}

// What a newer torch adds to an operator that we know isn't taken for something else.
TEST(Exported, TakesNoOverloadForAnother) {
  for (const char* target : {"torch.ops.aten.clamp.Future", "torch.ops.aten.clamp.default"}) {
    Program program;
    program.nodes = R"({"target": ")" + std::string(target) + R"(", "inputs": [)" + argument("self", tensor("x")) + ", " +
                    argument("most", R"({"as_float": 2.0})") + R"(], "outputs": [)" + tensor("add") + R"(], "metadata": {}})";
    const Exported exported = read(program);
    EXPECT_FALSE(find(exported, "aten::clamp"));
    EXPECT_TRUE(find(exported, "aten::clamp.Future") || find(exported, "aten::clamp.default(most)"));
  }
}

// The call acme.pool(x, rois, size) with the schema that a row states for it.
Exported read_call(const std::string& schema, const std::string& kind = "1") {
  Program program;
  std::string inputs =
      argument("x", tensor("x")) + ", " + argument("rois", tensor("p_w")) + ", " + argument("size", R"({"as_int": 3})");
  for (auto at = inputs.find("\"kind\": 1"); at != inputs.npos; at = inputs.find("\"kind\": 1", at + 1))
    inputs.replace(at + 8, 1, kind);
  program.nodes = R"({"target": "torch.ops.acme.pool.default", "inputs": [)" + inputs + R"(], "outputs": [)" + tensor("add") +
                  R"(], "metadata": {}})";
  schema::Registry schemas;
  schemas.add(schema);
  const files::InputFile file(testing::as_bytes(testing::zip(program.records())));
  return read_exported(file, files::read_zip_directory(file), "", schemas);
}

TEST(Exported, PlacesArgumentsByNameElseByPosition) {
  const auto placed = [](const std::string& schema) {
    const Exported exported = read_call(schema);
    const ir::Node* call = find(exported, "acme::pool");
    std::string text;
    for (const ir::Value* input : call->inputs()) {
      const ir::Constant* constant = ir::constant_of(input);
      const auto* number = constant ? constant->get<std::int64_t>() : nullptr;
      text += number ? std::to_string(*number) : constant ? "None" : input == graph_of(exported).inputs()[1] ? "x" : "w";
      text += " ";
    }
    const bool noted =
        !exported.program.notes.empty() && exported.program.notes.front().kind == ir::LoadNote::Kind::matched_by_position;
    return text + (noted ? "by position" : "by name");
  };
  EXPECT_EQ(placed("acme::pool(Tensor x, Tensor rois, int size) -> Tensor"), "x w 3 by name");
  EXPECT_EQ(placed("acme::pool(Tensor rois, Tensor x, int size) -> Tensor"), "w x 3 by name");
  EXPECT_EQ(placed("acme::pool(int size, Tensor rois, Tensor x) -> Tensor"), "3 w x by name");
  EXPECT_EQ(placed("acme::pool(Tensor x, Tensor rois, int size, int more=7) -> Tensor"), "x w 3 7 by name");
  EXPECT_EQ(placed("acme::pool.fast(Tensor x, Tensor rois, int size) -> Tensor"), "x w 3 by name");
  EXPECT_EQ(placed("acme::pool(Tensor arg0, Tensor arg1, int arg2) -> Tensor"), "x w 3 by position");
  EXPECT_EQ(placed("acme::pool(Tensor x, Tensor other, int size) -> Tensor"), "x w 3 by position");
  EXPECT_EQ(placed("acme::pool(Tensor arg0, Tensor arg1, int arg2, int more=7) -> Tensor"), "x w 3 7 by position");
  EXPECT_EQ(placed("acme::pool(Tensor arg0, NoneType arg1, Tensor arg2, int arg3) -> Tensor"), "x None w 3 by position");
  EXPECT_EQ(placed("acme::pool(Tensor arg0, Tensor arg1, *, int size) -> Tensor"), "x w 3 by position");
}

TEST(Exported, RefusesASchemaThatIsNotOneOfTheCall) {
  for (const char* arguments : {
           "Tensor a, Tensor b",                         // fewer
           "Tensor a, Tensor b, int c, int d",           // more
           "Tensor rois, Tensor x, int n",               // known names in another order: which one is `n`?
           "Tensor a, Tensor x, Tensor rois, int size",  // `a` would be before x
           "Tensor a, int b, Tensor c",                  // other types
           "Tensor x, Tensor rois, str size",            // another type under the same name
           "Tensor a, Tensor b, *, int c",               // an argument by name that the call doesn't name
       }) {
    const std::string schema = "acme::pool(" + std::string(arguments) + ") -> Tensor";
    try {
      read_call(schema);
      ADD_FAILURE() << arguments;
    } catch (const ModelError& error) {
      EXPECT_EQ(std::string(error.what()),
                "calls acme::pool(x, rois, size), which doesn't fit " + schema +
                    ": state a schema that has the arguments of the call, with these names or in this order");
    }
  }
}

// Between arguments that are passed by name, the file may leave out others.
TEST(Exported, CountsArgumentsThatThePositionCannotTell) {
  EXPECT_THROW(read_call("acme::pool(Tensor a, Tensor b, int c=5, int d=7) -> Tensor", "2"), ModelError);
  EXPECT_NO_THROW(read_call("acme::pool(Tensor a, Tensor b, int c=5) -> Tensor", "2"));
}

// A storage's place in memory isn't its identity: another one may get it.
TEST(Exported, GivesEachTensorItsOwnRecord) {
  constexpr int count = 64;
  testing::Records records = Program().records();
  std::string config = R"({"config": {)";
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    records.emplace_back("net/data/constants/tensor_" + number, std::string(4, static_cast<char>(i)));
    config += (i ? ", " : "") + ("\"c" + number) + R"(": {"path_name": "tensor_)" + number +
              R"(", "is_param": false, "tensor_meta": )" + meta({"1"}) + "}";
  }
  records.emplace_back("net/data/constants/model_constants_config.json", config + "}}");
  const files::InputFile file(testing::as_bytes(testing::zip(records)));
  const files::ZipDirectory directory = files::read_zip_directory(file);
  Archive archive(file, directory, "");
  for (int i = 0; i < count; ++i) {
    const auto tensor = archive.stored("c" + std::to_string(i));
    ASSERT_TRUE(tensor);
    EXPECT_EQ(tensor->get<ir::TensorView>()->storage->data, std::vector<std::uint8_t>(4, static_cast<std::uint8_t>(i)));
  }
}

TEST(Exported, RefusesWhatIsNoProgram) {
  Program program;
  program.version = R"({"major": 9, "minor": 0})";
  EXPECT_THAT(refusal(program), HasSubstr("schema version 9.0, written by torch 2.13.0+cpu"));
  program.version = R"({"major": 6, "minor": 0})";
  EXPECT_THAT(refusal(program), HasSubstr("which no release of torch writes"));

  testing::Records records = Program().records();
  std::erase_if(records, [](const auto& record) { return record.first == "net/models/model.json"; });
  EXPECT_THAT(refusal(records), HasSubstr("saving it may have been interrupted"));
  records.emplace_back("net/data/aotinductor/model/x.so", "");
  EXPECT_THAT(refusal(records), HasSubstr("AOTInductor"));

  Program newer;
  newer.others = {{"net/archive_version", "1"}};
  EXPECT_THAT(refusal(newer), HasSubstr("archive of version 1"));
  Program big;
  big.others = {{"net/byteorder", "big"}};
  EXPECT_THAT(refusal(big), HasSubstr("big-endian"));
}

TEST(Exported, ChoosesAmongSeveralPrograms) {
  Program program;
  program.others = {{"net/models/dec/oder.json", program.json()}};
  EXPECT_THAT(refusal(program), HasSubstr("choose one with LoadOptions::model (dec/oder, model)"));
  EXPECT_EQ(refusal(program.records(), "model"), "read");
  EXPECT_THAT(refusal(program.records(), "none"), HasSubstr("the archive holds dec/oder, model"));
}

TEST(Exported, ChoosesNoProgramOfAnOldArchive) {
  const testing::Records records = {{"serialized_exported_program.json", Program().json()}};
  const files::InputFile file(testing::as_bytes(testing::zip(records)));
  EXPECT_THROW(Archive(file, files::read_zip_directory(file), "other"), UsageError);
  EXPECT_THAT(refusal(records, "other"), HasSubstr("LoadOptions::model other: the archive holds one program, which has no name"));
}

// Each while_loop reads its condition twice, so nested ones have 2^n nodes.
TEST(Exported, BoundsTheNodesOfRepeatedSubgraphs) {
  std::string values;
  for (int i = 0; i < 1000; ++i) values += (i ? ", \"" : "\"") + std::to_string(i) + "\": " + meta({"3"});
  const auto graph = [](const std::string& nodes, const std::string& result, const std::string& tensors) {
    return R"({"as_graph": {"name": "g", "graph": {"inputs": [)" + tensor("a") + R"(], "outputs": [)" + tensor(result) +
           R"(], "nodes": [)" + nodes + R"(], "tensor_values": {)" + tensors + R"(}}}})";
  };
  const auto loop = [&](const std::string& condition, const std::string& operand, const std::string& result) {
    return R"({"target": "torch.ops.higher_order.while_loop", "inputs": [)" + argument("", condition) + ", " +
           argument("", graph("", "a", "")) + ", " + argument("", R"({"as_tensors": [{"name": ")" + operand + R"("}]})") +
           R"(], "outputs": [)" + tensor(result) + R"(], "metadata": {}})";
  };
  std::string condition = graph("", "a", values);
  Program program;
  program.nodes = loop(condition, "x", "add");
  EXPECT_EQ(refusal(program), "read");
  for (int i = 0; i < 20; ++i) condition = graph(loop(condition, "a", "b"), "b", "");
  program.nodes = loop(condition, "x", "add");
  EXPECT_THAT(refusal(program), HasSubstr("has more than 4000000 nodes and values with its subgraphs in place"));
}

// No schema is assumed for a name that no operator can have.
TEST(Exported, KeepsOperatorsOfImpossibleNames) {
  Program program;
  program.nodes.replace(program.nodes.find("aten.add.Tensor"), 15, "aten.1ul.Tensor");
  const Exported exported = read(program);
  EXPECT_TRUE(exported.program.stub_schemas.empty());
  EXPECT_NE(find(exported, "aten::1ul"), nullptr);
}

TEST(Exported, RefusesDamagedPrograms) {
  Program named;
  named.parameters = std::string(1001, 'x');
  EXPECT_THAT(refusal(named), HasSubstr("has an argument whose name is longer than 1,000 bytes"));

  Program twice;
  twice.nodes += ", " + twice.nodes;
  EXPECT_THAT(refusal(twice), HasSubstr("defines the value add twice"));
  Program early;
  early.nodes = Program().nodes;
  early.nodes.replace(early.nodes.find("\"x\""), 3, "\"y\"");
  EXPECT_THAT(refusal(early), HasSubstr("reads the value y before it is defined"));
  Program both;
  both.nodes.replace(both.nodes.find(tensor("x")), tensor("x").size(), R"({"as_tensor": {"name": "x"}, "as_int": 1})");
  EXPECT_THAT(refusal(both), HasSubstr("has two values"));
  Program unknown;
  unknown.nodes.replace(unknown.nodes.find(tensor("x")), tensor("x").size(), R"({"as_quaternion": 1})");
  EXPECT_THAT(refusal(unknown), HasSubstr("unknown kind \"as_quaternion\""));
  testing::Records code = Program().records();
  code[1].second.replace(code[1].second.find("\"dtype\": 7"), 10, "\"dtype\": 99");
  EXPECT_THAT(refusal(code), HasSubstr("a dtype that isn't supported"));
  Program lost;
  lost.others = {{"net/data/weights/weight_0", ""}};
  EXPECT_THAT(refusal(lost), HasSubstr("was saved without its values"));
  Program small;
  small.others = {{"net/data/weights/weight_0", "12345678"}};
  EXPECT_THAT(refusal(small), HasSubstr("the tensor inner.w reaches outside its record of 8 bytes"));
}

}  // namespace
}  // namespace compatcheck::frontend::pt2
