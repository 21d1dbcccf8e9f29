// The module `compatcheck._core`: the public headers as functions on plain values. Reports are JSON, as the command line writes
// it; python/compatcheck makes objects of them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <vector>

#include "compatcheck/check.h"
#include "compatcheck/check_onnx.h"
#include "compatcheck/convert.h"
#include "compatcheck/printable.h"
#include "compatcheck/reference.h"
#include "compatcheck/render.h"
#include "compatcheck/verify.h"
#include "compatcheck/words.h"
#include "options.h"
#include "work.h"

namespace nb = nanobind;

namespace compatcheck::python {
namespace {

// --- Exceptions ---

// Options have the names of their fields in Python, too: "CheckOptions::inputs" is `inputs`.
std::string in_python(std::string message) {
  constexpr std::string_view mark = "Options::";
  for (std::size_t at; (at = message.find(mark)) != message.npos;) {
    const std::size_t before = message.find_last_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", at);
    const std::size_t begin = before == message.npos ? 0 : before + 1;
    message.erase(begin, at + mark.size() - begin);
  }
  return message;
}

void raise(const char* name, const std::exception& error) {
  const nb::object type = nb::module_::import_("compatcheck.errors").attr(name);
  PyErr_SetString(type.ptr(), printable_lines(in_python(error.what())).c_str());  // UTF-8, whatever the file holds
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const UsageError& error) {
    raise("UsageError", error);
  } catch (const TableError& error) {
    raise("TableError", error);
  } catch (const ModelError& error) {
    raise("ModelError", error);
  } catch (const Error& error) {
    raise("InternalError", error);
  }
}

// --- Reports ---

nb::bytes json_of(const Report& report) {
  const std::string text = render(report, Format::json);
  return nb::bytes(text.data(), text.size());
}

std::vector<Report> reports_of(const std::vector<std::string_view>& texts) {
  std::vector<Report> reports;
  for (const std::string_view text : texts)
    for (Report& report : read_reports(text)) reports.push_back(std::move(report));
  return reports;
}

// A path as Python decodes it: any bytes.
nb::object path_of(const Model& model) {
  return nb::steal(PyUnicode_DecodeFSDefaultAndSize(model.path().data(), static_cast<Py_ssize_t>(model.path().size())));
}

std::string render_saved(const std::vector<nb::bytes>& texts, const std::string& format, const RenderOptions& options,
                         bool graph) {
  std::vector<std::string_view> views;
  for (const nb::bytes& text : texts) views.emplace_back(text.c_str(), text.size());
  const nb::gil_scoped_release release;
  std::vector<Report> reports = reports_of(views);
  if (!graph)
    for (Report& report : reports) report.graph.reset();
  return render(reports, spelled<Format>(format, "format '" + format + "'"), options);
}

nb::object written_model(const Report& report) {
  if (!report.written) return nb::none();
  const WrittenModel& written = *report.written;
  nb::dict made;
  made["opset"] = written.opset;
  made["nodes"] = written.nodes;
  made["initializers"] = written.initializers;
  made["bytes"] = written.bytes;
  made["dynamic_dimensions"] = nb::cast(written.dynamic_dimensions);
  made["functions"] = nb::cast(written.functions);
  nb::list files;
  for (const auto& [file, bytes] : written.external_files) {
    nb::dict each;
    each["file"] = file;
    each["bytes"] = bytes;
    files.append(each);
  }
  made["external_files"] = files;
  return made;
}

// --- Calls ---

Model load_file(const std::filesystem::path& file, LoadOptions options, nb::object progress) {
  Work work(std::move(progress));
  options.run = work.run_options();
  Model model = work.run([&] { return load(file, options); });
  return model;
}

Model load_bytes(const nb::bytes& bytes, const std::string& name, LoadOptions options, nb::object progress) {
  Work work(std::move(progress));
  options.run = work.run_options();
  return work.run([&, data = std::as_bytes(std::span(bytes.c_str(), bytes.size()))] { return Loader(options).load(data, name); });
}

[[noreturn]] void refuse_answer(nb::handle given) {
  const auto kind = nb::cast<std::string>(given.type().attr("__name__"));
  nb::raise_type_error("the read of a RangedFile returned %s instead of a list of bytes", kind.c_str());
}

// `read` is called by whichever thread reads, and goes with the last copy of the file, wherever that is.
RangedFile ranged_file(const std::string& name, std::uint64_t bytes, nb::object read) {
  const std::shared_ptr<nb::object> held(new nb::object(std::move(read)), [](nb::object* object) {
    const nb::gil_scoped_acquire acquire;
    delete object;
  });
  return {name, bytes, [held](std::span<const ByteRange> ranges) {
            const nb::gil_scoped_acquire acquire;
            nb::list requested;
            for (const ByteRange& range : ranges) requested.append(nb::make_tuple(range.offset, range.bytes));
            std::vector<std::string> answers;
            const nb::object given = (*held)(requested);
            if (!nb::isinstance<nb::list>(given) && !nb::isinstance<nb::tuple>(given)) refuse_answer(given);
            for (const nb::handle each : given) {
              nb::bytes piece;
              if (!nb::try_cast(each, piece)) refuse_answer(each);
              answers.emplace_back(piece.c_str(), piece.size());
            }
            return answers;
          }};
}

Model load_ranges(const RangedFile& file, LoadOptions options, nb::object progress) {
  Work work(std::move(progress));
  options.run = work.run_options();
  return work.run([&] { return Loader(options).load(file); });
}

// Throws for options that are wrong for any model.
void check_settings(const LoadOptions& load, const std::vector<int>& opsets, const CheckOptions& options) {
  check_targets(options.targets);
  const Loader loader(load);
  for (const int opset : opsets)
    if (opset < lowest_opset || opset > highest_opset)
      throw UsageError("opset " + std::to_string(opset) + " is not supported: it must be " + std::to_string(lowest_opset) +
                       " to " + std::to_string(highest_opset));
}

// Returns the lines of JSON that a batch writes for a model, whatever is wrong with it. Throws only what the file's reader
// throws.
nb::bytes reports_of_file(const RangedFile& file, const LoadOptions& load, const std::vector<int>& opsets, bool one_is_enough,
                          const CheckOptions& options) {
  std::string lines;
  {
    const nb::gil_scoped_release release;
    std::vector<Report> reports;
    try {
      reports = check(Loader(load).load(file), opsets, options);
      for (Report& report : reports) report.gate.one_opset_is_enough = one_is_enough && opsets.size() > 1;
    } catch (const Error& error) {
      reports = {failure_report(file.name(), error)};
      reports.front().error = with_flags(*reports.front().error);
    }
    lines = render(reports, Format::jsonl);
  }
  return nb::bytes(lines.data(), lines.size());
}

nb::bytes failure_line(const std::string& path, const std::string& message) {
  const std::string line = render(failure_report(path, ModelError(message)), Format::jsonl);
  return nb::bytes(line.data(), line.size());
}

std::vector<nb::bytes> check_model(const Model& model, const std::vector<int>& opsets, bool one_is_enough, CheckOptions options,
                                   nb::object progress) {
  Work work(std::move(progress));
  options.run = work.run_options();
  std::vector<nb::bytes> texts;
  for (Report& report : work.run([&] { return check(model, opsets, options); })) {
    report.gate.one_opset_is_enough = one_is_enough && opsets.size() > 1;
    texts.push_back(json_of(report));
  }
  return texts;
}

std::vector<nb::bytes> check_onnx_file(const std::filesystem::path& file, const std::vector<int>& opsets, bool one_is_enough,
                                       CheckOptions options, nb::object progress) {
  Work work(std::move(progress));
  options.run = work.run_options();
  std::vector<nb::bytes> texts;
  for (Report& report : work.run([&] { return check_onnx(file, opsets, options); })) {
    report.gate.one_opset_is_enough = one_is_enough && opsets.size() > 1;
    texts.push_back(json_of(report));
  }
  return texts;
}

// (report, what was written)
nb::tuple convert_onnx_file(const std::filesystem::path& file, const std::filesystem::path& out, std::optional<int> opset,
                            ConvertOptions options, nb::object progress) {
  Work work(std::move(progress));
  options.run = work.run_options();
  const Report report = work.run([&] { return convert_onnx(file, out, opset, options); });
  return nb::make_tuple(json_of(report), written_model(report));
}

// (report, what was written, the ONNX model where no file is named)
nb::tuple convert_model(const Model& model, const std::optional<std::filesystem::path>& file, ConvertOptions options,
                        nb::object progress) {
  Work work(std::move(progress));
  options.run = work.run_options();
  std::string onnx;
  const auto keep = [&](std::span<const std::byte> bytes) {
    onnx.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const Report report =
      work.run([&] { return file ? convert(model, *file, options) : convert(model, WriteBytes(keep), options); });
  const nb::object made = file || !report.written ? nb::object(nb::none()) : nb::object(nb::bytes(onnx.data(), onnx.size()));
  return nb::make_tuple(json_of(report), written_model(report), made);
}

Verification verify_model(const Model& model, const std::optional<std::filesystem::path>& onnx, VerifyOptions options,
                          nb::object progress) {
  Work work(std::move(progress));
  options.convert.run = work.run_options();
  return work.run([&] { return onnx ? verify(model, *onnx, options) : verify(model, options); });
}

Verification verify_onnx_files(const std::filesystem::path& reference, const std::filesystem::path& onnx, VerifyOptions options,
                               nb::object progress) {
  Work work(std::move(progress));
  options.convert.run = work.run_options();
  return work.run([&] { return verify_onnx(reference, onnx, options); });
}

}  // namespace

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);  // at exit, of what a caller still holds
  nb::register_exception_translator(translate);
  module.attr("version") = COMPATCHECK_VERSION;
  module.attr("torch_version") = COMPATCHECK_TORCH_VERSION;
  bind_options(module);

  nb::class_<Model>(module, "Model").def_prop_ro("path", &path_of);
  nb::class_<Verification>(module, "Verification").def("render", [](const Verification& verification, const std::string& format) {
    return render(verification, spelled<Format>(format, "format '" + format + "'"));
  });
  nb::class_<RenderOptions>(module, "RenderOptions")
      .def(nb::init<>())
      .def_rw("color", &RenderOptions::color)
      .def_rw("width", &RenderOptions::width)
      .def_rw("quiet", &RenderOptions::quiet)
      .def_rw("verbosity", &RenderOptions::verbosity)
      .def_rw("as_list", &RenderOptions::as_list)
      .def_rw("source_root", &RenderOptions::source_root);

  nb::class_<RangedFile>(module, "RangedFile")
      .def("__init__", [](RangedFile* file, const std::string& name, std::uint64_t bytes,
                          nb::object read) { new (file) RangedFile(ranged_file(name, bytes, std::move(read))); })
      .def_prop_ro("name", &RangedFile::name)
      .def_prop_ro("bytes", &RangedFile::bytes)
      .def_prop_ro("bytes_read", &RangedFile::bytes_read)
      .def_prop_ro("requests", &RangedFile::requests);

  module.def("format_of", nb::overload_cast<const std::filesystem::path&>(&format_of));
  module.def("identity_of", nb::overload_cast<const RangedFile&>(&identity_of), nb::call_guard<nb::gil_scoped_release>());
  module.def("load_ranges", &load_ranges, nb::arg(), nb::arg(), nb::arg().none());
  module.def("load_file", &load_file, nb::arg(), nb::arg(), nb::arg().none());
  module.def("load_bytes", &load_bytes, nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("check", &check_model, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("reports_of_file", &reports_of_file);
  module.def("failure_report", &failure_line);
  module.def("check_settings", &check_settings);
  module.def("settings_digest",
             [](const LoadOptions& load, const CheckOptions& options) { return settings_digest(load, options); });
  module.def("check_onnx", &check_onnx_file, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("convert_onnx", &convert_onnx_file, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none());
  module.def("convert", &convert_model, nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none());
  module.def("verify", &verify_model, nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none());
  module.def("verify_onnx", &verify_onnx_files, nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def("render", &render_saved);
  module.def("page_rows", [](const nb::bytes& lines) { return page_rows(read_reports({lines.c_str(), lines.size()})); });
  module.def("page_of_rows", [](const std::vector<std::string>& rows) { return page_of_rows(rows); });
  module.def("describe_operators", &describe_operators, nb::call_guard<nb::gil_scoped_release>());
  module.def("explain", &explain, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace compatcheck::python
