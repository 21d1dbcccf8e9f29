#include "verification/runtime.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <span>
#include <utility>

#include "compatcheck/error.h"
#include "ir/number_text.h"
#include "onnx/model.h"
#include "process/log.h"
#include "process/spell_count.h"
#include "verification/ort_api.h"
#include "verification/runtime_library.h"

namespace compatcheck::verification {
namespace {

namespace fs = std::filesystem;

using ort::Api;
using ort::Held;

// The runtime's messages are of several lines, and most end with an empty one.
std::string in_one_line(const std::string& message) {
  std::string line;
  for (const char letter : message) {
    if (letter != '\n')
      line += letter;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

void check(Api api, ort::Status* status) {
  if (!status) return;
  const std::string message = in_one_line(ort::error_message.call(api, status));
  ort::release_status.call(api, status);
  throw ModelError("ONNX Runtime: " + message);
}

}  // namespace

struct Runtime::State {
  fs::path library;
  RunBounds bounds;
  std::vector<fs::path> custom_ops;
  std::string version;
  Api api = nullptr;
  ort::Env* env = nullptr;  // these three live as long as the process: the library can't be unloaded safely
  ort::MemoryInfo* memory = nullptr;
  ort::Allocator* allocator = nullptr;

  // The runtime keeps the libraries open.
  void register_custom_ops(ort::SessionOptions* options) const {
    for (const fs::path& file : custom_ops) try {
        check(api, ort::register_custom_ops.call(api, options, file.c_str()));
      } catch (const ModelError& error) {
        throw UsageError("VerifyOptions::ort_custom_ops " + file.string() + ": " + error.what());
      }
  }
};

namespace {

// "1.14.1": 14
int version_number(const std::string& version) {
  const auto dot = version.find('.');
  return dot == version.npos ? 0 : std::atoi(version.c_str() + dot + 1);
}

}  // namespace

Runtime::Runtime(const fs::path& library, const std::vector<fs::path>& custom_ops, RunBounds bounds) {
  auto state = std::make_shared<State>();
  state->bounds = std::move(bounds);
  state->library = find_library(library);
  void* handle = ::dlopen(state->library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw UsageError("ONNX Runtime can't be loaded: " + std::string(::dlerror()));
  const auto get_base = reinterpret_cast<const ort::ApiBase* (*)()>(::dlsym(handle, "OrtGetApiBase"));
  if (!get_base) throw UsageError(state->library.string() + " is not ONNX Runtime: it has no OrtGetApiBase");
  state->version = get_base()->version();
  state->api = get_base()->get_api(ort::api_version);
  if (!state->api)
    throw UsageError("ONNX Runtime " + state->version + " in " + state->library.string() +
                     " is too old: 1.10 or later is needed");
  check(state->api, ort::create_env.call(state->api, ort::LogLevel::fatal, "compatcheck", &state->env));
  check(state->api, ort::disable_telemetry.call(state->api, state->env));
  check(state->api, ort::create_cpu_memory.call(state->api, 1, 0, &state->memory));
  check(state->api, ort::default_allocator.call(state->api, &state->allocator));
  for (const fs::path& file : custom_ops) {
    std::error_code error;
    state->custom_ops.push_back(fs::absolute(file, error));
    if (!fs::is_regular_file(file, error))
      throw UsageError("VerifyOptions::ort_custom_ops " + file.string() + ": there is no such file");
  }
  logging::info("ONNX Runtime {}, {}", state->version, state->library.string());
  state_ = std::move(state);
  if (custom_ops.empty()) return;
  if (version_number(state_->version) < 14)
    throw UsageError("VerifyOptions::ort_custom_ops needs ONNX Runtime 1.14 or later, and " + state_->library.string() + " is " +
                     state_->version);
  Held<ort::SessionOptions> tried(state_->api, ort::release_options);
  check(state_->api, ort::create_session_options.call(state_->api, tried.out()));
  state_->register_custom_ops(tried.get());
}

const std::string& Runtime::version() const { return state_->version; }
const fs::path& Runtime::library() const { return state_->library; }

struct Session::State {
  std::shared_ptr<const Runtime::State> runtime;
  Held<ort::Session> session;
  std::vector<std::string> inputs, outputs;
  std::vector<int> elements;  // element types of the inputs (TensorProto.DataType); 0: no tensor

  explicit State(std::shared_ptr<const Runtime::State> given)
      : runtime(std::move(given)), session(runtime->api, ort::release_session) {}

  Api api() const { return runtime->api; }
  void ok(ort::Status* status) const { check(api(), status); }
  Held<ort::Value> hold() const { return {api(), ort::release_value}; }

  std::vector<std::string> names(
      const ort::Function<ort::Status*(const ort::Session*, std::size_t*)>& count_of,
      const ort::Function<ort::Status*(const ort::Session*, std::size_t, ort::Allocator*, char**)>& name_of) const {
    std::size_t count = 0;
    ok(count_of.call(api(), session.get(), &count));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      ok(name_of.call(api(), session.get(), i, runtime->allocator, &name));
      names.emplace_back(name);
      ok(ort::free_in.call(api(), runtime->allocator, name));
    }
    return names;
  }

  int input_element(std::size_t index) const {
    Held<ort::TypeInfo> type(api(), ort::release_type);
    ok(ort::input_type.call(api(), session.get(), index, type.out()));
    ort::ValueKind kind = ort::ValueKind::unknown;
    ok(ort::kind_of_type.call(api(), type.get(), &kind));
    if (kind != ort::ValueKind::tensor) return 0;
    const ort::TensorInfo* tensor = nullptr;  // the type's own
    ok(ort::tensor_of_type.call(api(), type.get(), &tensor));
    int element = 0;
    ok(ort::element_type.call(api(), tensor, &element));
    return element;
  }

  Held<ort::Value> take_input(std::size_t index, const ir::Constant& value, std::vector<onnx::TensorData>& numbers) const;
  Held<ort::Value> take(const ir::Constant& value) const;
  Held<ort::Value> take_tensor(ir::DType dtype, std::span<const std::int64_t> dims, std::span<const std::uint8_t> bytes) const;
  ir::Constant give(const ort::Value* value) const;
  ir::Constant give_tensor(const ort::Value* value) const;
};

namespace {

constexpr std::uint8_t nothing = 0;  // address for tensors without elements

// One, of rank 0, or a list of them.
struct PythonNumbers {
  std::vector<std::int64_t> dims, integers;
  std::vector<double> floats;
  bool whole = true;

  bool add(const ir::Constant& value) {
    const auto* integer = value.get<std::int64_t>();
    const auto* floating = value.get<double>();
    const auto* boolean = value.get<bool>();
    if (!integer && !floating && !boolean) return false;
    whole = whole && !floating;
    integers.push_back(integer ? *integer : boolean ? *boolean : 0);
    floats.push_back(floating ? *floating : static_cast<double>(integers.back()));
    return true;
  }
};

std::optional<PythonNumbers> numbers_of(const ir::Constant& value) {
  PythonNumbers numbers;
  const auto* list = value.get<ir::ListConstant>();
  if (!list) return numbers.add(value) ? std::optional(std::move(numbers)) : std::nullopt;
  numbers.dims = {static_cast<std::int64_t>(list->items.size())};
  for (const ir::Constant& item : list->items)
    if (!numbers.add(item)) return std::nullopt;
  return numbers;
}

}  // namespace

// The runtime reads the bytes where they are.
Held<ort::Value> Session::State::take_tensor(ir::DType dtype, std::span<const std::int64_t> dims,
                                             std::span<const std::uint8_t> bytes) const {
  const int element = onnx::data_type(dtype);
  if (element == 0) throw ModelError("ONNX has no tensors of dtype " + std::string(ir::name(dtype)));
  Held<ort::Value> made = hold();
  void* data = const_cast<std::uint8_t*>(bytes.empty() ? &nothing : bytes.data());
  ok(ort::create_tensor.call(api(), runtime->memory, data, bytes.size(), dims.data(), dims.size(), element, made.out()));
  return made;
}

Held<ort::Value> Session::State::take(const ir::Constant& value) const {
  if (const auto* view = value.get<ir::TensorView>()) {
    if (!view->contiguous() || view->offset != 0 || !view->storage || view->storage->data.size() < view->storage->bytes)
      throw InternalError("a tensor is run that doesn't carry its elements");
    const std::size_t bytes = static_cast<std::size_t>(view->elements()) * ir::element_bytes(view->dtype);
    return take_tensor(view->dtype, view->sizes, std::span(view->storage->data).first(bytes));
  }
  if (const auto* list = value.get<ir::ListConstant>()) {
    std::vector<Held<ort::Value>> members;
    std::vector<const ort::Value*> pointers;
    for (const ir::Constant& item : list->items) {
      members.push_back(take(item));
      pointers.push_back(members.back().get());
    }
    Held<ort::Value> made = hold();
    ok(ort::create_container.call(api(), pointers.data(), pointers.size(), ort::ValueKind::sequence, made.out()));
    return made;  // a sequence shares its members' memory
  }
  throw ModelError("an input is neither a tensor, a number nor a list of tensors, and ONNX has no other inputs");
}

// Numbers become a tensor of the dtype that the input has; `numbers` keeps its bytes.
Held<ort::Value> Session::State::take_input(std::size_t index, const ir::Constant& value,
                                            std::vector<onnx::TensorData>& numbers) const {
  const auto dtype = onnx::dtype_from_data_type(elements[index]);
  const auto all = dtype ? numbers_of(value) : std::nullopt;
  if (!all) return take(value);
  numbers.push_back(all->whole ? onnx::make_tensor(*dtype, all->dims, all->integers)
                               : onnx::make_tensor(*dtype, all->dims, all->floats));
  return take_tensor(*dtype, all->dims, numbers.back().bytes);
}

ir::Constant Session::State::give_tensor(const ort::Value* value) const {
  Held<ort::TensorInfo> info(api(), ort::release_tensor_info);
  ok(ort::tensor_info.call(api(), value, info.out()));
  int element = 0;
  std::size_t rank = 0;
  ok(ort::element_type.call(api(), info.get(), &element));
  ok(ort::rank.call(api(), info.get(), &rank));
  const auto dtype = onnx::dtype_from_data_type(element);
  if (!dtype)
    throw ModelError("an output is a tensor of ONNX's element type " + std::to_string(element) + ", which PyTorch lacks");
  ir::TensorView view{.dtype = *dtype,
                      .sizes = std::vector<std::int64_t>(rank),
                      .strides = std::vector<std::int64_t>(rank),
                      .storage = nullptr,
                      .quantizer = nullptr};
  ok(ort::dims.call(api(), info.get(), view.sizes.data(), rank));
  std::int64_t stride = 1;
  for (std::size_t i = rank; i-- > 0;) view.strides[i] = std::exchange(stride, stride * std::max<std::int64_t>(view.sizes[i], 1));
  auto storage = std::make_shared<ir::Storage>();
  storage->bytes = static_cast<std::uint64_t>(view.elements()) * ir::element_bytes(*dtype);
  if (storage->bytes > 0) {
    void* data = nullptr;
    ok(ort::tensor_data.call(api(), const_cast<ort::Value*>(value), &data));
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    storage->data.assign(bytes, bytes + storage->bytes);
  }
  view.storage = std::move(storage);
  return {std::move(view)};
}

ir::Constant Session::State::give(const ort::Value* value) const {
  int present = 1;
  ok(ort::has_value.call(api(), value, &present));
  if (!present) return {};
  ort::ValueKind kind = ort::ValueKind::unknown;
  ok(ort::value_kind.call(api(), value, &kind));
  if (kind == ort::ValueKind::tensor) return give_tensor(value);
  if (kind != ort::ValueKind::sequence) throw ModelError("an output is neither a tensor nor a sequence");
  std::size_t count = 0;
  ok(ort::member_count.call(api(), value, &count));
  ir::ListConstant list;
  for (std::size_t i = 0; i < count; ++i) {
    Held<ort::Value> member = hold();
    ok(ort::member.call(api(), value, static_cast<int>(i), runtime->allocator, member.out()));
    list.items.push_back(give(member.get()));
  }
  return {std::move(list)};
}

template <class Create>
Session Runtime::make(const SessionOptions& options, const Create& create) const {
  auto made = std::make_unique<Session::State>(state_);
  const Api api = state_->api;
  Held<ort::SessionOptions> given(api, ort::release_options);
  made->ok(ort::create_session_options.call(api, given.out()));
  made->ok(ort::set_log_level.call(api, given.get(), ort::LogLevel::fatal));
  made->ok(ort::set_optimization.call(api, given.get(),
                                      options.optimize == Optimize::yes ? ort::Optimization::all : ort::Optimization::none));
  made->ok(ort::set_threads_in_operators.call(api, given.get(), options.threads));
  made->ok(ort::set_threads_between_operators.call(api, given.get(), 1));
  state_->register_custom_ops(given.get());
  made->ok(create(given.get(), made->session.out()));
  ::malloc_trim(0);  // weights that the session packed in another form are freed, and would stay in this process
  made->inputs = made->names(ort::input_count, ort::input_name);
  made->outputs = made->names(ort::output_count, ort::output_name);
  for (std::size_t i = 0; i < made->inputs.size(); ++i) made->elements.push_back(made->input_element(i));
  return Session(std::move(made));
}

Session Runtime::open(const fs::path& onnx, const SessionOptions& options) const {
  return make(options, [&](const ort::SessionOptions* given, ort::Session** made) {
    return ort::create_session.call(state_->api, state_->env, onnx.c_str(), given, made);
  });
}

Session Runtime::open_bytes(std::string_view model, const SessionOptions& options) const {
  return make(options, [&](const ort::SessionOptions* given, ort::Session** made) {
    return ort::create_session_of_bytes.call(state_->api, state_->env, model.data(), model.size(), given, made);
  });
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<std::string>& Session::inputs() const { return state_->inputs; }
const std::vector<std::string>& Session::outputs() const { return state_->outputs; }

ir::Constants Session::run(const ir::Constants& values) const {
  const State& state = *state_;
  if (values.size() != state.inputs.size())
    throw InternalError("the ONNX model takes " + spell_count(state.inputs.size(), "input") + ", not " +
                        std::to_string(values.size()));
  std::vector<Held<ort::Value>> given, got;
  std::vector<const ort::Value*> inputs;
  std::vector<const char*> input_names, output_names;
  std::vector<onnx::TensorData> numbers;
  numbers.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    // The C API can't make an optional without a value: models that we write take None as an input that isn't there.
    if (values[i].is_none()) throw ModelError("input '" + state.inputs[i] + "' is None, which ONNX Runtime can't be given");
    given.push_back(state.take_input(i, values[i], numbers));
    inputs.push_back(given.back().get());
    input_names.push_back(state.inputs[i].c_str());
  }
  for (const std::string& name : state.outputs) output_names.push_back(name.c_str());
  std::vector<ort::Value*> outputs(state.outputs.size(), nullptr);
  Held<ort::RunOptions> options(state.api(), ort::release_run_options);
  state.ok(ort::create_run_options.call(state.api(), options.out()));
  ort::Status* status = nullptr;
  const RunBounds& bounds = state.runtime->bounds;
  const auto run = [&] {
    status = ort::run.call(state.api(), state.session.get(), options.get(), input_names.data(), inputs.data(), inputs.size(),
                           output_names.data(), output_names.size(), outputs.data());
  };
  const auto stop = [&] {
    if (ort::Status* unable = ort::terminate.call(state.api(), options.get())) ort::release_status.call(state.api(), unable);
  };
  const Ended how = run_within(bounds, run, stop);
  for (ort::Value* output : outputs) {
    got.push_back(state.hold());
    *got.back().out() = output;
  }
  if (status && (how.late || how.failed)) ort::release_status.call(state.api(), std::exchange(status, nullptr));
  if (how.failed) std::rethrow_exception(how.failed);
  if (how.late)
    throw ModelError("ONNX Runtime was stopped after " + ir::plainly(bounds.seconds) +
                     " s without a result (LoadOptions::timeout_seconds gives it more): a loop of the ONNX model may never end");
  state.ok(status);
  ir::Constants results;
  for (const auto& output : got) results.push_back(state.give(output.get()));
  return results;
}

}  // namespace compatcheck::verification
