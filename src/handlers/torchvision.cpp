// torchvision's operators.
#include "handlers/convolution.h"
#include "handlers/families.h"
#include "handlers/sizes.h"

namespace compatcheck::handlers {
namespace {

// The indices of the boxes that are kept, best score first.
void nms(Emission& e) {
  const Value boxes = e.build.unsqueeze(e.tensor("dets", DType::f32), {0}),
              scores = e.build.unsqueeze(e.tensor("scores", DType::f32), {0, 1});
  const Value all = e.size_of("dets", 0);
  const Value kept =
      e.node("NonMaxSuppression", {boxes, scores, all, e.build.reshape(e.scalar(DType::f32, e.number("iou_threshold")), {1})}, {},
             DType::i64);
  e.give(e.build.squeeze(e.build.slice(kept, {2}, {3}, {1}), {1}));  // (batch, class, box)
}

// Regions are (batch index, x1, y1, x2, y2).
struct Regions {
  Value boxes, batch;
};

Regions regions_of(Emission& e) {
  const Value rois = e.tensor("rois");
  return {e.build.slice(rois, {1}, {5}, {1}), e.cast(e.build.squeeze(e.build.slice(rois, {0}, {1}, {1}), {1}), DType::i64)};
}

// A scale that is known when the model runs: the boxes are scaled before.
void roi_align(Emission& e) {
  Regions regions = regions_of(e);
  const bool aligned = e.boolean("aligned");
  const bool scaled = e.variant("scaled");
  if (scaled) regions.boxes = e.node("Mul", {regions.boxes, e.number_value("spatial_scale", regions.boxes.dtype)});
  const double scale = scaled ? 1 : e.number("spatial_scale");
  Arguments attributes{{"mode", "avg"},
                       {"output_height", e.integer("pooled_height")},
                       {"output_width", e.integer("pooled_width")},
                       {"sampling_ratio", std::max<std::int64_t>(e.integer("sampling_ratio"), 0)},
                       {"spatial_scale", scale}};
  if (e.at_least(16))
    attributes.push_back({"coordinate_transformation_mode", aligned ? "half_pixel" : "output_half_pixel"});
  else if (aligned)
    regions.boxes = e.node("Sub", {regions.boxes, e.scalar(regions.boxes.dtype, 0.5 / scale)});
  e.give(e.node("RoiAlign", {e.tensor("input"), regions.boxes, regions.batch}, attributes));
}

void roi_pool(Emission& e) {
  const double scale = e.number("spatial_scale");
  e.give(0, e.node("MaxRoiPool", {e.tensor("input"), e.tensor("rois")},
                   {{"pooled_shape", Ints{e.integer("pooled_height"), e.integer("pooled_width")}}, {"spatial_scale", scale}}));
}

// Channel c of the result has channel c · places + place of the input at each place of the window.
void position_sensitive_roi_align(Emission& e) {
  const std::int64_t height = e.integer("pooled_height"), width = e.integer("pooled_width"),
                     places = Emission::few(height * width);
  const std::int64_t channels = e.known_size("input", 1) / places;
  Ints of_channel, numbers;
  for (std::int64_t place = 0; place < places; ++place) of_channel.push_back(place);
  for (std::int64_t i = 0; i < Emission::few(channels * places); ++i) numbers.push_back(i);
  if (e.output_used(0)) {
    const Regions regions = regions_of(e);
    const Value all = e.node("RoiAlign", {e.tensor("input"), regions.boxes, regions.batch},
                             {{"mode", "avg"},
                              {"output_height", height},
                              {"output_width", width},
                              {"sampling_ratio", std::max<std::int64_t>(e.integer("sampling_ratio"), 0)},
                              {"spatial_scale", e.number("spatial_scale")},
                              {"coordinate_transformation_mode", "half_pixel"}});
    const Value apart = e.build.reshape(all, {-1, channels, places, places});
    const Value windows = joined(e, {e.size_of("rois", 0), e.integers({channels, 1, places})});
    const Value own = e.node("Expand", {e.build.reshape(e.integers(of_channel), {1, 1, 1, places}), windows});
    e.give(0, e.build.reshape(e.node("GatherElements", {apart, own}, {{"axis", 2}}), {-1, channels, height, width}));
  }
  if (!e.output_used(1)) return;
  const Value mapping = e.build.reshape(e.cast(e.integers(numbers), DType::i32), {1, channels, height, width});
  e.give(1, e.node("Expand", {mapping, joined(e, {e.size_of("rois", 0), e.integers({channels, height, width})})}));
}

void deform_conv2d(Emission& e) {
  const auto pair = [&](const char* height, const char* width) { return Ints{e.integer(height), e.integer(width)}; };
  const Ints padding = pair("pad_h", "pad_w");
  const Value mask = e.boolean("use_mask") ? e.tensor("mask") : Value{};
  e.give(e.node("DeformConv", {e.tensor("input"), e.tensor("weight"), e.tensor("offset"), e.optional_tensor("bias"), mask},
                {{"kernel_shape", Ints{e.known_size("weight", 2), e.known_size("weight", 3)}},
                 {"strides", pair("stride_h", "stride_w")},
                 {"pads", Ints{padding[0], padding[1], padding[0], padding[1]}},
                 {"dilations", pair("dilation_h", "dilation_w")},
                 {"group", e.integer("groups")},
                 {"offset_group", e.integer("offset_groups")}}));
}

}  // namespace

void register_torchvision(Registry& registry) {
  registry.handler("torchvision::nms", nms);
  registry.handler("torchvision::roi_align", roi_align, {"scaled"});
  registry.handler("torchvision::roi_pool", roi_pool);
  registry.handler("torchvision::ps_roi_align", position_sensitive_roi_align);
  registry.handler("torchvision::deform_conv2d", deform_conv2d);
}

}  // namespace compatcheck::handlers
