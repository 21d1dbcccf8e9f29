#include "files/saved_quantizer.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "ir/dtype.h"

namespace compatcheck::files {
namespace {

using Kind = PickleItem::Kind;

constexpr std::int64_t most_channels = 1 << 20;

template <class T>
std::optional<double> number_at(const std::vector<std::uint8_t>& bytes, std::int64_t place) {
  if (place < 0 || static_cast<std::size_t>(place) >= bytes.size() / sizeof(T)) return std::nullopt;
  T number;
  std::memcpy(&number, bytes.data() + static_cast<std::size_t>(place) * sizeof(T), sizeof(T));
  return static_cast<double>(number);
}

std::optional<double> number_at(const std::vector<std::uint8_t>& bytes, ir::DType dtype, std::int64_t place) {
  switch (dtype) {
    case ir::DType::f32: return number_at<float>(bytes, place);
    case ir::DType::f64: return number_at<double>(bytes, place);
    case ir::DType::i32: return number_at<std::int32_t>(bytes, place);
    case ir::DType::i64: return number_at<std::int64_t>(bytes, place);
    default: return std::nullopt;
  }
}

struct Numbers {
  ir::DType dtype = ir::DType::f64;
  std::vector<double> all;
};

class Reader {
 public:
  Reader(const PickleTree& tree, const StorageBytes& bytes) : tree_(tree), bytes_(bytes) {}

  std::shared_ptr<const ir::Quantizer> read(const PickleItem& parameters) const {
    if (parameters.kind != Kind::tuple || parameters.members.size() < 3) return nullptr;
    const PickleItem &scheme = member(parameters, 0), &scale = member(parameters, 1), &zero = member(parameters, 2);
    if (scheme.kind != Kind::name || scheme.module != "torch") return nullptr;
    const bool whole = scheme.text == "per_tensor_affine" || scheme.text == "per_tensor_symmetric";
    if (whole && scale.kind == Kind::floating && zero.kind == Kind::integer)
      return std::make_shared<const ir::Quantizer>(ir::Quantizer{.scale = scale.floating, .zero_point = zero.integer});
    const bool channels = std::string_view(scheme.text).starts_with("per_channel_");
    if (!channels || parameters.members.size() != 4 || member(parameters, 3).kind != Kind::integer) return nullptr;
    const auto scales = numbers(scale), zero_points = numbers(zero);
    if (!scales || !zero_points || scales->all.size() != zero_points->all.size()) return nullptr;
    ir::Quantizer made{.per_channel = true, .scales = scales->all, .axis = member(parameters, 3).integer};
    if (ir::is_floating(zero_points->dtype))
      made.float_zero_points = zero_points->all;
    else
      for (const double number : zero_points->all) made.zero_points.push_back(static_cast<std::int64_t>(number));
    return std::make_shared<const ir::Quantizer>(std::move(made));
  }

 private:
  const PickleItem& member(const PickleItem& of, std::size_t i) const { return tree_.items[of.members[i]]; }

  // _rebuild_tensor_v2(storage, offset, sizes, strides, …) of one dimension.
  std::optional<Numbers> numbers(const PickleItem& call) const {
    if (call.kind != Kind::call || !std::string_view(member(call, 0).text).starts_with("_rebuild_tensor")) return std::nullopt;
    const PickleItem& given = member(call, 1);
    if (given.kind != Kind::tuple || given.members.size() < 4) return std::nullopt;
    const PickleItem &storage = member(given, 0), &offset = member(given, 1);
    const auto size = only_integer(member(given, 2)), stride = only_integer(member(given, 3));
    if (storage.kind != Kind::persistent || storage.members.empty() || offset.kind != Kind::integer || !size || !stride)
      return std::nullopt;
    const PickleItem& id = member(storage, 0);
    if (id.kind != Kind::tuple || id.members.size() < 3 || *size < 0 || *size > most_channels) return std::nullopt;
    std::string_view name = member(id, 1).text;
    constexpr std::string_view ending = "Storage";
    if (!name.ends_with(ending)) return std::nullopt;
    name.remove_suffix(ending.size());
    const auto dtype = ir::dtype_from_torch_name(name);
    if (!dtype || *stride < 0 || *stride > most_channels || offset.integer < 0) return std::nullopt;
    const auto bytes = bytes_(std::string(member(id, 2).text));
    Numbers made{.dtype = *dtype, .all = {}};
    for (std::int64_t i = 0; i < *size; ++i) {
      const auto number = number_at(bytes, *dtype, offset.integer + i * *stride);
      if (!number) return std::nullopt;
      made.all.push_back(*number);
    }
    return made;
  }

  std::optional<std::int64_t> only_integer(const PickleItem& item) const {
    const PickleItem* tuple = &item;  // torch.Size is a call around it
    if (item.kind == Kind::call && member(item, 1).kind == Kind::tuple && member(item, 1).members.size() == 1)
      tuple = &member(member(item, 1), 0);
    if (tuple->kind != Kind::tuple || tuple->members.size() != 1 || member(*tuple, 0).kind != Kind::integer) return std::nullopt;
    return member(*tuple, 0).integer;
  }

  const PickleTree& tree_;
  const StorageBytes& bytes_;
};

}  // namespace

std::shared_ptr<const ir::Quantizer> saved_quantizer(const PickleTree& tree, const PickleItem& parameters,
                                                     const StorageBytes& bytes) {
  return Reader(tree, bytes).read(parameters);
}

}  // namespace compatcheck::files
