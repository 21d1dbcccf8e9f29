#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "compatcheck/error.h"
#include "schema/schema.h"

namespace compatcheck::schema {
namespace {

std::vector<std::string> overload_names(const Registry& registry, std::string_view name) {
  std::vector<std::string> names;
  for (const Schema* schema : registry.overloads(name)) names.push_back(schema->overload);
  return names;
}

TEST(Registry, KnowsTheShippedOnes) {
  const Registry registry;
  EXPECT_EQ(to_string(*registry.find("aten::relu", "")), "aten::relu(Tensor self) -> Tensor");
  EXPECT_EQ(registry.find("aten::add", "Tensor")->arguments.size(), 3u);
  EXPECT_NE(registry.find("torchvision::roi_align", ""), nullptr);
  EXPECT_NE(registry.find("quantized::linear_dynamic", ""), nullptr);
  EXPECT_EQ(registry.find("aten::add", "nonsense"), nullptr);
  EXPECT_TRUE(registry.overloads("acme::f").empty());
  EXPECT_TRUE(registry.overloads("aten::ad").empty());
  EXPECT_TRUE(registry.contains("aten::add"));
  EXPECT_FALSE(registry.contains("aten::ad"));
  const auto names = registry.names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const std::string_view name : names) EXPECT_FALSE(registry.overloads(name).empty()) << name;
}

TEST(Registry, TakesUsersSchemas) {
  Registry registry;
  registry.add("acme::fused_bias(Tensor x, Tensor bias) -> Tensor");
  registry.add("acme::fused_bias.scaled(Tensor x, Tensor bias, float scale) -> Tensor");
  const Schema* first = registry.find("acme::fused_bias", "");
  registry.add("acme::fused_bias(Tensor x, Tensor? bias=None) -> Tensor");
  EXPECT_EQ(overload_names(registry, "acme::fused_bias"), (std::vector<std::string>{"", "scaled"}));
  EXPECT_TRUE(registry.find("acme::fused_bias", "")->arguments[1].default_value.has_value());
  EXPECT_EQ(first->arguments.size(), 2u);  // who holds a replaced one still may
  const auto names = registry.names();
  EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "acme::fused_bias"));

  registry.add("aten::relu(Tensor self, float slope) -> Tensor");
  EXPECT_EQ(registry.find("aten::relu", "")->arguments.size(), 2u);
  const auto twice = registry.names();
  EXPECT_EQ(std::count(twice.begin(), twice.end(), "aten::relu"), 1);
  EXPECT_EQ(Registry().find("aten::relu", "")->arguments.size(), 1u);  // another registry isn't touched
  EXPECT_THROW(registry.add("acme::f("), TableError);

  const Schema* kept = registry.find("acme::fused_bias", "scaled");
  const Registry moved = std::move(registry);
  EXPECT_EQ(moved.find("acme::fused_bias", "scaled"), kept);
}

TEST(Registry, FunctionalForms) {
  const Registry registry;
  const auto form = [&](std::string_view name) { return registry.functional_form(name).value_or("-"); };
  EXPECT_EQ(form("aten::add_"), "aten::add");
  EXPECT_EQ(form("aten::index_put_"), "aten::index_put");
  EXPECT_EQ(form("aten::__iand__"), "aten::__and__");
  EXPECT_EQ(form("aten::__ilshift__"), "aten::__lshift__");
  EXPECT_EQ(form("aten::_index_put_impl_"), "aten::_index_put_impl");
  EXPECT_EQ(form("aten::copy_"), "aten::copy");
  EXPECT_EQ(form("aten::add"), "-");
  EXPECT_EQ(form("aten::__and__"), "-");
  EXPECT_EQ(form("aten::__is__"), "-");
  EXPECT_EQ(form("aten::__interpolate"), "-");
  EXPECT_EQ(form("aten::append"), "-");
  EXPECT_EQ(form("acme::f_"), "-");
  EXPECT_EQ(form("_"), "-");
}

// Every `add_` of libtorch that has an `add` is found, none that doesn't write.
TEST(Registry, FunctionalFormsAreStatedByTheSchemas) {
  const Registry registry;
  int found = 0;
  for (const std::string_view name : registry.names()) {
    const auto form = registry.functional_form(name);
    if (!form) continue;
    ++found;
    const auto overloads = registry.overloads(name);
    EXPECT_TRUE(std::any_of(overloads.begin(), overloads.end(), [](const Schema* s) { return s->writes(); })) << name;
    EXPECT_TRUE(registry.contains(*form));
  }
  EXPECT_GT(found, 200);
}

TEST(Registry, IsReadFromSeveralThreads) {
  const Registry registry;
  const auto names = registry.names();
  std::vector<std::thread> threads;
  std::vector<std::size_t> counts(4);
  for (std::size_t t = 0; t < counts.size(); ++t)
    threads.emplace_back([&, t] {
      for (const std::string_view name : names) counts[t] += registry.overloads(name).size();
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t count : counts) EXPECT_EQ(count, counts[0]);
}

TEST(Registry, CostsNothingToMake) {
  (void)Registry().contains("aten::add");  // the index is made once a process
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(Registry().contains("aten::add"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));  // parsing all takes more for one
}

}  // namespace
}  // namespace compatcheck::schema
