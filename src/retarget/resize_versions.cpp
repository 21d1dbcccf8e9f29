// Resize and Upsample at other opsets.
#include <onnx/defs/attr_proto_util.h>

#include <algorithm>
#include <cmath>

#include "retarget/adapting.h"

namespace compatcheck::retarget {
namespace {

using ::onnx::MakeAttribute;
using Ints = std::vector<std::int64_t>;
using onnx::Refusal;
using std::string;

bool is_whole(double number) { return number == std::floor(number); }

// The factors; of sizes only where they are exact.
std::optional<std::vector<float>> scales_of(const Adapting& a, const string& scales, const string& sizes) {
  if (!scales.empty()) {
    const auto* constant = a.scope.constant(scales);
    const auto known = constant ? floats_of(*constant) : std::nullopt;
    if (known && !known->empty()) return std::vector<float>(known->begin(), known->end());
  }
  const auto wanted = sizes.empty() ? std::nullopt : a.scope.ints(sizes);
  const auto given = a.scope.sizes(a.node.input(0));
  if (!wanted || !given || wanted->size() != given->size()) return std::nullopt;
  std::vector<float> factors;
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const auto& size = (*given)[i];
    if (!size || *size <= 0) return std::nullopt;
    const double factor = static_cast<double>((*wanted)[i]) / static_cast<double>(*size);
    if (static_cast<double>(static_cast<float>(factor)) != factor) return std::nullopt;
    factors.push_back(static_cast<float>(factor));
  }
  return factors;
}

// As opset 10 computes it: coordinates from the corner, rounded down.
bool is_old_resize(const Adapting& a, const std::vector<float>& scales) {
  const string mode = string_of(a.node, "mode", "nearest");
  const string coordinates = string_of(a.node, "coordinate_transformation_mode", "half_pixel");
  if (int_of(a.node, "antialias", 0) || string_of(a.node, "keep_aspect_ratio_policy", "stretch") != "stretch") return false;
  if (std::ranges::all_of(scales, [](float scale) { return scale == 1; })) return true;
  if (mode == "linear") return coordinates == "asymmetric";
  if (mode != "nearest") return false;
  const string rounding = string_of(a.node, "nearest_mode", "round_prefer_floor");
  if (coordinates == "asymmetric" && rounding == "floor") return true;
  return (coordinates == "half_pixel" || coordinates == "half_pixel_symmetric" || coordinates == "pytorch_half_pixel") &&
         rounding.starts_with("round") && std::ranges::all_of(scales, [](float scale) { return is_whole(scale); });
}

void write_old_resize(Adapting& a, const string& input, const std::vector<float>& scales, const string& mode) {
  a.done = true;
  std::vector<::onnx::AttributeProto> attributes{MakeAttribute("mode", mode)};
  if (a.setting.to >= 11) {
    attributes.push_back(MakeAttribute("coordinate_transformation_mode", string("asymmetric")));
    if (mode == "nearest") attributes.push_back(MakeAttribute("nearest_mode", string("floor")));
    const string roi = a.setting.to < 13 ? a.writer.constant(floats_tensor({}), "roi") : "";
    return a.writer.node_as("Resize", {input, roi, a.writer.constant(floats_tensor(scales), "scales")}, a.node.output(0),
                            std::move(attributes));
  }
  if (a.setting.to >= 10)
    return a.writer.node_as("Resize", {input, a.writer.constant(floats_tensor(scales), "scales")}, a.node.output(0),
                            std::move(attributes));
  if (std::ranges::any_of(scales, [](float scale) { return scale < 1; })) throw from_opset("ONNX makes no image smaller", 10);
  if (a.setting.to == 9)
    return a.writer.node_as("Upsample", {input, a.writer.constant(floats_tensor(scales), "scales")}, a.node.output(0),
                            std::move(attributes));
  attributes.push_back(MakeAttribute("scales", scales));
  a.writer.node_as("Upsample", {input}, a.node.output(0), std::move(attributes));
}

// Sizes and factors of all dimensions, where the node has them of some.
void fill_axes(Adapting& a) {
  const auto* axes = attribute_of(a.node, "axes");
  const auto given = a.scope.sizes(a.node.input(0));
  if (!given) throw from_opset("Resize has no axes", 18);
  const auto rank = static_cast<std::int64_t>(given->size());
  if (const string scales = a.input("scales"); !scales.empty()) {
    const auto* constant = a.scope.constant(scales);
    const auto known = constant ? floats_of(*constant) : std::nullopt;
    if (!known || static_cast<int>(known->size()) != axes->ints_size()) throw from_opset("Resize has no axes", 18);
    std::vector<float> all(given->size(), 1);
    for (int i = 0; i < axes->ints_size(); ++i)
      all[static_cast<std::size_t>(axis_of(axes->ints(i), rank))] = static_cast<float>((*known)[static_cast<std::size_t>(i)]);
    a.set_input("scales", a.writer.constant(floats_tensor(all), "scales"));
  } else {
    const auto known = a.ints("sizes");
    if (!known || static_cast<int>(known->size()) != axes->ints_size()) throw from_opset("Resize has no axes", 18);
    Ints all(given->size(), -1);
    for (int i = 0; i < axes->ints_size(); ++i)
      all[static_cast<std::size_t>(axis_of(axes->ints(i), rank))] = (*known)[static_cast<std::size_t>(i)];
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] < 0) {
        if (!(*given)[i]) throw from_opset("Resize has no axes", 18);
        all[i] = *(*given)[i];
      }
    a.set_input("sizes", a.writer.constant(ints_tensor(all), "sizes"));
  }
  if (!a.input("roi").empty() && string_of(a.node, "coordinate_transformation_mode", "") == "tf_crop_and_resize")
    throw from_opset("Resize has no axes", 18);
  a.drop("axes");
}

}  // namespace

