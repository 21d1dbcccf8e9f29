#include "input_sets.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "ir/number_text.h"

namespace compatcheck::corpus {
namespace {

using ir::DType;
using Bytes = std::vector<std::uint8_t>;

template <class T>
std::vector<T> elements(const Bytes& bytes) {
  std::vector<T> all(bytes.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

template <class T>
Bytes bytes_of(const std::vector<T>& all) {
  Bytes bytes(all.size() * sizeof(T));
  if (!all.empty()) std::memcpy(bytes.data(), all.data(), bytes.size());
  return bytes;
}

class Maker {
 public:
  Maker(InputSet set, std::uint64_t seed) : set_(set), random_(seed) {}

  Bytes make(DType dtype, const Bytes& recorded, const std::vector<double>& specials) {
    specials_ = specials;
    switch (dtype) {
      case DType::f64:
        return floats<double>(
            recorded, [](double x) { return x; }, [](double x) { return x; });
      case DType::f32:
        return floats<float>(
            recorded, [](float x) { return static_cast<double>(x); }, [](double x) { return static_cast<float>(x); });
      case DType::f16: return floats<std::uint16_t>(recorded, ir::from_half, ir::to_half);
      case DType::bf16: return floats<std::uint16_t>(recorded, ir::from_bfloat, ir::to_bfloat);
      case DType::i64: return integers<std::int64_t>(recorded);
      case DType::i32: return integers<std::int32_t>(recorded);
      case DType::i16: return integers<std::int16_t>(recorded);
      case DType::i8: return integers<std::int8_t>(recorded);
      case DType::u8: return integers<std::uint8_t>(recorded);
      case DType::boolean: return booleans(recorded);
      default: return recorded;
    }
  }

 private:
  template <class Held, class Read, class Write>
  Bytes floats(const Bytes& recorded, Read read, Write write) {
    auto all = elements<Held>(recorded);
    if (set_ == InputSet::negatives) {
      std::shuffle(all.begin(), all.end(), random_);
      for (Held& element : all) element = write(-1.7 * read(element));
    } else if (set_ == InputSet::ties) {
      for (Held& element : all) element = write(std::nearbyint(read(element)));
    } else {
      constexpr std::size_t apart = 7;
      for (std::size_t i = 0; i < std::min(specials_.size(), all.size()); ++i) all[i * apart % all.size()] = write(specials_[i]);
    }
    return bytes_of(all);
  }

  template <class Held>
  Bytes integers(const Bytes& recorded) {
    auto all = elements<Held>(recorded);
    if (all.empty()) return recorded;
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    std::uniform_int_distribution<std::int64_t> within(*least, *most);
    for (Held& element : all) element = static_cast<Held>(within(random_));
    return bytes_of(all);
  }

  Bytes booleans(const Bytes& recorded) {
    Bytes all(recorded.size());
    for (auto& element : all) element = static_cast<std::uint8_t>(random_() & 1);
    return all;
  }

  InputSet set_;
  std::vector<double> specials_;
  std::mt19937_64 random_;
};

}  // namespace

std::string_view name(InputSet set) {
  switch (set) {
    case InputSet::recorded: return "recorded";
    case InputSet::negatives: return "negatives";
    case InputSet::ties: return "ties";
    case InputSet::special: return "special";
  }
  return {};
}

ir::Constants make_inputs(const ir::Constants& recorded, InputSet set, const Variation& variation) {
  if (set == InputSet::recorded) return recorded;
  Maker maker(set, variation.seed + static_cast<std::uint64_t>(set));
  ir::Constants made = recorded;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (variation.kept.contains(i)) continue;
    auto& view = *made[i].get<ir::TensorView>();
    auto storage = std::make_shared<ir::Storage>(*view.storage);
    storage->data = maker.make(view.dtype, view.storage->data, variation.specials.at(i));
    view.storage = std::move(storage);
  }
  return made;
}

namespace {

// The elements as `To`, which `convert` makes of those held.
template <class Held, class To, class Convert>
void replace_elements(ir::TensorView& view, DType dtype, Convert convert) {
  std::vector<To> made;
  for (const Held held : elements<Held>(view.storage->data)) made.push_back(convert(held));
  auto storage = std::make_shared<ir::Storage>();
  storage->data = bytes_of(made);
  storage->bytes = storage->data.size();
  view.dtype = dtype;
  view.storage = std::move(storage);
}

}  // namespace

ir::Constants widened(const ir::Constants& inputs) {
  ir::Constants made = inputs;
  for (ir::Constant& input : made) {
    auto& view = *input.get<ir::TensorView>();
    const auto as_single = [&](auto read) {
      replace_elements<std::uint16_t, float>(view, DType::f32,
                                             [&](std::uint16_t held) { return static_cast<float>(read(held)); });
    };
    if (view.dtype == DType::f16) as_single(ir::from_half);
    if (view.dtype == DType::bf16) as_single(ir::from_bfloat);
  }
  return made;
}

ir::Constant as_recorded(const ir::Constant& array, std::string_view dtype) {
  ir::Constant made = array;
  if (dtype == "bfloat16") replace_elements<float, std::uint16_t>(*made.get<ir::TensorView>(), DType::bf16, ir::to_bfloat);
  return made;
}

}  // namespace compatcheck::corpus
