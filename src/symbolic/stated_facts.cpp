#include "symbolic/stated_facts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>

#include "compatcheck/error.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

constexpr int deepest_size = 50;  // brackets in a size

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// "rois.0": a size of a tensor or a number of a list; "size": a number; "xs.0.1": a size of a member of a list.
struct ArgumentPart {
  std::string name;
  std::vector<std::int64_t> indices;
};

// A size: a number, a part of an argument, arithmetic, or unknown.
struct Size {
  enum class Kind : std::uint8_t { unknown, number, part, plus, minus, times, quotient, remainder };
  Kind kind = Kind::unknown;
  std::int64_t number = 0;
  ArgumentPart part{};
  std::shared_ptr<const Size> left{}, right{};
};

class SizeParser {
 public:
  explicit SizeParser(std::string_view text) : text_(text) {}

  Size whole() {
    Size size = sum();
    skip();
    if (at_ < text_.size()) fail("`" + std::string(text_.substr(at_)) + "` follows it");
    return size;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw TableError("the size `" + std::string(text_) + "`: " + why); }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view word) {
    skip();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  static Size of(Size::Kind kind, Size left, Size right) {
    return {.kind = kind,
            .left = std::make_shared<const Size>(std::move(left)),
            .right = std::make_shared<const Size>(std::move(right))};
  }

  Size sum() {
    Size left = product();
    for (;;) {
      if (take("+"))
        left = of(Size::Kind::plus, std::move(left), product());
      else if (take("-"))
        left = of(Size::Kind::minus, std::move(left), product());
      else
        return left;
    }
  }

  Size product() {
    Size left = factor();
    for (;;) {
      if (take("*"))
        left = of(Size::Kind::times, std::move(left), factor());
      else if (take("//"))
        left = of(Size::Kind::quotient, std::move(left), factor());
      else if (take("%"))
        left = of(Size::Kind::remainder, std::move(left), factor());
      else if (take("/"))
        fail("write // for a division, which rounds down");
      else
        return left;
    }
  }

  Size factor() {
    if (++depth_ > deepest_size) fail("it nests too deep");
    Size made;
    if (take("-")) {
      made = of(Size::Kind::minus, Size{.kind = Size::Kind::number}, factor());
    } else if (take("(")) {
      made = sum();
      if (!take(")")) fail("a bracket isn't closed");
    } else if (!take("~")) {
      made = leaf();
    }
    --depth_;
    return made;
  }

  std::int64_t integer() {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc()) fail("a number is expected at `" + std::string(text_.substr(at_)) + "`");
    at_ = static_cast<std::size_t>(end - text_.data());
    return number;
  }

  Size leaf() {
    skip();
    if (at_ == text_.size()) fail("it ends where a number or an argument is expected");
    if (std::isdigit(static_cast<unsigned char>(text_[at_]))) return {.kind = Size::Kind::number, .number = integer()};
    Size made{.kind = Size::Kind::part};
    while (at_ < text_.size() && is_name_letter(text_[at_])) made.part.name += text_[at_++];
    if (made.part.name.empty()) fail("`" + std::string(text_.substr(at_)) + "` is neither a number nor an argument");
    while (at_ < text_.size() && text_[at_] == '.') ++at_, made.part.indices.push_back(integer());
    return made;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

struct Spelled {
  std::string dtype;  // a word, an argument or a dtype; empty: unknown
  std::string shape;  // a word or an argument, if there are no sizes
  std::optional<std::vector<Size>> sizes;
  std::string rank;  // a number or an argument
};

// Pairs of a key and what follows it, at the commas that stand in no brackets.
std::vector<std::string_view> parts_between_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (c != ',' || depth != 0) continue;
    if (const auto part = trimmed(text.substr(from, at - from)); !part.empty()) parts.push_back(part);
    from = at + 1;
  }
  return parts;
}

