// Repeated fields of protobuf's messages.
#pragma once

namespace compatcheck::onnx_file {

// Drops those of a message's repeated items that `keep` doesn't want; asks once for each, in order.
template <class Items, class Keep>
void keep_if(Items& items, Keep&& keep) {
  Items kept;
  for (auto& item : items)
    if (keep(item)) kept.Add()->Swap(&item);
  items.Swap(&kept);
}

}  // namespace compatcheck::onnx_file
