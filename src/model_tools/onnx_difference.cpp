#include "model_tools/onnx_difference.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>

#include "compatcheck/error.h"
#include "files/naming.h"
#include "model_tools/spelling.h"
#include "onnx_file/data_types.h"
#include "onnx_file/external_data.h"
#include "onnx_file/raw_elements.h"
#include "onnx_file/value_types.h"

namespace compatcheck::model_tools {
namespace {

using namespace onnx_file;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

struct ComparedFile {
  ComparedFile(const std::filesystem::path& file, const ir::Watch& watch)
      : path(file.string()),
        skeleton(files::naming(path, [&] { return Skeleton::read(std::make_shared<const files::InputFile>(file), watch); })),
        externals(file.parent_path()) {}

  std::string path;
  Skeleton skeleton;
  ExternalFiles externals;
};

// Pairs the items of two lists: by the first key that both have and that is each side's only one, or because they are the
// same.
template <class Items, class Keys>
auto pair_by_keys(const Items& before, const Items& after, const Keys& keys) {
  using Item = typename Items::value_type;
  std::vector<std::pair<const Item*, const Item*>> pairs;
  std::set<const Item*> met;
  std::map<const Item*, const Item*> partner;
  for (const auto& key : keys) {
    const auto index = [&](const Items& items) {
      std::map<std::string, const Item*> found;
      for (const Item& item : items)
        if (const std::string name = key(item); !name.empty() && !met.contains(&item))
          if (const auto [at, added] = found.emplace(name, &item); !added) at->second = nullptr;
      return found;
    };
    const auto theirs = index(after);
    for (const auto& [name, item] : index(before))
      if (const auto other = theirs.find(name); item && other != theirs.end() && other->second) {
        partner[item] = other->second;
        met.insert({item, other->second});
      }
  }
  std::multimap<std::string, const Item*> rest;
  for (const Item& item : after)
    if (!met.contains(&item)) rest.emplace(item.SerializeAsString(), &item);
  for (const Item& item : before)
    if (const auto same = met.contains(&item) || rest.empty() ? rest.end() : rest.find(item.SerializeAsString());
        same != rest.end()) {
      partner[&item] = same->second;
      met.insert(same->second);
      rest.erase(same);
    }
  for (const Item& item : before) {
    const auto other = partner.find(&item);
    pairs.emplace_back(&item, other == partner.end() ? nullptr : other->second);
  }
  for (const Item& item : after)
    if (!met.contains(&item)) pairs.emplace_back(nullptr, &item);
  return pairs;
}

std::string inside(const std::string& scope, const NodeProto& node) {
  return (scope.empty() ? "" : scope + "/") + title_of(node);
}

class Comparing {
 public:
  Comparing(ComparedFile& before, ComparedFile& after, const ir::Watch& watch) : before_(before), after_(after), watch_(watch) {}

  InnerDifference run() {
    const auto &was = before_.skeleton.model, &is = after_.skeleton.model;
    graphs(was.graph(), is.graph(), "");
    functions(was.functions(), is.functions());
    made_.elsewhere = bare(was) != bare(is);
    return std::move(made_);
  }

 private:
  void graphs(const GraphProto& was, const GraphProto& is, const std::string& scope) {
    const std::array by_name{+[](const TensorProto& tensor) { return tensor.name(); }};
    for (const auto& [a, b] : pair_by_keys(was.initializer(), is.initializer(), by_name)) weight(a, b, scope);
    const std::array by_values{+[](const ::onnx::SparseTensorProto& tensor) { return tensor.values().name(); }};
    for (const auto& [a, b] : pair_by_keys(was.sparse_initializer(), is.sparse_initializer(), by_values)) sparse(a, b, scope);
    nodes(was.node(), is.node(), scope);
  }