Spelled parse(std::string_view text) {
  Spelled made;
  for (const std::string_view part : parts_between_commas(text.substr(1, text.size() - 2))) {
    const auto colon = part.find(": ");
    const std::string_view key = part.substr(0, colon), value = trimmed(part.substr(std::min(colon + 2, part.size())));
    if (key == "dtype") made.dtype = value == "~" ? "" : std::string(value);
    if (key == "rank") made.rank = value;
    if (key != "shape") continue;
    if (!value.starts_with('[')) {
      made.shape = value == "~" ? "" : std::string(value);
      continue;
    }
    made.sizes.emplace();
    for (const std::string_view size : parts_between_commas(value.substr(1, value.size() - 2)))
      made.sizes->push_back(SizeParser(size).whole());
  }
  if (!made.rank.empty() && (made.sizes || !made.shape.empty())) throw TableError("`shape` says the rank: leave out `rank`");
  return made;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

const Fact* member(const Fact& fact, std::int64_t index) {
  const auto* list = fact.list();
  if (!list || !list->items) return nullptr;
  const auto size = static_cast<std::int64_t>(list->items->size());
  const std::int64_t at = index < 0 ? index + size : index;
  return at >= 0 && at < size ? &(*list->items)[static_cast<std::size_t>(at)] : nullptr;
}

std::optional<Dim> size_in(const Fact& fact, const std::string& name, std::int64_t index) {
  const auto* tensor = fact.tensor();
  if (!tensor || !tensor->shape) return std::nullopt;
  const auto axis = wrap_dim(index, tensor->shape->size());
  if (!axis)
    throw Impossible{name + " has " + std::to_string(tensor->shape->size()) + " dimensions, so there is no size " + name + "." +
                     std::to_string(index)};
  return (*tensor->shape)[*axis];
}

Dim value_of(const ArgumentPart& part, const Call& call) {
  if (part.indices.empty()) return call.dim(part.name).value_or(Dim::unknown());
  const Fact* fact = &call.fact(part.name);
  if (part.indices.size() == 1 && !fact->tensor()) {
    const auto numbers = call.dims(part.name);
    const auto axis = numbers ? wrap_dim(part.indices.front(), numbers->size()) : std::nullopt;
    return axis ? (*numbers)[*axis] : Dim::unknown();
  }
  if (part.indices.size() == 2) fact = member(*fact, part.indices.front());
  return fact ? size_in(*fact, part.name, part.indices.back()).value_or(Dim::unknown()) : Dim::unknown();
}

Dim value_of(const Size& size, const Call& call) {
  const auto both = [&](auto&& compute) { return compute(value_of(*size.left, call), value_of(*size.right, call)); };
  const auto divided = [&](auto&& compute) {
    return both([&](const Dim& a, const Dim& b) { return b.number() == 0 ? Dim::unknown() : compute(a, b); });
  };
  switch (size.kind) {
    case Size::Kind::unknown: return Dim::unknown();
    case Size::Kind::number: return Dim(size.number);
    case Size::Kind::part: return value_of(size.part, call);
    case Size::Kind::plus: return both([](const Dim& a, const Dim& b) { return a + b; });
    case Size::Kind::minus: return both([](const Dim& a, const Dim& b) { return a - b; });
    case Size::Kind::times: return both([](const Dim& a, const Dim& b) { return a * b; });
    case Size::Kind::quotient: return divided([](const Dim& a, const Dim& b) { return floor_div(a, b); });
    case Size::Kind::remainder: return divided([](const Dim& a, const Dim& b) { return modulo(a, b); });
  }
  return Dim::unknown();
}

std::optional<TensorFact> fact_by_word(const FactFunction& word, const Call& call) {
  const auto facts = word(call);
  const auto* tensor = facts.empty() ? nullptr : facts.front().tensor();
  return tensor ? std::optional(*tensor) : std::nullopt;
}

// The dtype of an argument or of a word, or the dtype that the text names.
std::optional<ir::DType> stated_dtype(const std::string& text, const FactFunction& word, const Call& call) {
  if (call.has(text)) return call.tensor(text) ? call.dtype_of(text) : call.dtype(text);
  if (word) {
    const auto fact = fact_by_word(word, call);
    return fact ? fact->dtype : std::nullopt;
  }
  return ir::dtype_from_name(text);
}

std::optional<Shape> stated_shape(const Spelled& spelled, const FactFunction& word, const Call& call) {
  if (spelled.sizes) {
    Shape shape;
    for (const Size& size : *spelled.sizes) shape.push_back(value_of(size, call));
    return shape;
  }
  if (!spelled.rank.empty()) {
    const auto number = number_in(spelled.rank);
    const auto rank = number ? std::optional(static_cast<std::size_t>(*number)) : call.rank(spelled.rank);
    return rank ? std::optional(unknown_sizes(*rank)) : std::nullopt;
  }
  if (call.has(spelled.shape)) {
    const auto* tensor = call.tensor(spelled.shape);
    return tensor ? tensor->shape : call.dims(spelled.shape);
  }
  const auto fact = word ? fact_by_word(word, call) : std::nullopt;
  return fact ? fact->shape : std::nullopt;
}

// ---- Defects

const ir::Type& bare(const ir::TypeRef& type) { return type->kind == ir::TypeKind::optional ? *type->elements.front() : *type; }

bool is_int(const ir::Type& type) {
  return type.kind == ir::TypeKind::integer || type.kind == ir::TypeKind::boolean || type.kind == ir::TypeKind::number;
}

std::string defect_of(const ArgumentPart& part, const schema::Schema& schema) {
  const auto at = schema.argument_index(part.name);
  if (!at) return "no argument is named `" + part.name + "`";
  const ir::Type* type = &bare(schema.arguments[*at].type);
  const std::string spelled = "`" + part.name + "` is " + ir::to_string(*type);
  const bool list = type->kind == ir::TypeKind::list;
  const ir::Type* element = list ? &bare(type->elements.front()) : nullptr;
  switch (part.indices.size()) {
    case 0:
      if (is_int(*type)) return {};
      return spelled +
             (type->kind == ir::TypeKind::tensor ? ": name one of its sizes, as in " + part.name + ".0" : ", not an int");
    case 1:
      if (type->kind == ir::TypeKind::tensor || (element && is_int(*element))) return {};
      return spelled + ": neither a tensor nor a list of ints, so it has no `." + std::to_string(part.indices.front()) + "`";
    case 2:
      if (element && element->kind == ir::TypeKind::tensor) return {};
      return spelled + ", not a list of tensors";
    default: return spelled + ": too many numbers follow it";
  }
}

std::string defect_of(const Size& size, const schema::Schema& schema) {
  if (size.kind == Size::Kind::part) return defect_of(size.part, schema);
  std::string defect = size.left ? defect_of(*size.left, schema) : "";
  return defect.empty() && size.right ? defect_of(*size.right, schema) : defect;
}

bool holds_tensor(const schema::Schema& schema, std::string_view name) {
  const auto at = schema.argument_index(name);
  return at && bare(schema.arguments[*at].type).kind == ir::TypeKind::tensor;
}

}  // namespace

