#include "frontend/load.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "compatcheck/error.h"
#include "files/naming.h"
#include "files/sha256.h"
#include "frontend/foreign.h"
#include "frontend/helper.h"
#include "frontend/native/program_reader.h"
#include "frontend/parameters.h"
#include "frontend/pt2/exported.h"
#include "frontend/snapshot.h"
#include "frontend/text/graph_text.h"

namespace compatcheck::frontend {
namespace {

constexpr std::uint64_t longest_text = 64 << 20;  // some 500,000 nodes

template <class Expected>
Expected expect(protocol::Reply reply) {
  if (auto* expected = std::get_if<Expected>(&reply)) return std::move(*expected);
  throw InternalError("the TorchScript helper program answered another question");
}

std::string crash_text(const HelperCrash& crash) { return "PyTorch crashes (" + crash.how + ")"; }

Loaded load_text(const files::InputFile& file, const std::string& display_name) {
  if (file.size() > longest_text) throw ModelError(display_name + ": is too long for a graph as text");
  const auto bytes = file.read(0, file.size());
  Loaded loaded{.format = Format::graph_text,
                .file_bytes = file.size(),
                .identity = files::sha256_of(bytes),
                .parameters = {},
                .content = {},
                .file = {}};
  ir::Graph graph = text::read_graph(bytes, display_name);  // its messages name the place
  loaded.parameters = count_parameters(graph);
  loaded.content = std::move(graph);
  return loaded;
}

}  // namespace

struct Frontend::State {
  explicit State(LoadOptions given) : options(std::move(given)), helper(options) {}

  protocol::Model model(const std::filesystem::path& path, std::string display_name) const {
    return {std::filesystem::absolute(path).string(), std::move(display_name), op_libraries(), options.schemas,
            options.gradients};
  }

  // Libraries have absolute paths; the helper in Python also imports modules.
  std::vector<std::string> op_libraries() const {
    std::vector<std::string> paths;
    for (const auto& library : options.op_libraries) paths.push_back(std::filesystem::absolute(library).string());
    paths.insert(paths.end(), options.op_modules.begin(), options.op_modules.end());
    return paths;
  }

  Loaded load(const files::InputFile& file, const std::filesystem::path& path, const std::string& display_name, bool attach);
  ir::Program load_torchscript(const files::InputFile& file, const files::ZipDirectory& directory,
                               const std::filesystem::path& path, const std::string& display_name, bool attach);
  Loaded load_exported(const files::InputFile& file, const files::ZipDirectory& directory);
  std::vector<std::string> library_schemas();

  std::vector<Run> run(const files::InputFile& file, const std::vector<ir::Constants>& calls, protocol::RunRequest request);

  LoadOptions options;
  Helper helper;
  bool timed_out = false;
};

std::vector<Frontend::Run> Frontend::State::run(const files::InputFile& file, const std::vector<ir::Constants>& calls,
                                                protocol::RunRequest request) {
  ir::ListConstant arguments;
  for (const ir::Constants& call : calls) arguments.items.push_back({ir::TupleConstant{nullptr, call}});
  request.arguments = encode(ir::Constant{std::move(arguments)});
  protocol::RunReply reply;
  timed_out = false;
  try {
    reply = expect<protocol::RunReply>(helper.roundtrip(request, &file, true));
  } catch (const HelperTimeout&) {
    timed_out = true;
    throw;
  } catch (const HelperCrash& crash) {  // kernels that don't check sizes
    return std::vector<Run>(calls.size(), Run{std::nullopt, crash_text(crash), true, {}, {}});
  }
  ir::Constant results = decode_constant(reply.results);
  auto* list = results.get<ir::ListConstant>();
  if (!list || list->items.size() != calls.size()) throw ModelError("the loader's answer is damaged: other results than calls");
  std::vector<Run> runs;
  for (ir::Constant& item : list->items) {
    if (auto* held = item.get<ir::TupleConstant>(); held && held->items.size() == 1)
      runs.push_back({std::move(held->items.front()), {}, false, {}, {}});
    else if (const auto* failure = item.get<std::string>())
      runs.push_back({std::nullopt, *failure, false, {}, {}});
    else
      throw ModelError("the loader's answer is damaged: a result is unknown");
  }
  const ir::Constant states = decode_constant(reply.state);
  const auto* held = states.get<ir::ListConstant>();
  if (!held || held->items.size() != runs.size() + 1) throw ModelError("the loader's answer is damaged: other states than calls");
  const auto state = [&](std::size_t place) {
    const auto* values = held->items[place].get<ir::TupleConstant>();
    if (!values || values->items.size() != request.state.size())
      throw ModelError("the loader's answer is damaged: it has other attributes");
    return values->items;
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].before = state(i);
    runs[i].after = state(i + 1);
  }
  return runs;
}

