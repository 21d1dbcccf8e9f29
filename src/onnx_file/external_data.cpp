#include "onnx_file/external_data.h"

#include <algorithm>
#include <charconv>

#include "compatcheck/error.h"
#include "onnx_file/data_types.h"
#include "process/spell_count.h"

namespace compatcheck::onnx_file {
namespace {

constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;

std::optional<std::uint64_t> number_in(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Source: onnx/docs/ExternalData.md: a relative path that stays in the model's folder.
bool leaves_folder(const std::filesystem::path& location) {
  return location.is_absolute() || std::ranges::any_of(location, [](const auto& part) { return part == ".."; });
}

}  // namespace

bool is_external(const ::onnx::TensorProto& tensor) {
  return tensor.has_data_location() && tensor.data_location() == ::onnx::TensorProto::EXTERNAL;
}

std::optional<std::uint64_t> element_count(const ::onnx::TensorProto& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t dim : tensor.dims())
    if (dim < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(dim), &count) || count > most_elements)
      return std::nullopt;
  return count;
}

const ExternalFiles::Opened& ExternalFiles::open(const std::string& location) {
  const auto [found, added] = files_.try_emplace(location);
  Opened& opened = found->second;
  if (!added) return opened;
  if (location.empty())
    opened.problem = "no location is named";
  else if (leaves_folder(location))
    opened.problem = "lies outside of the model's folder, where it isn't read";
  else
    try {
      opened.file = std::make_shared<const files::InputFile>(folder_ / location);
    } catch (const ModelError& error) {
      opened.problem = error.what() == std::string("no such file") ? "isn't there" : error.what();
    }
  return opened;
}

std::optional<std::uint64_t> ExternalFiles::size(const std::string& location) {
  const Opened& opened = open(location);
  return opened.file ? std::optional(opened.file->size()) : std::nullopt;
}

ExternalPlace ExternalFiles::place(const ::onnx::TensorProto& tensor) {
  ExternalPlace place;
  for (const auto& entry : tensor.external_data()) {
    const auto number = number_in(entry.value());
    if (entry.key() == "location")
      place.location = entry.value();
    else if (entry.key() != "offset" && entry.key() != "length")
      continue;
    else if (!number)
      place.problem = entry.key() + " '" + entry.value() + "' is no number";
    else if (entry.key() == "offset")
      place.offset = *number;
    else
      place.length = *number;
  }
  if (!place.problem.empty()) return place;
  const auto elements = element_count(tensor);
  const std::uint64_t needed = elements ? bytes_of(tensor.data_type(), *elements) : 0;
  const std::uint64_t length = place.length.value_or(needed);
  const Opened& opened = open(place.location);
  if (!opened.problem.empty())
    place.problem = opened.problem;
  else if (!elements)
    place.problem = "its sizes are no sizes";
  else if (bits_of(tensor.data_type()) == 0)
    place.problem = "elements of dtype " + dtype_name(tensor.data_type()) + " can't lie in another file";
  else if (length < needed)
    place.problem =
        "length " + std::to_string(length) + " is less than the " + spell_count(needed, "byte") + " that dtype and shape need";
  else if (place.offset > opened.file->size() || length > opened.file->size() - place.offset)
    place.problem = "is cut short: it has " + spell_count(opened.file->size(), "byte") + ", but " + std::to_string(length) +
                    " are needed from byte " + std::to_string(place.offset);
  return place;
}

FarElements ExternalFiles::elements(const ::onnx::TensorProto& tensor) {
  const ExternalPlace found = place(tensor);
  if (!found.problem.empty())
    throw ModelError("external data of '" + tensor.name() + "', " + (found.location.empty() ? "" : found.location + ": ") +
                     found.problem);
  const std::uint64_t needed = bytes_of(tensor.data_type(), element_count(tensor).value());
  return {.file = open(found.location).file, .field = raw_data, .parts = {{found.offset, needed}}};
}

}  // namespace compatcheck::onnx_file
