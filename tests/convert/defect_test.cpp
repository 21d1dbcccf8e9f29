// A bug in a handler looks like one.
#include <gmock/gmock.h>

#include "compatcheck/error.h"
#include "conversion/assess.h"
#include "conversion/facts.h"
#include "ir/text.h"
#include "schema/schema.h"

namespace compatcheck::conversion {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A graph whose relu somebody else handles, or states the facts of. `rows` are of the plugin that brings the handler.
class Subject {
 public:
  explicit Subject(const std::string& rows = "") {
    if (!rows.empty()) {
      EXPECT_TRUE(table.overlay_text(rows, "none(rows)").empty());
    }
    schema::resolve(graph, schemas);
  }

  void handle(handlers::Handler handler) {
    handlers.overlay("aten::relu", {mapping::lowest_opset, mapping::highest_opset}, std::move(handler), "none");
  }

  Outcome outcome(ExportType type = ExportType::onnx) {
    const auto facts = state_facts(graph, {}, table, schemas, registry);
    const auto moved = moved_attributes(table);
    Context context{table, schemas, registry, handlers, moved, facts, writes};
    context.export_type = type;
    return Assessor(graph, context).assess(17).outcomes.front();
  }

  mapping::Table table = mapping::Table::shipped();
  schema::Registry schemas;
  symbolic::Registry registry = symbolic::shipped_registry();
  handlers::Registry handlers = handlers::shipped_handlers();
  const std::unordered_map<const ir::Node*, std::string> writes;
  ir::Graph graph = ir::parse_graph(
      "graph(%x : Float(2, 3)):\n"
      "  %y : Tensor = aten::relu(%x) # net.py:7:4\n"
      "  return (%y)\n");
};

const auto names_the_call = AllOf(HasSubstr("aten::relu at net.py:7, opset 17: "), HasSubstr("defect of compatcheck"));

TEST(Defects, AnIndexBeyondAListIsNoRefusal) {
  Subject subject;
  subject.handle([](handlers::Emission& e) { e.shape("self").at(2); });
  EXPECT_THAT([&] { subject.outcome(); }, ThrowsMessage<InternalError>(names_the_call));
}

TEST(Defects, NodesThatOnnxDoesNotHaveAreNoRefusal) {
  Subject subject;
  subject.handle([](handlers::Emission& e) { e.give(e.node("Add", {e.tensor("self"), e.scalar(ir::DType::i64, 1)})); });
  EXPECT_THAT([&] { subject.outcome(); }, ThrowsMessage<InternalError>(names_the_call));
}

TEST(Defects, RefusalsAreOutcomes) {
  Subject subject;
  subject.handle([](handlers::Emission&) { throw onnx::Refusal{"not today"}; });
  EXPECT_EQ(subject.outcome().reason, "not today");
}

// A row may hand a call to code that isn't written for it.
TEST(Defects, UnderARowOfTheUsersTheyAreTheRows) {
  Subject subject("aten::relu: {9: Relu}\n");
  subject.handle([](handlers::Emission& e) { e.shape("self").at(2); });
  const Outcome outcome = subject.outcome();
  EXPECT_EQ(outcome.status, Status::refused);
  EXPECT_THAT(outcome.reason, HasSubstr("its row doesn't fit this call"));
}

TEST(Defects, FactsAreStatedAtEveryOpset) {
  Subject subject;
  subject.registry.replace_facts("aten::relu", [](const symbolic::Call& call) -> std::vector<symbolic::Fact> {
    return {
        symbolic::Fact{.value = symbolic::TensorFact{.dtype = {}, .shape = symbolic::Shape{call.ints("self").value().at(3)}}}};
  });
  EXPECT_THAT([&] { subject.outcome(); },
              ThrowsMessage<InternalError>(AllOf(HasSubstr("aten::relu at net.py:7: "), HasSubstr("defect of compatcheck"))));
}

}  // namespace
}  // namespace compatcheck::conversion
