#include "onnx/function_text.h"

#include <onnx/defs/parser.h>

#include <algorithm>
#include <set>

namespace compatcheck::onnx {
namespace {

// onnx's parser calls itself for what is nested: more than anyone writes would exhaust the stack.
constexpr std::ptrdiff_t most_nested = 300;

class Parser : public ::onnx::OnnxParser {
 public:
  using ::onnx::OnnxParser::OnnxParser;
  std::size_t position() { return EndOfInput() ? input_.size() : pos_; }
};

bool is_word(char c) { return ::onnx::IsAlnum(c) || c == '_'; }

TextFault fault_at(std::string_view text, std::size_t position, std::string message) {
  position = std::min(position, text.size());
  while (position > 0 && position == text.size() && ::onnx::IsSpace(text[position - 1]))
    --position;  // the end is after what is said last
  const std::string_view before = text.substr(0, position);
  const auto line = before.rfind('\n');
  return {static_cast<int>(std::ranges::count(before, '\n')) + 1,
          static_cast<int>(line == std::string_view::npos ? before.size() : before.size() - line - 1) + 1, std::move(message)};
}

// "[ParseError at position (line: 1 column: 2)]\nError context: …\nmessage": what is wanted stands last.
std::string reason_in(const ::onnx::Common::Status& status) {
  const std::string& whole = status.ErrorMessage();
  std::string last = whole.substr(whole.rfind('\n') + 1);
  while (last.ends_with('.')) last.pop_back();
  return last.empty() ? std::string("can't be read") : last;
}

void check_nesting(std::string_view text) {
  std::ptrdiff_t deep = std::ranges::count(text, '{');
  for (const std::string_view word : {"seq", "map", "optional", "sparse_tensor"})
    for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++deep;
  if (deep > most_nested) throw TextFault{1, 1, "more than " + std::to_string(most_nested) + " bodies and types in one text"};
}

// The text without comments and strings, of the same length.
std::string plain(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#') {
      while (i < text.size() && text[i] != '\n') text[i++] = ' ';
    } else if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) text[i] = ' ';
    }
  }
  return text;
}

// From `from` on, where the word stands as an operator: after "=", or behind its domain.
std::size_t find_operator(std::string_view text, std::string_view word, std::size_t from) {
  for (auto at = text.find(word, from); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if ((at > 0 && is_word(text[at - 1])) || (at + word.size() < text.size() && is_word(text[at + word.size()]))) continue;
    const auto before = at == 0 ? std::string_view::npos : text.find_last_not_of(" \t\r\n", at - 1);
    if (before != std::string_view::npos && (text[before] == '=' || text[before] == '.')) return at;
  }
  return std::string_view::npos;
}

void add_types(const ::onnx::FunctionProto& function, std::map<std::string, AttributeType>& types) {
  for_each_proto(function.node(), [&](const ::onnx::NodeProto& node) {
    for (const auto& attribute : node.attribute())
      if (!attribute.ref_attr_name().empty())
        types.try_emplace(attribute.ref_attr_name(), static_cast<AttributeType>(attribute.type()));
  });
}

void plain_domains(google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes, const auto& own) {
  for (auto& node : nodes) {
    if (is_own_domain(node.domain())) node.clear_domain();
    if (node.domain().empty() && versions(node.op_type()).empty()) {
      const auto found = std::ranges::find(own, node.op_type(), [](const auto& function) { return function.name(); });
      if (found != own.end()) node.set_domain(found->domain());
    }
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) plain_domains(*attribute.mutable_g()->mutable_node(), own);
  }
}

}  // namespace

std::string row_name(std::string_view domain, std::string_view name) {
  return is_own_domain(domain) ? std::string(name) : std::string(domain) + "::" + std::string(name);
}

