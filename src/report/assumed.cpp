#include "report/assumed.h"

#include "report/page.h"

namespace compatcheck::report {

std::vector<TensorInfo> tensors_of(const std::vector<AssumedInput>& all) {
  std::vector<TensorInfo> tensors;
  for (const AssumedInput& each : all) tensors.push_back(each.tensor);
  return tensors;
}

std::string assumption(const AssumedInput& input) {
  return input.tensor.name + ": " + input.tensor.dtype + (input.tensor.shape ? shape(*input.tensor.shape) : " of unknown rank");
}

std::string reason(const AssumedInput::Reason& reason) {
  std::string text;
  for (const std::string& what : reason.what) text += (text.empty() ? "" : ", ") + what;
  if (reason.op.empty()) return text + ": assumed, because no operator that reads it decides";
  text += ": " + reason.op;
  if (!reason.file.empty()) text += " at " + reason.file + ":" + std::to_string(reason.line);
  return reason.module.empty() ? text : text + " in " + reason.module;
}

}  // namespace compatcheck::report
