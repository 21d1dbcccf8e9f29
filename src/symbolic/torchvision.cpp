// torchvision's operators: facts.
#include "symbolic/convolution.h"
#include "symbolic/families.h"
#include "symbolic/shapes.h"

namespace compatcheck::symbolic {
namespace {

using ir::DType;

Facts nms(const Call&) { return {tensor_fact(DType::i64, unknown_sizes(1))}; }

// A window of the pooled size from each region, of `channels` channels.
Shape regions(const Call& call, Dim channels) {
  return {size_at(tensor_of(call, "rois"), 0), std::move(channels), call.dim("pooled_height").value_or(Dim::unknown()),
          call.dim("pooled_width").value_or(Dim::unknown())};
}

Facts pooled_regions(const Call& call, Dim channels) {
  const Shape shape = regions(call, std::move(channels));
  return {tensor_fact(call.dtype_of("input"), shape), tensor_fact(DType::i32, shape)};
}

Facts roi(const Call& call) { return pooled_regions(call, size_at(tensor_of(call, "input"), 1)); }

// Each place of the window has channels of its own.
Facts position_sensitive(const Call& call) {
  const Dim places = call.dim("pooled_height").value_or(Dim::unknown()) * call.dim("pooled_width").value_or(Dim::unknown());
  return pooled_regions(call, floor_div(size_at(tensor_of(call, "input"), 1), places));
}

Facts deform_conv2d(const Call& call) {
  const TensorFact& input = tensor_of(call, "input");
  const auto pair = [&](const char* height, const char* width) {
    return std::vector<Dim>{call.dim(height).value_or(Dim::unknown()), call.dim(width).value_or(Dim::unknown())};
  };
  return {tensor_fact(input.dtype, convolved(input, tensor_of(call, "weight"),
                                             {.stride = pair("stride_h", "stride_w"),
                                              .padding = pair("pad_h", "pad_w"),
                                              .dilation = pair("dilation_h", "dilation_w"),
                                              .output_padding = {}}))};
}

}  // namespace

void register_torchvision(Registry& registry) {
  registry.facts("torchvision::nms", nms);
  registry.facts("torchvision::roi_align", roi);
  registry.facts("torchvision::roi_pool", roi);
  registry.facts("torchvision::ps_roi_align", position_sensitive);
  registry.facts("torchvision::ps_roi_pool", position_sensitive);
  registry.facts("torchvision::deform_conv2d", deform_conv2d);
}

}  // namespace compatcheck::symbolic
