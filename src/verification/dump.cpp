#include "verification/dump.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>

#include "compatcheck/error.h"
#include "ir/number_text.h"
#include "onnx_file/elements.h"
#include "process/unfinished.h"
#include "verification/compare.h"
#include "verification/members.h"
#include "verification/write_file.h"

namespace compatcheck::verification {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t first_dumped = 8;  // values written at a time before any of their sizes is known
constexpr const char* table_file = "values.tsv";
constexpr const char* table_head = "file\tvalue\tnode\tdtype\tshape\tmin\tmax\tmean\tstd\tzeros\tnan\tinf";

std::string text_of(const TensorStatistics& statistics) {
  const auto number = [](const std::optional<double>& value) { return value ? ir::plainly(*value) : std::string("-"); };
  return number(statistics.min) + "\t" + number(statistics.max) + "\t" + number(statistics.mean) + "\t" + number(statistics.std) +
         "\t" + std::to_string(statistics.zeros) + "\t" + std::to_string(statistics.nan) + "\t" + std::to_string(statistics.inf);
}

// Source: numpy's format of .npy files, version 1.0.
const char* npy_dtype(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::f64: return "<f8";
    case ir::DType::f32:
    case ir::DType::bf16: return "<f4";
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

// "0007_encoder_Relu.npy": what this writes, and nothing that lies elsewhere.
bool is_ours(const std::string& file) {
  const auto line = file.find('_');
  return line != file.npos && line >= 4 && file.find_first_not_of("0123456789") == line && file.ends_with(".npy") &&
         file.find('/') == file.npos;
}

class Folder {
 public:
  Folder(const fs::path& path, const ir::Watch& watch) : path_(path), watch_(watch) {
    std::error_code error;
    existed_ = fs::exists(path, error);
    if (!existed_) unfinished_.emplace_back(path);
    fs::create_directories(path, error);
    if (error) throw UsageError(path.string() + ": can't be made: " + error.message());
    remove_older();
    note(table_file);
    table_.open(path / table_file, std::ios::binary);
    table_ << table_head << "\n";
    must_be_written();
  }

  void add(const std::string& name, const std::string& node, const ir::Constant& value) {
    if (const auto* view = value.get<ir::TensorView>()) return add(name, node, *view);
    if (const auto* list = value.get<ir::ListConstant>())
      for (std::size_t i = 0; i < list->items.size(); ++i) add(name + "." + std::to_string(i), node, list->items[i]);
  }

 private:
  // The values of a dump before this one: files that its table lists.
  void remove_older() const {
    std::ifstream table(path_ / table_file);
    std::string line;
    if (!std::getline(table, line) || line != table_head) return;
    std::error_code ignored;
    while (std::getline(table, line))
      if (const std::string file = line.substr(0, line.find('\t')); is_ours(file)) fs::remove(path_ / file, ignored);
  }

  void add(const std::string& name, const std::string& node, const ir::TensorView& view) {
    const char* dtype = npy_dtype(view.dtype);
    if (!dtype) return;
    char number[16];
    std::snprintf(number, sizeof number, "%04zu_", count_++);
    const std::string file = number + plain(name) + ".npy";
    const auto& data = view.storage->data;
    std::string widened;
    if (view.dtype == ir::DType::bf16)
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(view.elements()); ++i) {
        const auto single = static_cast<float>(element_of(view, i));
        widened.append(reinterpret_cast<const char*>(&single), sizeof single);
      }
    const std::string_view bytes = view.dtype == ir::DType::bf16
                                       ? std::string_view(widened)
                                       : std::string_view(reinterpret_cast<const char*>(data.data()), data.size());
    note(file);
    write_file(path_ / file, {npy_head(dtype, view.sizes), bytes});
    std::string shape;
    for (const std::int64_t size : view.sizes) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    const auto statistics = onnx_file::statistics_of(in_pairs(view), nullptr, watch_);
    table_ << file << "\t" << name << "\t" << node << "\t" << ir::name(view.dtype) << "\t[" << shape << "]\t"
           << text_of(statistics.value_or(TensorStatistics{})) << std::endl;
    must_be_written();
  }

  // In a folder that was there only our own files go.
  void note(const std::string& file) {
    if (existed_) unfinished_.emplace_back(path_ / file);
  }

  void must_be_written() const {
    if (!table_) throw UsageError((path_ / table_file).string() + ": can't write: " + std::strerror(errno));
  }

  fs::path path_;
  const ir::Watch& watch_;
  bool existed_ = false;
  std::deque<process::UnfinishedPath> unfinished_;  // files and folders to remove on a signal
  std::ofstream table_;  // written line by line, so that it is complete for the saved values even if the model fails
  std::size_t count_ = 0;
};

std::uint64_t bytes_of(const ir::Constant& value) {
  if (const auto* view = value.get<ir::TensorView>()) return view->storage->bytes;
  std::uint64_t bytes = 0;
  if (const auto* list = value.get<ir::ListConstant>())
    for (const ir::Constant& item : list->items) bytes += bytes_of(item);
  return bytes;
}

// Values that nodes behind read, kept for them.
class HeldValues {
 public:
  HeldValues(const NamedValues& inputs, std::uint64_t most_bytes) : inputs_(inputs), most_bytes_(most_bytes) {}