bool spells_facts(std::string_view text) { return text.starts_with('{') && text.ends_with('}'); }

FactFunction spelled_facts(std::string_view text, const Registry& registry) {
  const Spelled spelled = parse(text);
  return [spelled, dtype = registry.find_fact_word(spelled.dtype),
          shape = registry.find_fact_word(spelled.shape)](const Call& call) -> std::vector<Fact> {
    return {tensor_fact(stated_dtype(spelled.dtype, dtype, call), stated_shape(spelled, shape, call))};
  };
}

std::string defect_of_facts(std::string_view text, const schema::Schema& schema, const std::vector<std::string_view>& words) {
  Spelled spelled;
  try {
    spelled = parse(text);
  } catch (const TableError& error) {
    return error.what();
  }
  const auto is_word = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  const auto names_dtype = [&](std::string_view name) {
    const auto at = schema.argument_index(name);
    const auto kind = at ? bare(schema.arguments[*at].type).kind : ir::TypeKind::none;
    return kind == ir::TypeKind::scalar_type || (kind == ir::TypeKind::integer && name == "dtype");
  };
  if (!spelled.dtype.empty() && !ir::dtype_from_name(spelled.dtype) && !is_word(spelled.dtype) &&
      !holds_tensor(schema, spelled.dtype) && !names_dtype(spelled.dtype))
    return "`dtype: " + spelled.dtype +
           "` is neither a dtype (f32, i64 ...), nor a word for facts, nor a tensor among the arguments";
  const auto list = schema.argument_index(spelled.shape);
  const bool of_ints = list && bare(schema.arguments[*list].type).kind == ir::TypeKind::list &&
                       is_int(bare(bare(schema.arguments[*list].type).elements.front()));
  if (!spelled.shape.empty() && !is_word(spelled.shape) && !holds_tensor(schema, spelled.shape) && !of_ints)
    return "`shape: " + spelled.shape +
           "` is neither a list of sizes, nor a word for facts, nor a tensor or a list of ints among the arguments";
  const auto rank = number_in(spelled.rank);
  if (!spelled.rank.empty() && !holds_tensor(schema, spelled.rank) && !(rank && *rank >= 0 && *rank <= 64))
    return "`rank: " + spelled.rank + "` is neither a number up to 64 nor a tensor among the arguments";
  if (spelled.sizes)
    for (const Size& size : *spelled.sizes)
      if (std::string defect = defect_of(size, schema); !defect.empty()) return defect;
  return {};
}

}  // namespace compatcheck::symbolic
