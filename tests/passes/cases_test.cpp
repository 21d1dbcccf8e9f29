#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "ir/text.h"
#include "passes/budget.h"
#include "passes/case_file.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "passes/stack_in_loops.h"

namespace compatcheck::passes {

std::vector<PassCase> read_cases(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<PassCase> cases;
  bool after = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== ")) {
      const std::size_t colon = line.find(": ");
      std::istringstream names(line.substr(3, colon - 3));
      cases.push_back({{}, line.substr(colon + 2), {}, {}});
      for (std::string name; std::getline(names >> std::ws, name, ',');) cases.back().passes.push_back(name);
      after = false;
    } else if (cases.empty() || line.empty() || line.starts_with("#")) {
      continue;
    } else if (line == "->") {
      after = true;
    } else if (line != "unchanged") {
      (after ? cases.back().after : cases.back().before) += line + "\n";
    }
  }
  return cases;
}

namespace {

using Run = std::size_t (*)(ir::Graph&, const schema::Registry&);

// A pass that spends.
template <class Pass>
std::size_t with_budget(Pass&& pass) {
  Budget budget{.unrolled = 1000};
  return pass(budget);
}

const std::map<std::string, Run> passes_by_name = {
    {"devices_to_cpu", [](ir::Graph& g, const schema::Registry&) { return devices_to_cpu(g); }},
    {"drop_remarks", [](ir::Graph& g, const schema::Registry&) { return drop_remarks(g); }},
    {"drop_assertions", [](ir::Graph& g, const schema::Registry&) { return drop_assertions(g); }},
    {"drop_type_refinements", [](ir::Graph& g, const schema::Registry&) { return drop_type_refinements(g); }},
    {"numbers_as_operands", [](ir::Graph& g, const schema::Registry&) { return numbers_as_operands(g); }},
    {"pool_constants", [](ir::Graph& g, const schema::Registry&) { return pool_constants(g); }},
    {"fold_constants",
     [](ir::Graph& g, const schema::Registry&) { return with_budget([&](Budget& b) { return fold_constants(g, nullptr, b); }); }},
    {"expand_foreach",
     [](ir::Graph& g, const schema::Registry& r) {
       return with_budget([&](Budget& b) { return expand_foreach(g, nullptr, r, b); });
     }},
    {"follow_containers",
     [](ir::Graph& g, const schema::Registry& r) {
       return with_budget([&](Budget& b) {
         std::vector<ir::LostWrite> lost;
         return follow_containers(g, nullptr, r, b, lost, false);
       });
     }},
    {"number_references",
     [](ir::Graph& g, const schema::Registry& r) {
       return std::size_t{number_references(g, nullptr, r, {.unrolled = 0}, false)};
     }},
    {"prune_branches", [](ir::Graph& g, const schema::Registry&) { return prune_branches(g); }},
    {"simplify_loops", [](ir::Graph& g, const schema::Registry&) { return simplify_loops(g); }},
    {"unroll_loops",
     [](ir::Graph& g, const schema::Registry&) { return with_budget([&](Budget& b) { return unroll_loops(g, b); }); }},
    {"stack_in_loops", [](ir::Graph& g, const schema::Registry& r) { return stack_in_loops(g, r); }},
    {"merge_common_subexpressions",
     [](ir::Graph& g, const schema::Registry&) { return merge_common_subexpressions(g, nullptr); }},
    {"remove_dead_code", [](ir::Graph& g, const schema::Registry&) { return remove_dead_code(g, nullptr); }},
    {"part_inputs",
     [](ir::Graph& g, const schema::Registry&) {
       return part_inputs(g, {"images.0", "images.1"});
     }},
    {"settle_reshapes", [](ir::Graph& g, const schema::Registry& r) { return settle_reshapes(g, r); }},
    {"functionalize_writes", [](ir::Graph& g, const schema::Registry& r) { return functionalize_writes(g, nullptr, r); }},
};

void rename(const ir::Block& block, std::size_t& next) {
  for (ir::Value* input : block.inputs()) input->set_name("v" + std::to_string(next++));
  for (const ir::Node* node : block) {
    for (ir::Value* output : node->outputs()) output->set_name("v" + std::to_string(next++));
    for (const ir::Block* inner : node->blocks()) rename(*inner, next);
  }
}

// Printed with names given by place, so that graphs compare as graphs.
std::string canonical(ir::Graph& graph) {
  std::size_t next = 0;
  rename(*graph.top(), next);
  return ir::print(graph, {.locations = false});
}

class Cases : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Cases, BecomeWhatTheySay) {
  const schema::Registry registry;
  const auto cases = read_cases(GetParam());
  ASSERT_FALSE(cases.empty());
  for (const PassCase& test : cases) {
    SCOPED_TRACE(test.about);
    ir::Graph graph = ir::parse_graph(test.before, {GetParam().filename().string()});
    schema::resolve(graph, registry);
    std::size_t changes = 0;
    for (const std::string& name : test.passes) {
      ASSERT_TRUE(passes_by_name.contains(name)) << name;
      changes += passes_by_name.at(name)(graph, registry);
      ASSERT_NO_THROW(graph.verify()) << name;
    }
    ir::Graph expected = ir::parse_graph(test.after.empty() ? test.before : test.after);
    EXPECT_EQ(canonical(graph), canonical(expected));
    if (test.after.empty())
      EXPECT_EQ(changes, 0u);
    else
      EXPECT_GT(changes, 0u);
  }
}

std::vector<std::filesystem::path> case_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(COMPATCHECK_SOURCE_DIR "/tests/passes/cases"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(CaseFiles, AreThere) { EXPECT_GT(case_files().size(), 5u); }

INSTANTIATE_TEST_SUITE_P(Passes, Cases, testing::ValuesIn(case_files()),
                         [](const auto& test) { return test.param.stem().string(); });

TEST(Dictionaries, AreFollowedUpToTheBound) {
  const schema::Registry registry;
  const std::regex name("%[ekr]");
  for (const std::string write :
       {"aten::_set_item(%d, %k, %k)", "%r : int = aten::setdefault(%d, %k, %k)", "aten::update(%d, %e)"})
    for (const std::size_t keys : {most_items, most_items + 1}) {
      SCOPED_TRACE(write + ", " + std::to_string(keys) + " keys");
      std::string text = "graph():\n  %d : Dict(int, int) = prim::DictConstruct()\n";
      for (std::size_t i = 0; i < keys; ++i) {
        const std::string number = std::to_string(i);
        std::string line = "  %k : int = prim::Constant[value=" + number + "]()\n";
        if (write.find("%e") != std::string::npos) line += "  %e : Dict(int, int) = prim::DictConstruct(%k, %k)\n";
        line += "  " + std::string(write.starts_with("%") ? "" : " = ") + write + "\n";
        text += std::regex_replace(line, name, "$&" + number);
      }
      ir::Graph graph = ir::parse_graph(text + "  %n : int = aten::len(%d)\n  return (%n)\n");
      schema::resolve(graph, registry);
      const std::size_t changes = passes_by_name.at("follow_containers")(graph, registry);
      EXPECT_EQ(changes > 0, keys <= most_items);
      EXPECT_EQ(known<std::int64_t>(graph.outputs()[0]) != nullptr, keys <= most_items);
    }
}

}  // namespace
}  // namespace compatcheck::passes
