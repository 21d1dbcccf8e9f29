#include "verify/dump.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "compatcheck/error.h"
#include "ir/number_text.h"
#include "verify/compare.h"
#include "verify/write_file.h"

namespace compatcheck::verification {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t first_values = 8;   // at a time, before anything is known of their sizes

struct Statistics {
  double least = std::numeric_limits<double>::infinity(), greatest = -std::numeric_limits<double>::infinity(), sum = 0, squares = 0;
  std::uint64_t finite = 0, zeros = 0, nan = 0, infinite = 0;

  void add(double value) {
    if (std::isnan(value)) return void(++nan);
    if (std::isinf(value)) return void(++infinite);
    ++finite;
    zeros += value == 0;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
    sum += value;
    squares += value * value;
  }

  // Of finite elements.
  std::string text() const {
    const auto number = [&](double value) { return finite ? ir::plainly(value) : std::string("-"); };
    const double mean = sum / static_cast<double>(std::max<std::uint64_t>(finite, 1));
    const double variance = std::max(0.0, squares / static_cast<double>(std::max<std::uint64_t>(finite, 1)) - mean * mean);
    return number(least) + "\t" + number(greatest) + "\t" + number(mean) + "\t" + number(std::sqrt(variance)) + "\t" + std::to_string(zeros) + "\t" + std::to_string(nan) + "\t" +
           std::to_string(infinite);
  }
};

// Source: numpy's format of .npy files, version 1.0.
const char* npy_dtype(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::f64: return "<f8";
    case ir::DType::f32: case ir::DType::bf16: return "<f4";
    case ir::DType::f16: return "<f2";
    case ir::DType::i64: return "<i8";
    case ir::DType::i32: return "<i4";
    case ir::DType::i16: return "<i2";
    case ir::DType::i8: return "|i1";
    case ir::DType::u8: return "|u1";
    case ir::DType::u16: return "<u2";
    case ir::DType::u32: return "<u4";
    case ir::DType::u64: return "<u8";
    case ir::DType::boolean: return "|b1";
    case ir::DType::c64: return "<c8";
    case ir::DType::c128: return "<c16";
    default: return nullptr;
  }
}

std::string npy_head(const char* dtype, const std::vector<std::int64_t>& sizes) {
  std::string shape = "(";
  for (const std::int64_t size : sizes) shape += std::to_string(size) + ",";
  std::string header = std::string("{'descr': '") + dtype + "', 'fortran_order': False, 'shape': " + shape + "), }";
  constexpr std::size_t before = 10, alignment = 64;
  header.append(alignment - (before + header.size() + 1) % alignment, ' ');
  header += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(header.size() & 0xff);
  head += static_cast<char>(header.size() >> 8);
  return head + header;
}

std::string plain(const std::string& name) {
  std::string made = name;
  for (char& letter : made)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '.' && letter != '-') letter = '_';
  return made.size() > 120 ? made.substr(made.size() - 120) : made;
}

class Folder {
 public:
  explicit Folder(const fs::path& path) : path_(path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) throw UsageError(path.string() + ": can't be made: " + error.message());
    table_ = "file\tvalue\tnode\tdtype\tshape\tmin\tmax\tmean\tstd\tzeros\tnan\tinf\n";
  }

  void add(const std::string& name, const std::string& node, const ir::Constant& value) {
    if (const auto* view = value.get<ir::TensorView>()) return add(name, node, *view);
    if (const auto* list = value.get<ir::ListConstant>())
      for (std::size_t i = 0; i < list->items.size(); ++i) add(name + "." + std::to_string(i), node, list->items[i]);
  }

  void finish() { write_file(path_ / "values.tsv", {table_}); }

 private:
  void add(const std::string& name, const std::string& node, const ir::TensorView& view) {
    const char* dtype = npy_dtype(view.dtype);
    if (!dtype) return;
    char number[16];
    std::snprintf(number, sizeof number, "%04zu_", count_++);
    const std::string file = number + plain(name) + ".npy";
    const auto& data = view.storage->data;
    std::string widened;
    Statistics statistics;
    const auto elements = static_cast<std::uint64_t>(view.elements()) * (ir::is_complex(view.dtype) ? 2 : 1);
    for (std::uint64_t i = 0; i < elements; ++i) {
      const double element = element_of(view, i);
      statistics.add(element);
      if (view.dtype != ir::DType::bf16) continue;
      const auto single = static_cast<float>(element);
      widened.append(reinterpret_cast<const char*>(&single), sizeof single);
    }
    const std::string_view bytes = view.dtype == ir::DType::bf16 ? std::string_view(widened) : std::string_view(reinterpret_cast<const char*>(data.data()), data.size());
    write_file(path_ / file, {npy_head(dtype, view.sizes), bytes});
    std::string shape;
    for (const std::int64_t size : view.sizes) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    table_ += file + "\t" + name + "\t" + node + "\t" + std::string(ir::name(view.dtype)) + "\t[" + shape + "]\t" + statistics.text() + "\n";
  }

  fs::path path_;
  std::string table_;
  std::size_t count_ = 0;
};

std::uint64_t bytes_of(const ir::Constant& value) {
  if (const auto* view = value.get<ir::TensorView>()) return view->storage->bytes;
  std::uint64_t bytes = 0;
  if (const auto* list = value.get<ir::ListConstant>())
    for (const ir::Constant& item : list->items) bytes += bytes_of(item);
  return bytes;
}

}  // namespace

std::uint64_t dump(const fs::path& folder, const OnnxGraph& onnx, const Runtime& runtime, const NamedValues& inputs, std::uint64_t memory, const ir::Watch& watch) {
  Folder into(folder);
  const std::vector<std::string> values = onnx.main_values();
  std::size_t together = first_values;
  for (std::size_t at = 0; at < values.size();) {
    watch.look();
    const std::size_t end = std::min(values.size(), at + together);
    const auto part = onnx.segment({{values.begin() + static_cast<std::ptrdiff_t>(at), values.begin() + static_cast<std::ptrdiff_t>(end)}, {}, {}, {}, {}});
    if (!part) throw ModelError("a part of the ONNX model can't stand alone");
    const Session session = runtime.open_bytes(part->bytes);
    ir::Constants given;
    for (const std::string& name : session.inputs()) {
      const auto input = std::ranges::find(inputs, name, &NamedValues::value_type::first);
      if (input == inputs.end()) throw ModelError("the ONNX model's input " + name + " has no value");
      given.push_back(input->second);
    }
    const ir::Constants results = session.run(given);
    std::uint64_t bytes = 1;
    for (std::size_t i = 0; i < results.size(); ++i) {
      into.add(values[at + i], onnx.maker_of(values[at + i]), results[i]);
      bytes += bytes_of(results[i]);
    }
    // The next are taken to be as large as these, and no more than twice as many.
    const double fitting = static_cast<double>(memory) / static_cast<double>(bytes) * static_cast<double>(end - at);
    together = static_cast<std::size_t>(std::clamp(fitting, 1.0, static_cast<double>(2 * together)));
    at = end;
  }
  into.finish();
  return values.size();
}

}  // namespace compatcheck::verification
