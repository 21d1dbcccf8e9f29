#include "ir/tensor_literal.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "ir/number_text.h"

namespace compatcheck::ir {
namespace {

using Elements = std::vector<Element>;
constexpr std::int64_t max_printed_elements = 10;  // the same as torch

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::optional<Element> decode(DType dtype, const std::uint8_t* p) {
  switch (dtype) {
    case DType::boolean: return *p != 0 ? 1.L : 0.L;
    case DType::u8: return *p;
    case DType::i8: return load<std::int8_t>(p);
    case DType::i16: return load<std::int16_t>(p);
    case DType::u16: return load<std::uint16_t>(p);
    case DType::i32: return load<std::int32_t>(p);
    case DType::u32: return load<std::uint32_t>(p);
    case DType::i64: return load<std::int64_t>(p);
    case DType::u64: return load<std::uint64_t>(p);
    case DType::f16: return from_half(load<std::uint16_t>(p));
    case DType::bf16: return from_bfloat(load<std::uint16_t>(p));
    case DType::f32: return load<float>(p);
    case DType::f64: return load<double>(p);
    case DType::c32: return Element(from_half(load<std::uint16_t>(p)), from_half(load<std::uint16_t>(p + 2)));
    case DType::c64: return Element(load<float>(p), load<float>(p + 4));
    case DType::c128: return Element(load<double>(p), load<double>(p + 8));
    default: return std::nullopt;
  }
}

template <class T>
void store(std::vector<std::uint8_t>& to, T value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof value);
}

// Clamps a number to the type's range: printed text may hold any number.
template <class T>
void store_integer(std::vector<std::uint8_t>& to, long double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) value = 0;
  if (value >= static_cast<long double>(Limits::max())) return store(to, Limits::max());
  if (value <= static_cast<long double>(Limits::min())) return store(to, Limits::min());
  store(to, static_cast<T>(value));
}

bool encode(DType dtype, Element value, std::vector<std::uint8_t>& to) {
  const auto real = static_cast<double>(value.real());
  const auto imaginary = static_cast<double>(value.imag());
  switch (dtype) {
    case DType::boolean: store<std::uint8_t>(to, real != 0); return true;
    case DType::u8: store_integer<std::uint8_t>(to, value.real()); return true;
    case DType::i8: store_integer<std::int8_t>(to, value.real()); return true;
    case DType::i16: store_integer<std::int16_t>(to, value.real()); return true;
    case DType::u16: store_integer<std::uint16_t>(to, value.real()); return true;
    case DType::i32: store_integer<std::int32_t>(to, value.real()); return true;
    case DType::u32: store_integer<std::uint32_t>(to, value.real()); return true;
    case DType::i64: store_integer<std::int64_t>(to, value.real()); return true;
    case DType::u64: store_integer<std::uint64_t>(to, value.real()); return true;
    case DType::f16: store(to, to_half(real)); return true;
    case DType::bf16: store(to, to_bfloat(real)); return true;
    case DType::f32: store(to, static_cast<float>(real)); return true;
    case DType::f64: store(to, real); return true;
    case DType::c32: store(to, to_half(real)), store(to, to_half(imaginary)); return true;
    case DType::c64: store(to, static_cast<float>(real)), store(to, static_cast<float>(imaginary)); return true;
    case DType::c128: store(to, real), store(to, imaginary); return true;
    default: return false;
  }
}

// ---- reading

constexpr std::size_t max_body = 1000;  // far above what so few elements take; keeps reading linear

constexpr auto in_body = [] {
  std::array<bool, 256> allowed{};
  for (const char c : std::string_view("0123456789.,+-e*()= \t\r\nColumnstinfajC")) allowed[static_cast<unsigned char>(c)] = true;
  return allowed;
}();

// Where the type begins, "[ CPUFloatType{2,3} ]", if what stands before it can only be a printed tensor.
std::optional<std::size_t> find_type(std::string_view text) {
  constexpr std::string_view prefixes[] = {"[ CPU", "[ CUDA", "[ Meta", "[ Quantized", "[ Variable", "[ Sparse", "[ Mkldnn"};
  for (std::size_t i = 0; i < std::min(text.size(), max_body); ++i) {
    if (in_body[static_cast<unsigned char>(text[i])]) continue;
    const std::string_view here = text.substr(i);
    if (std::any_of(std::begin(prefixes), std::end(prefixes), [&](auto p) { return here.starts_with(p); })) return i;
    return std::nullopt;
  }
  return std::nullopt;
}