Loaded Frontend::State::load(const files::InputFile& file, const std::filesystem::path& path, const std::string& display_name,
                             bool attach) {
  const Recognition recognition = files::naming(display_name, [&] { return recognise(file, path); });
  if (recognition.format == Format::graph_text) return load_text(file, display_name);
  return files::naming(display_name, [&] {
    if (recognition.format == Format::exported_program || recognition.format == Format::torchscript)
      fetch_small_records(file, *recognition.directory);
    if (recognition.format == Format::exported_program) return load_exported(file, *recognition.directory);
    if (recognition.format != Format::torchscript) throw ModelError(why_not(recognition));
    ir::Program program = load_torchscript(file, *recognition.directory, path, display_name, attach);
    Loaded loaded{.format = Format::torchscript,
                  .file_bytes = file.size(),
                  .identity = identity(*recognition.directory),
                  .parameters = count_parameters(program),
                  .content = {},
                  .file = {}};
    loaded.content = std::move(program);
    return loaded;
  });
}

// libtorch may read what our reader refuses. Where it doesn't, or isn't there, our reason is the better one.
ir::Program Frontend::State::load_torchscript(const files::InputFile& file, const files::ZipDirectory& directory,
                                              const std::filesystem::path& path, const std::string& display_name, bool attach) {
  const auto by_libtorch = [&] {
    const protocol::LoadRequest request{model(path, display_name)};
    if (file.is_ranged()) throw ModelError("is read by ranges; libtorch needs a file on this machine");
    return decode_program(expect<protocol::LoadReply>(helper.roundtrip(request, &file, attach)).program);
  };
  if (options.frontend == FrontendKind::libtorch) return by_libtorch();
  const auto begun = std::chrono::steady_clock::now();
  try {
    return native::read_program(file, directory, {options.schemas, library_schemas()},
                                {options.cancelled, options.timeout_seconds});
  } catch (const ModelError& refusal) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun;
    if (options.frontend == FrontendKind::native || elapsed.count() >= options.timeout_seconds) throw;
    try {
      ir::Program program = by_libtorch();
      program.notes.push_back(
          {ir::LoadNote::Kind::read_by_libtorch,
           {},
           "libtorch read the file, because compatcheck's own reader refuses it: " + std::string(refusal.what())});
      return program;
    } catch (const ModelError&) {
    } catch (const UsageError&) {
    }
    throw;
  }
}

// Uses libtorch only for the schemas of operator libraries.
Loaded Frontend::State::load_exported(const files::InputFile& file, const files::ZipDirectory& directory) {
  schema::Registry schemas;
  for (const std::string& schema : options.schemas) schemas.add(schema);
  const auto of_libraries = library_schemas();
  for (const std::string& schema : of_libraries) schemas.add(schema);
  pt2::Exported exported =
      pt2::read_exported(file, directory, options.model, schemas, {options.cancelled, options.timeout_seconds});
  exported.program.library_schemas = of_libraries;
  // They can be run.
  const auto registers = [&](const std::string& name) {
    return [&](const std::string& schema) { return schema.substr(0, schema.find_first_of(".(")) == name; };
  };
  std::erase_if(exported.program.stub_schemas, [&](const std::string& schema) {
    return std::ranges::any_of(of_libraries, registers(schema.substr(0, schema.find_first_of(".("))));
  });
  Loaded loaded{.format = Format::exported_program,
                .file_bytes = file.size(),
                .identity = identity(directory),
                .parameters = count_parameters(exported.program),
                .content = {},
                .file = {}};
  loaded.content = std::move(exported.program);
  loaded.exported = std::move(exported.interface);
  return loaded;
}

std::vector<std::string> Frontend::State::library_schemas() {
  const protocol::SchemasRequest request{op_libraries()};
  if (request.op_libraries.empty()) return {};
  return expect<protocol::SchemasReply>(helper.roundtrip(request)).schemas;
}

std::string identity_of(const files::InputFile& file, const std::filesystem::path& path) {
  const Recognition recognition = recognise(file, path);
  if (recognition.format == Format::graph_text) return files::sha256_of(file.read(0, file.size()));
  if (!recognition.directory) throw ModelError(why_not(recognition));
  return identity(*recognition.directory);
}