FunctionText::FunctionText(std::string text) : text_(std::move(text)) {
  check_nesting(text_);
  Parser parser(text_);
  while (!parser.EndOfInput()) {
    starts_.push_back(parser.position());
    try {
      const auto status = parser.Parse(functions_.emplace_back());
      if (!status.IsOK()) throw fault_at(text_, parser.position(), reason_in(status));
    } catch (const std::exception& error) {  // a number beyond what a number is
      throw fault_at(text_, parser.position(), std::string("can't be read: ") + error.what());
    }
    if (functions_.back().name().empty()) throw fault_at(text_, starts_.back(), "expected a function's name");
  }
  if (functions_.empty())
    throw TextFault{1, 1,
                    "expected a function in ONNX's text notation: <domain: \"acme\", opset_import: [\"\" : 17]> Twice (X) => "
                    "(Y) { Y = Add (X, X) }"};
  for (auto& function : functions_) plain_domains(*function.mutable_node(), functions_);
  index_nodes();
}

void FunctionText::index_nodes() {
  const std::string text = plain(text_);
  std::size_t cursor = 0;
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    cursor = std::max(cursor, starts_[i]);
    for_each_proto(functions_[i].node(), [&](const ::onnx::NodeProto& node) {
      const std::size_t found = find_operator(text, node.op_type(), cursor);
      nodes_[&node] = found == std::string::npos ? starts_[i] : found;
      if (found != std::string::npos) cursor = found + 1;
    });
  }
}

const ::onnx::FunctionProto* FunctionText::find(std::string_view domain, std::string_view name) const {
  const auto found = std::ranges::find_if(
      functions_, [&](const auto& function) { return function.domain() == domain && function.name() == name; });
  return found == functions_.end() ? nullptr : &*found;
}

bool has_value(const ::onnx::AttributeProto& attribute) {
  return attribute.has_i() || attribute.has_f() || attribute.has_s() || attribute.has_t() || attribute.has_g() ||
         attribute.ints_size() > 0 || attribute.floats_size() > 0 || attribute.strings_size() > 0;
}

std::string FunctionText::name() const { return row_name(called().domain(), called().name()); }

std::vector<FunctionText::Attribute> FunctionText::attributes(const ::onnx::FunctionProto& function) const {
  std::map<std::string, AttributeType> types;
  add_types(function, types);
  std::vector<Attribute> made;
  for (const std::string& name : function.attribute()) {
    const auto type = types.find(name);
    made.push_back({name, type == types.end() ? AttributeType::undefined : type->second, nullptr});
  }
  for (const auto& attribute : function.attribute_proto())
    made.push_back({attribute.name(), static_cast<AttributeType>(attribute.type()), has_value(attribute) ? &attribute : nullptr});
  return made;
}

std::optional<int> FunctionText::opset(const ::onnx::FunctionProto& function) {
  for (const auto& import : function.opset_import())
    if (is_own_domain(import.domain())) return static_cast<int>(std::clamp<std::int64_t>(import.version(), -1, 1 << 20));
  return std::nullopt;
}

std::vector<std::string> FunctionText::operators() const {
  std::vector<std::string> names;
  for (const auto& function : functions_)
    for_each_proto(function.node(), [&](const ::onnx::NodeProto& node) {
      std::string name = row_name(node.domain(), node.op_type());
      if (!find(node.domain(), node.op_type()) && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    });
  return names;
}

TextFault FunctionText::at(std::size_t position, std::string message) const {
  return fault_at(text_, position, std::move(message));
}

TextFault FunctionText::at(const ::onnx::NodeProto& node, std::string message) const {
  const auto found = nodes_.find(&node);
  return at(found == nodes_.end() ? 0 : found->second, std::move(message));
}

TextFault FunctionText::at(const ::onnx::FunctionProto& function, std::string message) const {
  for (std::size_t i = 0; i < functions_.size(); ++i)
    if (&functions_[i] == &function) return at(starts_[i], std::move(message));
  return at(std::size_t{0}, std::move(message));
}

}  // namespace compatcheck::onnx
