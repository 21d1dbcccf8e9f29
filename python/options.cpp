#include "options.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "compatcheck/check.h"
#include "compatcheck/convert.h"
#include "compatcheck/load.h"
#include "compatcheck/reference.h"
#include "compatcheck/verify.h"
#include "compatcheck/words.h"

namespace nb = nanobind;

namespace compatcheck::python {
namespace {

// An attribute of the same name; enumerators are set by their words.
template <class Options, class Bound, class Value>
void bind(nb::class_<Options>& type, const char* name, Value Bound::*member) {
  if constexpr (std::is_enum_v<Value>)
    type.def_prop_rw(
        name, [](const Options&) { return nb::none(); },
        [member, name](Options& options, const std::string& word) {
          options.*member = spelled<Value>(word, std::string(name) + " '" + word + "'");
        });
  else
    type.def_rw(name, member);
}

// The options that check and convert share.
template <class Options>
void bind_common(nb::class_<Options>& type) {
  bind(type, "inputs", &Options::inputs);
  bind(type, "inputs_from", &Options::inputs_from);
  bind(type, "dims", &Options::dims);
  bind(type, "custom_opsets", &Options::custom_opsets);
  bind(type, "inline_functions", &Options::inline_functions);
  bind(type, "export_type", &Options::export_type);
  bind(type, "state", &Options::state);
  bind(type, "complex_io", &Options::complex_io);
  bind(type, "quantized_io", &Options::quantized_io);
  bind(type, "prefer", &Options::prefer);
  bind(type, "targets", &Options::targets);
  bind(type, "fail_on", &Options::fail_on);
  bind(type, "timeout_seconds", &Options::timeout_seconds);
}

// Called by whichever thread verifies, and goes with the last copy of the options, wherever that is.
std::function<std::vector<std::uint8_t>(std::span<const std::uint8_t>, int)> answering(nb::object answer) {
  const std::shared_ptr<nb::object> held(new nb::object(std::move(answer)), [](nb::object* object) {
    const nb::gil_scoped_acquire acquire;
    delete object;
  });
  return [held](std::span<const std::uint8_t> request, int descriptor) {
    const nb::gil_scoped_acquire acquire;
    const auto reply = nb::cast<nb::bytes>((*held)(nb::bytes(request.data(), request.size()), descriptor));
    const auto* data = reinterpret_cast<const std::uint8_t*>(reply.c_str());
    return std::vector<std::uint8_t>(data, data + reply.size());
  };
}

}  // namespace

void bind_options(nb::module_& module) {
  auto load = nb::class_<LoadOptions>(module, "LoadOptions").def(nb::init<>());
  bind(load, "method", &LoadOptions::method);
  bind(load, "model", &LoadOptions::model);
  bind(load, "mappings", &LoadOptions::mappings);
  bind(load, "plugins", &LoadOptions::plugins);
  bind(load, "frontend", &LoadOptions::frontend);
  bind(load, "gradients", &LoadOptions::gradients);
  bind(load, "op_libraries", &LoadOptions::op_libraries);
  bind(load, "libtorch", &LoadOptions::libtorch);
  bind(load, "op_modules", &LoadOptions::op_modules);
  bind(load, "helper", &LoadOptions::helper);
  bind(load, "python", &LoadOptions::python);
  load.def_prop_rw(
      "run_in_process", [](const LoadOptions&) { return nb::none(); },
      [](LoadOptions& options, nb::object answer) { options.run_in_process = answering(std::move(answer)); });
  bind(load, "timeout_seconds", &LoadOptions::timeout_seconds);
  bind(load, "memory_mb", &LoadOptions::memory_mb);

  auto check = nb::class_<CheckOptions>(module, "CheckOptions").def(nb::init<>());
  bind_common(check);
  bind(check, "max_missing", &CheckOptions::max_missing);
  bind(check, "exit_zero", &CheckOptions::exit_zero);
  bind(check, "hash", &CheckOptions::hash);
  bind(check, "graph", &CheckOptions::graph);

  auto convert = nb::class_<ConvertOptions>(module, "ConvertOptions").def(nb::init<>());
  bind_common(convert);
  bind(convert, "opset", &ConvertOptions::opset);
  bind(convert, "input_names", &ConvertOptions::input_names);
  bind(convert, "output_names", &ConvertOptions::output_names);
  bind(convert, "external_data", &ConvertOptions::external_data);
  bind(convert, "keep_initializers_as_inputs", &ConvertOptions::keep_initializers_as_inputs);
  bind(convert, "fold", &ConvertOptions::fold);
  bind(convert, "optimize", &ConvertOptions::optimize);

  // Its `fail_on` is in place of that of the conversion, which has one of its own.
  auto verify = nb::class_<VerifyOptions>(module, "VerifyOptions").def(nb::init<>());
  verify.def_rw("convert", &VerifyOptions::convert);
  bind(verify, "ort_library", &VerifyOptions::ort_library);
  bind(verify, "ort_custom_ops", &VerifyOptions::ort_custom_ops);
  bind(verify, "fail_on", &VerifyOptions::fail_on);
  bind(verify, "rtol", &VerifyOptions::rtol);
  bind(verify, "atol", &VerifyOptions::atol);
  bind(verify, "least_cosine", &VerifyOptions::least_cosine);
  bind(verify, "seed", &VerifyOptions::seed);
  bind(verify, "runs", &VerifyOptions::runs);
  bind(verify, "bisect", &VerifyOptions::bisect);
  bind(verify, "repro", &VerifyOptions::repro);
  bind(verify, "dump", &VerifyOptions::dump);
  bind(verify, "memory", &VerifyOptions::memory);

  auto reference = nb::class_<ReferenceOptions>(module, "ReferenceOptions").def(nb::init<>());
  bind(reference, "mappings", &ReferenceOptions::mappings);
  bind(reference, "plugins", &ReferenceOptions::plugins);
  bind(reference, "op_modules", &ReferenceOptions::op_modules);
  bind(reference, "python", &ReferenceOptions::python);
  bind(reference, "model", &ReferenceOptions::model);
  bind(reference, "op_libraries", &ReferenceOptions::op_libraries);
  bind(reference, "libtorch", &ReferenceOptions::libtorch);
  bind(reference, "opset", &ReferenceOptions::opset);
  bind(reference, "format", &ReferenceOptions::format);
  bind(reference, "width", &ReferenceOptions::width);
  bind(reference, "scaffold", &ReferenceOptions::scaffold);
}

}  // namespace compatcheck::python