  void weight(const TensorProto* was, const TensorProto* is, const std::string& scope) {
    watch_.step();
    WeightChange change{.scope = scope, .name = (is ? is : was)->name()};
    if (was) change.before = type_of(*was);
    if (is) change.after = type_of(*is);
    if (was && is && change.before == change.after) elements(*was, *is, change);
    if (change.before != change.after || change.changed > 0 || !change.problem.empty())
      made_.weights.push_back(std::move(change));
  }

  // Compares elements of tensors of one dtype and shape.
  void elements(const TensorProto& was, const TensorProto& is, WeightChange& change) {
    if (change.elements == 0) change.elements = element_count(is).value_or(0);
    try {
      change.changed = std::max(change.changed, differing_elements(was, is));
    } catch (const ModelError& error) {
      watch_.look();  // throws if the time limit or a cancellation ended the call
      change.problem = error.what();
    }
  }

  std::uint64_t differing_elements(const TensorProto& was, const TensorProto& is) {
    if (was.data_type() == TensorProto::STRING) {
      std::uint64_t count = static_cast<std::uint64_t>(std::abs(was.string_data_size() - is.string_data_size()));
      for (int i = 0; i < std::min(was.string_data_size(), is.string_data_size()); ++i)
        count += was.string_data(i) != is.string_data(i);
      return count;
    }
    if (bits_of(is.data_type()) == 0 || !element_count(was) || !element_count(is))
      throw ModelError("nothing says how its elements lie");
    FarElements outside_was, outside_is;
    const FarElements *far_was = far(before_, was, outside_was), *far_is = far(after_, is, outside_is);
    RawElements a(was, far_was), b(is, far_is);
    return differing(a, b, bits_of(is.data_type()), watch_);
  }

  static const FarElements* far(ComparedFile& file, const TensorProto& tensor, FarElements& outside) {
    if (!is_external(tensor)) return file.skeleton.far(tensor);
    outside = files::naming(file.path, [&] { return file.externals.elements(tensor); });
    return &outside;
  }

  void sparse(const ::onnx::SparseTensorProto* was, const ::onnx::SparseTensorProto* is, const std::string& scope) {
    WeightChange change{.scope = scope, .name = (is ? is : was)->values().name()};
    if (was) change.before = spell(*was);
    if (is) change.after = spell(*is);
    if (was && is) {
      change.elements = element_count(is->values()).value_or(0);
      for (const auto& [a, b] : {std::pair(&was->values(), &is->values()), std::pair(&was->indices(), &is->indices())})
        if (type_of(*a) == type_of(*b)) elements(*a, *b, change);
    }
    if (change.before != change.after || change.changed > 0 || !change.problem.empty())
      made_.weights.push_back(std::move(change));
  }

  void nodes(const auto& was, const auto& is, const std::string& scope) {
    const std::array keys{+[](const NodeProto& node) { return node.name(); },
                          +[](const NodeProto& node) { return given_by(node); }};
    for (const auto& [a, b] : pair_by_keys(was, is, keys)) {
      watch_.step();
      NodeChange change{.scope = scope,
                        .name = title_of(b ? *b : *a),
                        .op = full_operator(b ? *b : *a),
                        .before = a != nullptr,
                        .after = b != nullptr,
                        .what = {}};
      if (a && b) compare(*a, *b, inside(scope, *b), change.what);
      if (!a || !b || !change.what.empty()) made_.nodes.push_back(std::move(change));
    }
  }

  void compare(const NodeProto& was, const NodeProto& is, const std::string& inside, std::vector<PropertyChange>& what) {
    note(what, "operator", full_operator(was), full_operator(is));
    note(what, "inputs", joined(was.input()), joined(is.input()));
    note(what, "outputs", joined(was.output()), joined(is.output()));
    const std::array by_name{+[](const AttributeProto& attribute) { return attribute.name(); }};
    for (const auto& [a, b] : pair_by_keys(was.attribute(), is.attribute(), by_name)) attribute(a, b, inside, what);
  }