// "[ CPUFloatType{2,3} ]" and "[ QuantizedCPUQInt8Type{2}, qscheme: …]": the type without data.
TensorView read_bracket(Scanner& s) {
  s.expect("[", "before the tensor's type");
  const std::size_t at = s.position();
  std::string_view word = s.identifier();
  for (const std::string_view prefix : {"Variable", "Sparse", "Quantized", "Mkldnn", "CPU", "CUDA", "Meta"})
    if (word.starts_with(prefix)) word.remove_prefix(prefix.size());
  if (word.ends_with("Type")) word.remove_suffix(4);
  const auto dtype = dtype_from_torch_name(word);
  if (!dtype) s.fail_at(at, "'" + std::string(word) + "' is not an element type");
  TensorView tensor;
  tensor.dtype = *dtype;
  s.expect("{", "before the tensor's sizes");
  while (!s.accept("}")) {
    const auto size = s.number();
    if (!size || !std::holds_alternative<std::int64_t>(*size) || std::get<std::int64_t>(*size) < 0) s.fail_expected("a size");
    tensor.sizes.push_back(std::get<std::int64_t>(*size));
    if (!s.looking_at("}")) s.expect(",", "or '}' after a size");
  }
  const std::string_view rest = s.raw_rest();
  const std::size_t close = rest.find(']');
  if (close == std::string_view::npos) s.fail_expected("']' after the tensor's type");
  s.raw_advance(close + 1);
  return tensor;
}

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;)
    if (__builtin_mul_overflow(strides[i], std::max<std::int64_t>(sizes[i], 1), &strides[i - 1])) strides[i - 1] = 0;
  return strides;
}

// Fills a tensor of few elements from the blocks that torch prints: a vector, a matrix in groups of columns, or one
// matrix for each index of the leading dimensions ("(1,.,.) ="), each with a scale of its own ("0.01 *"). Its scanner
// never raises: it only accepts.
class PrintedBody {
 public:
  PrintedBody(std::string_view body, const std::vector<std::int64_t>& sizes, std::size_t count)
      : body_(body, "", nullptr), sizes_(sizes), elements_(count), seen_(count) {
    columns_ = sizes.empty() ? 1 : sizes.back();
    last_ = columns_;
  }

  std::optional<Elements> read() {
    while (!body_.at_end())
      if (!(slice() || group() || number())) return std::nullopt;
    if (std::find(seen_.begin(), seen_.end(), false) != seen_.end()) return std::nullopt;
    return elements_;
  }

 private:
  std::optional<std::int64_t> integer() {
    const auto number = body_.element();
    if (!number || !std::holds_alternative<std::int64_t>(*number)) return std::nullopt;
    return std::get<std::int64_t>(*number);
  }

  bool slice() {
    if (!body_.accept("(")) return false;
    std::int64_t index = 0;
    for (std::size_t i = 0; i + 2 < sizes_.size(); ++i) {
      const auto at = integer();
      if (!at || *at < 1 || *at > sizes_[i] || !body_.accept(",")) return false;
      index = index * sizes_[i] + *at - 1;
    }
    if (!body_.accept(".,.)") || !body_.accept("=")) return false;
    base_ = index * (sizes_.size() < 2 ? 1 : sizes_[sizes_.size() - 2]) * columns_;
    start(1, columns_);
    return true;
  }

  bool group() {
    if (!body_.accept("Columns")) return false;
    const auto from = integer();
    if (!from || !body_.accept("to")) return false;
    const auto to = integer();
    if (!to || *from < 1 || *to < *from || *to > columns_) return false;
    body_.accept("and");
    start(*from, *to);
    return true;
  }

  void start(std::int64_t first, std::int64_t last) {
    first_ = column_ = first - 1;
    last_ = last;
    row_ = 0;
    scale_ = 1;
  }

  bool number() {
    const auto number = body_.element();
    if (!number) return false;
    const long double value = std::visit([](auto v) { return static_cast<long double>(v); }, *number);
    if (body_.accept("*")) {
      scale_ = value;
      return true;
    }
    const std::int64_t at = base_ + row_ * columns_ + column_;
    if (at < 0 || at >= static_cast<std::int64_t>(elements_.size())) return false;
    elements_[static_cast<std::size_t>(at)] = value * scale_;
    seen_[static_cast<std::size_t>(at)] = true;
    if (++column_ == last_) {
      column_ = first_;
      ++row_;
    }
    return true;
  }