void upsample_version(Adapting& a) {
  if (a.setting.to < 10) return;
  const string mode = string_of(a.node, "mode", "nearest");
  if (const auto* scales = attribute_of(a.node, "scales"))
    return write_old_resize(a, a.node.input(0), {scales->floats().begin(), scales->floats().end()}, mode);
  a.done = true;
  std::vector<::onnx::AttributeProto> attributes{MakeAttribute("mode", mode)};
  if (a.setting.to == 10) return a.writer.node_as("Resize", {a.node.input(0), a.node.input(1)}, a.node.output(0), attributes);
  attributes.push_back(MakeAttribute("coordinate_transformation_mode", string("asymmetric")));
  if (mode == "nearest") attributes.push_back(MakeAttribute("nearest_mode", string("floor")));
  const string roi = a.setting.to < 13 ? a.writer.constant(floats_tensor({}), "roi") : "";
  a.writer.node_as("Resize", {a.node.input(0), roi, a.node.input(1)}, a.node.output(0), attributes);
}

void resize_version(Adapting& a) {
  const string coordinates = string_of(a.node, "coordinate_transformation_mode", "half_pixel");
  const string mode = string_of(a.node, "mode", "nearest");
  if (a.had.since == 10) {
    if (a.setting.to == 10) return;
    a.done = true;
    const string scales = a.node.input(1);
    if (a.setting.to < 10) {
      const auto known = scales_of(a, scales, "");
      if (!known) throw from_opset("the factors of Resize aren't constant, which ONNX doesn't have", 10);
      return write_old_resize(a, a.node.input(0), *known, mode);
    }
    a.done = false;
    return upsample_version(a);
  }
  if (a.setting.to < 18 && attribute_of(a.node, "axes")) fill_axes(a);
  if (a.setting.to < 11) {
    const auto scales = scales_of(a, a.input("scales"), a.input("sizes"));
    if (!scales || !is_old_resize(a, *scales)) throw from_opset("Resize computes other coordinates", 11);
    return write_old_resize(a, a.node.input(0), *scales, mode);
  }
  if (coordinates == "tf_half_pixel_for_nn" && a.rises_over(13)) throw Refusal{"Resize no longer has tf_half_pixel_for_nn"};
  if (coordinates == "half_pixel_symmetric" && a.falls_below(19)) throw from_opset("Resize has no half_pixel_symmetric", 19);
  if (!a.falls_below(13)) return;
  for (const char* name : {"roi", "scales"})
    if (a.input(name).empty()) a.set_input(name, a.writer.constant(floats_tensor({}), name));
}

}  // namespace compatcheck::retarget
