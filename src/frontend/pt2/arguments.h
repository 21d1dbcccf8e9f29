// The values of one graph by their names, and the arguments of its nodes as values.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/pt2/json.h"
#include "frontend/pt2/node_writer.h"
#include "schema/schema.h"

namespace compatcheck::frontend::pt2 {

class Arguments {
 public:
  // `graph`: of the schema. Both must outlive this.
  Arguments(NodeWriter& nodes, const Json& graph) : nodes_(nodes), graph_(graph) {}

  // The name must outlive this. Throws ModelError for a name that is defined already.
  void bind(std::string_view name, ir::Value* value);
  void bind_result(const Json& result, ir::Value* value);  // does nothing for a result that has no name

  std::size_t bound() const { return bound_.size(); }  // how many values are bound
  void unbind_from(std::size_t first);

  // `formal`: decides the type of numbers and lists; may be null.
  ir::Value* value_of(const Json& argument, const schema::Argument* formal = nullptr);
  Values items_of(const Json& list);  // tensors, integers or symbolic numbers
  ir::Value* tensors(const Json& list, const schema::Argument* formal);
  ir::Value* named(const Json& argument) const;  // a tensor or an object
  ir::Value* symbolic(const Json& argument);     // the content of as_sym_int: a name or a number

  // The arguments of a call in the order of the schema: given by name, else by place without a name, else the default.
  struct InOrder {
    Values values;
    const schema::Argument* missing = nullptr;  // the first that is none of these
  };
  // `instead`: takes the place of an argument if it isn't null.
  using Instead = std::function<ir::Value*(const schema::Argument&)>;
  InOrder in_order(const schema::Schema& schema, std::span<const Json> inputs, const Instead& instead = {});

 private:
  ir::Value* find(std::string_view name, const Json& reader) const;

  NodeWriter& nodes_;
  Json graph_;
  std::unordered_map<std::string_view, ir::Value*> values_;
  std::vector<std::string_view> bound_;  // in order
};

// The argument of that name.
std::optional<Json> find_argument(std::span<const Json> inputs, std::string_view name);

std::string device_name(const Json& device);  // "cuda:0"

}  // namespace compatcheck::frontend::pt2