  Scanner body_;
  const std::vector<std::int64_t>& sizes_;
  Elements elements_;
  std::vector<bool> seen_;
  std::int64_t columns_ = 1, base_ = 0, row_ = 0, column_ = 0, first_ = 0, last_ = 1;
  long double scale_ = 1;
};

// ---- writing

std::string spell_element(DType dtype, Element value) {
  const auto real = static_cast<double>(value.real());
  if (is_complex(dtype)) return '(' + spell(real) + ',' + spell(static_cast<double>(value.imag())) + ')';
  if (dtype == DType::f64) return spell(real);
  if (is_floating(dtype)) return spell(static_cast<float>(real));
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value.real(), std::chars_format::fixed).ptr};
}

std::string write_body(const TensorView& tensor, const Elements& elements) {
  std::string out;
  if (elements.empty()) return out;
  const std::size_t rank = tensor.sizes.size();
  std::int64_t block = 1;  // elements of one printed matrix
  for (std::size_t i = rank < 3 ? 0 : rank - 2; i < rank; ++i) block *= tensor.sizes[i];
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (rank > 2 && i % static_cast<std::size_t>(block) == 0) {
      std::string index = ".,.) = ";
      auto rest = static_cast<std::int64_t>(i) / block;
      for (std::size_t d = rank - 2; d-- > 0; rest /= tensor.sizes[d])
        index = std::to_string(rest % tensor.sizes[d] + 1) + ',' + index;
      out += '(' + index;
    }
    out += ' ' + spell_element(tensor.dtype, elements[i]) + ' ';
  }
  return out;
}

}  // namespace

std::optional<Elements> elements_of(const TensorView& tensor) {
  if (!tensor.storage || tensor.quantizer) return std::nullopt;
  const std::size_t bytes = element_bytes(tensor.dtype);
  const std::vector<std::uint8_t>& data = tensor.storage->data;
  Elements elements;
  std::vector<std::int64_t> index(tensor.sizes.size());
  for (std::int64_t n = tensor.elements(); n > 0; --n) {
    auto at = static_cast<std::uint64_t>(tensor.offset);  // wraps instead of overflowing; checked below
    for (std::size_t i = 0; i < index.size(); ++i)
      at += static_cast<std::uint64_t>(index[i]) * static_cast<std::uint64_t>(tensor.strides[i]);
    if (bytes == 0 || at >= data.size() / bytes) return std::nullopt;
    const auto value = decode(tensor.dtype, data.data() + at * bytes);
    if (!value) return std::nullopt;
    elements.push_back(*value);
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < tensor.sizes[i]) break;
      index[i] = 0;
    }
  }
  return elements;
}

TensorView tensor_of(DType dtype, std::vector<std::int64_t> sizes, const Elements& elements) {
  TensorView tensor;
  tensor.dtype = dtype;
  tensor.strides = contiguous_strides(sizes);
  tensor.sizes = std::move(sizes);
  auto storage = std::make_shared<Storage>();
  for (const Element& element : elements)
    if (!encode(dtype, element, storage->data)) return tensor;
  storage->bytes = storage->data.size();
  tensor.storage = std::move(storage);
  return tensor;
}

std::optional<TensorView> read_printed_tensor(Scanner& s) {
  s.skip_space();
  const auto type_at = find_type(s.raw_rest());
  if (!type_at) return std::nullopt;
  const std::string_view body = s.raw_rest().substr(0, *type_at);
  s.raw_advance(*type_at);
  TensorView tensor = read_bracket(s);
  const std::int64_t count = tensor.elements();
  if (count <= max_printed_elements)
    if (auto elements = PrintedBody(body, tensor.sizes, static_cast<std::size_t>(count)).read())
      return tensor_of(tensor.dtype, tensor.sizes, *elements);
  tensor.strides = contiguous_strides(tensor.sizes);
  return tensor;
}

std::string write_tensor(const TensorView& tensor) {
  if (tensor.elements() > max_printed_elements) return "<Tensor>";
  const auto elements = elements_of(tensor);
  if (!elements || (elements->size() > 1 && is_complex(tensor.dtype))) return "<Tensor>";
  if (elements->size() == 1) return '{' + spell_element(tensor.dtype, elements->front()) + '}';
  std::string sizes;
  for (const std::int64_t size : tensor.sizes) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
  return write_body(tensor, *elements) + "[ CPU" + std::string(torch_name(tensor.dtype)) + "Type{" + sizes + "} ]";
}

}  // namespace compatcheck::ir