Frontend::Frontend(LoadOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Frontend::~Frontend() = default;
Frontend::Frontend(Frontend&&) noexcept = default;
Frontend& Frontend::operator=(Frontend&&) noexcept = default;

Loaded Frontend::load(const std::filesystem::path& path) {
  auto file = files::naming(path.string(), [&] { return std::make_shared<const files::InputFile>(path); });
  Loaded loaded = state_->load(*file, path, path.string(), false);
  loaded.file = std::move(file);
  return loaded;
}

Loaded Frontend::load_bytes(std::span<const std::uint8_t> bytes, const std::string& display_name) {
  auto file = files::naming(display_name, [&] { return std::make_shared<const files::InputFile>(bytes); });
  Loaded loaded = state_->load(*file, display_name, display_name, true);
  loaded.file = std::move(file);
  return loaded;
}

Loaded Frontend::load_ranges(std::shared_ptr<const files::InputFile> file, const std::string& display_name) {
  Loaded loaded = state_->load(*file, display_name, display_name, true);
  loaded.file = std::move(file);
  return loaded;
}

Frontend::Execution Frontend::compare_execution(const std::filesystem::path& path, const ir::Graph& graph,
                                                const std::string& method, std::uint64_t seed, bool inputs_after) {
  return files::naming(path.string(), [&]() -> Execution {
    const files::InputFile file(path);
    const protocol::ExecutionRequest request{state_->model(path, path.string()), encode(graph), method, seed, inputs_after};
    auto reply = expect<protocol::ExecutionReply>(state_->helper.roundtrip(request, &file));
    return {reply.agrees, std::move(reply.difference)};
  });
}

std::vector<Frontend::ObservedTensor> Frontend::observe(const std::filesystem::path& path, const ir::Graph& graph,
                                                        std::uint64_t seed) {
  return files::naming(path.string(), [&] {
    const files::InputFile file(path);
    const protocol::ObserveRequest request{state_->model(path, path.string()), encode(graph), seed};
    const auto reply = expect<protocol::ObserveReply>(state_->helper.roundtrip(request, &file));
    const auto values = values_in_order(graph);
    std::vector<ObservedTensor> tensors;
    for (const protocol::ObservedTensor& tensor : reply.tensors) {
      if (tensor.position >= values.size()) throw ModelError("the loader's answer names a value that isn't there");
      tensors.push_back({values[tensor.position]->id(), tensor.dtype, tensor.sizes});
    }
    return tensors;
  });
}

std::vector<Frontend::Run> Frontend::run(const files::InputFile& file, const std::string& display_name, const std::string& method,
                                         const std::vector<ir::Constants>& calls, std::uint64_t seed, std::uint64_t nudge,
                                         const std::vector<std::string>& state) {
  return files::naming(display_name, [&] {
    return state_->run(file, calls, {state_->model(display_name, display_name), method, {}, seed, nudge, state});
  });
}

Frontend::Inner Frontend::inner_values(const files::InputFile& file, const std::string& display_name, const ir::Graph& graph,
                                       const ir::Constants& arguments, std::uint64_t seed,
                                       const std::vector<InnerRequest>& requests, std::uint64_t most_bytes) {
  return files::naming(display_name, [&] {
    const auto values = values_in_order(graph);
    const auto blocks = blocks_in_order(graph);
    std::unordered_map<const ir::Value*, std::uint32_t> positions;
    for (const ir::Value* value : values) positions.emplace(value, static_cast<std::uint32_t>(positions.size()));
    protocol::ValuesRequest request{state_->model(display_name, display_name),
                                    encode(graph),
                                    encode(ir::Constant{ir::TupleConstant{nullptr, arguments}}),
                                    seed,
                                    most_bytes,
                                    {}};
    for (const InnerRequest& one : requests) {
      const auto block = std::find(blocks.begin(), blocks.end(), one.block);
      if (block == blocks.end()) throw InternalError("values are asked of a block that isn't the graph's");
      request.blocks.push_back({static_cast<std::uint32_t>(block - blocks.begin()), one.first, one.end, {}});
      for (const ir::Value* value : one.values) request.blocks.back().positions.push_back(positions.at(value));
    }
    protocol::ValuesReply reply;
    try {
      reply = expect<protocol::ValuesReply>(state_->helper.roundtrip(request, &file, true));
    } catch (const HelperCrash& crash) {
      throw ModelError(crash_text(crash));
    }
    if (reply.executions.size() != blocks.size() || reply.bytes.size() != values.size())
      throw ModelError("the loader's answer is damaged: it speaks of another graph");
    Inner inner;
    inner.too_many = reply.too_many;
    for (std::size_t i = 0; i < blocks.size(); ++i) inner.executions.emplace(blocks[i], reply.executions[i]);
    for (std::size_t i = 0; i < values.size(); ++i) inner.bytes.emplace(values[i], reply.bytes[i]);
    ir::Constant elapsed = decode_constant(reply.values);
    auto* lists = elapsed.get<ir::ListConstant>();
    if (!lists || lists->items.size() != requests.size())
      throw ModelError("the loader's answer is damaged: other values than those asked for");
    for (std::size_t i = 0; i < requests.size(); ++i) {
      inner.values.emplace_back();
      auto* executions = lists->items[i].get<ir::ListConstant>();
      if (!executions) throw ModelError("the loader's answer is damaged: other values than those asked for");
      for (ir::Constant& execution : executions->items) {
        auto* held = execution.get<ir::TupleConstant>();
        if (!held || held->items.size() != requests[i].values.size())
          throw ModelError("the loader's answer is damaged: other values than those asked for");
        inner.values.back().push_back(std::move(held->items));
      }
    }
    return inner;
  });
}

std::vector<std::string> Frontend::registered_schemas() {
  return expect<protocol::SchemasReply>(state_->helper.roundtrip(protocol::SchemasRequest{})).schemas;
}

std::vector<std::string> Frontend::library_schemas() { return state_->library_schemas(); }

std::string Frontend::libtorch_version() { return state_->helper.libtorch_version(); }
bool Frontend::timed_out() const { return state_->timed_out; }
void Frontend::set_timeout(double seconds) { state_->helper.set_timeout(seconds); }

}  // namespace compatcheck::frontend
