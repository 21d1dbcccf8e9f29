#include "frontend/snapshot.h"

#include <gmock/gmock.h>

#include <limits>

#include "compatcheck/error.h"
#include "frontend/sample_program.h"
#include "ir/text.h"

namespace compatcheck::frontend {
namespace {

using testing::sample_graph;
using testing::sample_program;

std::string text_of(const ir::Graph& graph) { return ir::print(graph); }

TEST(Snapshot, GraphsComeBack) {
  const ir::Graph graph = sample_graph();
  const ir::Graph back = decode_graph(encode(graph));
  back.verify();
  EXPECT_EQ(text_of(back), text_of(graph));
  const auto before = values_in_order(graph), after = values_in_order(back);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i]->name(), after[i]->name());
    EXPECT_TRUE(ir::equal(*before[i]->type(), *after[i]->type()));
  }
}

TEST(Snapshot, NodesKeepTheirOrigin) {
  const ir::Graph back = decode_graph(encode(sample_graph()));
  const ir::Node* node = back.top()->last();
  ASSERT_EQ(node->op(), "prim::If");
  EXPECT_EQ(node->module(), "encoder.layer.0");
  EXPECT_EQ(node->location()->file, "net.py");
  EXPECT_EQ(node->location()->line, 12);
  EXPECT_EQ(node->location()->function, "warp");
  EXPECT_EQ(node->location()->caller->line, 40);
}

TEST(Snapshot, EveryKindOfConstantComesBack) {
  const ir::Graph graph = sample_graph(), back = decode_graph(encode(graph));
  std::vector<ir::Constant> before, after;
  const auto collect = [](std::vector<ir::Constant>& into) {
    return [&into](const ir::Node* node) {
      for (const auto& attribute : node->attributes()) into.push_back(attribute.value);
    };
  };
  ir::for_each_node(*graph.top(), collect(before));
  ir::for_each_node(*back.top(), collect(after));
  ASSERT_EQ(before.size(), after.size());
  std::set<std::size_t> kinds;
  for (std::size_t i = 0; i < before.size(); ++i) {
    kinds.insert(before[i].value.index());
    EXPECT_TRUE(ir::equal(before[i], after[i])) << i;
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<ir::Constant::Variant>);
}

TEST(Snapshot, SharedStoragesStayShared) {
  const ir::Program back = decode_program(encode(sample_program()));
  const auto* weight = back.objects[0].attributes[0].get<ir::TensorView>();
  const auto* tied = back.objects[0].attributes[1].get<ir::TensorView>();
  ASSERT_TRUE(weight && tied);
  EXPECT_EQ(weight->storage, tied->storage);
  EXPECT_EQ(weight->storage->file_offset, 4096u);
  EXPECT_EQ(weight->storage->record, "data/0");
  EXPECT_TRUE(weight->storage->in_file);
}

TEST(Snapshot, ProgramsComeBack) {
  const ir::Program program = sample_program();
  const ir::Program back = decode_program(encode(program));
  EXPECT_EQ(encode(back), encode(program));
  EXPECT_EQ(back.root, 0u);
  EXPECT_EQ(back.notes.at(0).message, "saved on cuda:0");
  EXPECT_EQ(back.recorded_inputs.at(0).name, "x");
  EXPECT_EQ(back.stub_schemas, program.stub_schemas);
  EXPECT_EQ(back.library_schemas, program.library_schemas);
  EXPECT_TRUE(back.traced);
  const auto& function = back.functions.at("__torch__.Net.forward");
  EXPECT_EQ(function.parameters.at(1).default_value->get<std::int64_t>()
                ? *function.parameters[1].default_value->get<std::int64_t>()
                : 0,
            3);
}

TEST(Snapshot, EveryTruncationIsAModelError) {
  const auto bytes = encode(sample_program());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(decode_program(std::span(bytes).first(size)), ModelError) << size;
}

// Whatever one byte is changed to: a program or a ModelError.
TEST(Snapshot, DamageIsAModelError) {
  const auto bytes = encode(sample_program());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      auto damaged = bytes;
      damaged[at] = static_cast<std::uint8_t>(value);
      try {
        decode_program(damaged);
      } catch (const ModelError&) {
      }
    }
}

TEST(Snapshot, OtherVersionsAndContentsAreRefused) {
  auto bytes = encode(sample_graph());
  EXPECT_THROW(decode_program(bytes), ModelError);
  bytes[4] = snapshot_version + 1;
  EXPECT_THAT([&] { decode_graph(bytes); },
              ::testing::ThrowsMessage<ModelError>(
                  "the loader speaks another version of the snapshot: it belongs to another compatcheck"));
  bytes[4] = snapshot_version;
  bytes.push_back(0);
  EXPECT_THROW(decode_graph(bytes), ModelError);
}

ir::Graph nested_ifs(std::size_t depth) {
  ir::Graph graph;
  ir::Block* block = graph.top();
  const std::array<ir::Value*, 1> condition = {block->add_input(ir::simple_type(ir::TypeKind::boolean), "c")};
  for (std::size_t i = 0; i < depth; ++i) {
    ir::Node* node = graph.create("prim::If", condition);
    block->append(node);
    block = node->add_block();
    node->add_block();
  }
  return graph;
}

TEST(Snapshot, NestingIsBounded) {
  EXPECT_NO_THROW(decode_graph(encode(nested_ifs(deepest_nesting))));
  EXPECT_THROW(encode(nested_ifs(deepest_nesting + 1)), ModelError);
  ir::TypeRef type = ir::tensor_type();
  for (std::size_t i = 0; i < deepest_nesting + 2; ++i) type = ir::list_of(type);
  ir::Graph graph;
  graph.top()->add_input(type);
  EXPECT_THROW(encode(graph), ModelError);
}

}  // namespace
}  // namespace compatcheck::frontend