  static void note(std::vector<PropertyChange>& what, const std::string& name, const std::optional<std::string>& was,
                   const std::optional<std::string>& is) {
    if (was != is) what.push_back({name, was, is});
  }

  void attribute(const AttributeProto* was, const AttributeProto* is, const std::string& inside,
                 std::vector<PropertyChange>& what) {
    const std::string name = "attribute " + (is ? is : was)->name();
    const auto text = [](const AttributeProto* attribute) { return attribute ? std::optional(spell(*attribute)) : std::nullopt; };
    const bool both = was && is && was->type() == is->type() && was->ref_attr_name() == is->ref_attr_name();
    if (both && was->has_g() && is->has_g()) return body(was->g(), is->g(), inside + "." + is->name(), name, what);
    if (both && was->graphs_size() == is->graphs_size() && is->graphs_size() > 0) {
      for (int i = 0; i < is->graphs_size(); ++i)
        body(was->graphs(i), is->graphs(i), inside + "." + is->name() + "[" + std::to_string(i) + "]", name, what);
      return;
    }
    if (both && same(*was, *is)) return;
    const bool alike = text(was) == text(is);  // the difference is where it isn't spelled
    what.push_back({name, text(was), alike ? *text(is) + ", other elements" : text(is)});
  }

  // However the elements are stored.
  bool same(const AttributeProto& was, const AttributeProto& is) {
    const auto same_tensor = [&](const TensorProto& a, const TensorProto& b) {
      return type_of(a) == type_of(b) && differing_elements(a, b) == 0;
    };
    if (is.has_t() && was.has_t()) return same_tensor(was.t(), is.t());
    if (is.tensors_size() > 0) return std::ranges::equal(was.tensors(), is.tensors(), same_tensor);
    AttributeProto a = was, b = is;
    a.clear_doc_string();
    b.clear_doc_string();
    return a.SerializeAsString() == b.SerializeAsString();
  }

  void body(const GraphProto& was, const GraphProto& is, const std::string& scope, const std::string& name,
            std::vector<PropertyChange>& what) {
    note(what, name + ": inputs", spell(was.input()), spell(is.input()));
    note(what, name + ": outputs", spell(was.output()), spell(is.output()));
    graphs(was, is, scope);
  }

  void functions(const auto& was, const auto& is) {
    const std::array by_name{+[](const ::onnx::FunctionProto& function) { return title_of(function); }};
    for (const auto& [a, b] : pair_by_keys(was, is, by_name)) {
      if (!a || !b) continue;  // listed as properties of the model
      const std::string title = title_of(*b);
      note(made_.properties, title + ": inputs", joined(a->input()), joined(b->input()));
      note(made_.properties, title + ": outputs", joined(a->output()), joined(b->output()));
      note(made_.properties, title + ": attributes", joined(a->attribute()), joined(b->attribute()));
      const std::array name{+[](const AttributeProto& attribute) { return attribute.name(); }};
      for (const auto& [x, y] : pair_by_keys(a->attribute_proto(), b->attribute_proto(), name))
        attribute(x, y, title, made_.properties);
      nodes(a->node(), b->node(), title);
    }
  }

  // Without the elements of tensors, which are compared separately.
  static std::string bare(const ::onnx::ModelProto& model) {
    ::onnx::ModelProto copy = model;
    for_each_tensor(copy, [](TensorProto& tensor) {
      TensorProto kept;
      kept.set_name(tensor.name());
      kept.set_data_type(tensor.data_type());
      *kept.mutable_dims() = tensor.dims();
      tensor = std::move(kept);
    });
    return copy.SerializeAsString();
  }

  ComparedFile &before_, &after_;
  const ir::Watch& watch_;
  InnerDifference made_;
};

}  // namespace

InnerDifference compare_onnx(const std::filesystem::path& before, const std::filesystem::path& after, const ir::Watch& watch) {
  ComparedFile was(before, watch), is(after, watch);
  return Comparing(was, is, watch).run();
}

}  // namespace compatcheck::model_tools