  OnnxGraph::Request request(std::vector<std::string> requested) const {
    return {std::move(requested), names_, dtypes_, sequences_, {}};
  }

  const ir::Constant& value(const std::string& name) const {
    if (const auto found = values_.find(name); found != values_.end()) return found->second.value;
    const auto input = std::ranges::find(inputs_, name, &NamedValues::value_type::first);
    if (input == inputs_.end()) throw ModelError("the ONNX model's input " + name + " has no value");
    return input->second;
  }

  void add(const MainValue& made, ir::Constant value) {
    const auto* list = value.get<ir::ListConstant>();
    if (list && !list->items.empty()) sequences_.insert(made.name);
    const ir::Constant& one = list && !list->items.empty() ? list->items.front() : value;
    const auto* tensor = one.get<ir::TensorView>();
    if (!tensor) return;  // an empty list, or no value: the runtime's C API can't make these, so they are computed again
    dtypes_[made.name] = tensor->dtype;
    names_.insert(made.name);
    bytes_ += bytes_of(value);
    values_.emplace(made.name, Entry{std::move(value), made.last_read});
  }

  // Drops values that nothing reads from this number on, and the largest ones where memory runs short: those are computed again.
  void let_go(std::size_t next) {
    for (auto entry = values_.begin(); entry != values_.end();) {
      const auto at = entry++;
      if (at->second.last_read < next) drop(at);
    }
    while (bytes_ > most_bytes_)
      drop(std::ranges::max_element(values_, {}, [](const auto& entry) { return bytes_of(entry.second.value); }));
  }

 private:
  struct Entry {
    ir::Constant value;
    std::size_t last_read = 0;
  };

  void drop(std::map<std::string, Entry>::iterator entry) {
    bytes_ -= bytes_of(entry->second.value);
    names_.erase(entry->first);
    dtypes_.erase(entry->first);
    sequences_.erase(entry->first);
    values_.erase(entry);
  }

  const NamedValues& inputs_;
  std::uint64_t most_bytes_, bytes_ = 0;
  std::map<std::string, Entry> values_;
  std::set<std::string> names_, sequences_;
  std::map<std::string, ir::DType> dtypes_;
};

}  // namespace

std::uint64_t dump(const fs::path& folder, const OnnxGraph& onnx, const Runtime& runtime, const NamedValues& inputs,
                   std::uint64_t memory, const ir::Watch& watch) {
  Folder into(folder, watch);
  HeldValues held(inputs, memory / 2);
  const std::vector<MainValue> values = onnx.main_values();
  std::size_t together = first_dumped;
  for (std::size_t at = 0; at < values.size();) {
    watch.look();
    const std::size_t end = std::min(values.size(), at + together);
    std::vector<std::string> requested;
    for (std::size_t i = at; i < end; ++i) requested.push_back(values[i].name);
    const auto part = onnx.segment(held.request(std::move(requested)));
    if (!part) throw ModelError("a part of the ONNX model can't run on its own");
    ir::Constants results;
    {
      const Session session = runtime.open_bytes(part->bytes);
      ir::Constants given;
      for (const std::string& name : session.inputs()) given.push_back(held.value(name));
      results = session.run(given);
    }
    std::uint64_t bytes = 1;
    for (std::size_t i = at; i < end; ++i) {
      ir::Constant& result = results[i - at];
      into.add(values[i].name, onnx.maker_of(values[i].name), result);
      bytes += bytes_of(result);
      if (values[i].last_read >= end) held.add(values[i], std::move(result));
    }
    held.let_go(end);
    // Assumes that the next values are as large as these, and at most doubles their number.
    const double fitting = static_cast<double>(memory / 2) / static_cast<double>(bytes) * static_cast<double>(end - at);
    together = static_cast<std::size_t>(std::clamp(fitting, 1.0, static_cast<double>(2 * together)));
    at = end;
  }
  return values.size();
}

}  // namespace compatcheck::verification
