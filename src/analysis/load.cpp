// compatcheck::load: from a file to a normalized graph.
#include <functional>
#include <set>

#include "analysis/boundary.h"
#include "analysis/given_inputs.h"
#include "analysis/model_state.h"
#include "analysis/run.h"
#include "analysis/stated_schemas.h"
#include "files/naming.h"
#include "frontend/foreign.h"
#include "handlers/body_facts.h"
#include "lint/in_force.h"
#include "passes/normalize.h"
#include "passes/passes.h"
#include "process/callback.h"
#include "process/log.h"
#include "process/spell_count.h"

namespace compatcheck {
namespace {

frontend::LoadOptions frontend_options(const LoadOptions& options, const mapping::Table& table, bool one_file) {
  return {.libtorch = options.libtorch,
          .helper = options.helper,
          .python = options.python,
          .op_libraries = options.op_libraries,
          .op_modules = options.op_modules,
          .run_in_process = options.run_in_process,
          .schemas = table.schemas(),
          .model = options.model,
          .timeout_seconds = options.timeout_seconds,
          .memory_mb = options.memory_mb,
          .frontend = options.frontend,
          .gradients = options.gradients,
          .one_file = one_file,
          .cancelled = analysis::cancelled_of(options.run)};
}

void report_stage(const RunOptions& run, std::string_view stage) {
  process::report_progress(run, {.stage = stage, .done = 0, .total = 0});
}

// libtorch numbers names ("x.1"); users and --input know the parameter ("x").
void name_inputs_plainly(std::span<ir::Value* const> inputs) {
  std::set<std::string> names;
  for (ir::Value* input : inputs) {
    const auto dot = input->name().rfind('.');
    const bool numbered =
        dot != std::string::npos && dot > 0 && input->name().find_first_not_of("0123456789", dot + 1) == std::string::npos;
    std::string plain = numbered ? input->name().substr(0, dot) : input->name();
    if (plain.find_first_not_of("0123456789") == std::string::npos) plain = "input_" + std::to_string(input->index());
    if (names.insert(plain).second) input->set_name(plain);
  }
}

void add_schemas(Model::State& state) {
  const auto& stated = state.table.schemas();
  for (const auto& schema : stated) state.schemas.add(schema);
  if (!state.program) return;
  for (const auto& schema : state.program->library_schemas) state.schemas.add(analysis::reconciled(schema, stated));
  for (const auto& schema : state.program->stub_schemas) state.schemas.add(schema);
}

void take_normalized(Model::State& state, passes::Normalized normalized, const ir::Watch& watch) {
  state.graph = std::move(normalized.graph);
  state.state = std::move(normalized.state);
  const auto given = state.graph.inputs().first(state.graph.inputs().size() - state.state.size());
  if (!state.exported) name_inputs_plainly(given);
  if (state.program && state.method == "forward") analysis::take_recorded_types(given, state.program->recorded_inputs);
  schema::resolve(state.graph, state.schemas);
  passes::name_python_functions(state.graph, state.schemas, watch);
  for (const auto& step : normalized.steps) logging::debug("{}: {}", state.path, step);
  state.defaults = std::move(normalized.defaults);
  state.steps = std::move(normalized.steps);
  state.lost_writes = std::move(normalized.lost_writes);
  state.with_assertions = std::move(normalized.with_assertions);
}

std::shared_ptr<const Model::State> with_state(const Model::State& model, const ir::Watch& watch) {
  const analysis::LoadedFile& file = model;
  auto state = std::make_shared<Model::State>(file);
  add_schemas(*state);
  passes::NormalizeOptions options;
  options.method = model.method;
  options.watch = watch;
  options.gradients = model.load.gradients;
  options.state_as_inputs = true;
  take_normalized(*state, passes::normalize(*state->program, state->schemas, options), watch);
  return state;
}

}  // namespace

void analysis::refuse_ranges(const Model::State& model, const std::string& call) {
  if (model.file && model.file->is_ranged())
    throw UsageError(model.path + " was read by ranges, which is enough for check; " + call + " needs a file on this machine");
}

const Model::State& analysis::state_of(const Model::State& model, StateMode mode, const ir::Watch& watch) {
  if (mode == StateMode::refuse || !model.program) return model;
  std::call_once(model.stateful_made, [&] {
    const logging::Timed timed(model.path + ": state taken for inputs");
    model.stateful = with_state(model, watch);
  });
  return *model.stateful;
}

struct Loader::State {
  State(LoadOptions given, bool one_file)
      : options(std::move(given)),
        in_force(lint::in_force(options.mappings, options.plugins)),
        frontend(frontend_options(options, in_force.table, one_file)) {
    handlers::infer_facts_of_bodies(in_force.table, in_force.schemas, conversion::moved_attributes(in_force.table),
                                    in_force.registry);
  }

  using Read = std::function<frontend::Loaded(frontend::Frontend&)>;
  Model load(const std::string& path, const Read& read);
  Model finish(frontend::Loaded loaded, const std::string& path, const ir::Watch& watch);

  LoadOptions options;
  lint::InForce in_force;
  frontend::Frontend frontend;
};

Model Loader::State::load(const std::string& path, const Read& read) {
  return analysis::guarded(path, [&] {
    const ir::Watch watch = analysis::watch_of(options.run, options.timeout_seconds);
    report_stage(options.run, "load");
    logging::info("{}: reading it", path);
    files::naming(path, [&] { watch.look(); });
    const logging::Timed reading(path + ": read"), normalizing(path + ": normalized");
    auto loaded = read(frontend);
    reading.done();
    Model model = finish(std::move(loaded), path, watch);
    normalizing.done();
    return model;
  });
}

Model Loader::State::finish(frontend::Loaded loaded, const std::string& path, const ir::Watch& watch) {
  analysis::LoadedFile file{.path = path,
                            .format = loaded.format,
                            .bytes = loaded.file_bytes,
                            .identity = std::move(loaded.identity),
                            .parameters = loaded.parameters,
                            .program = nullptr,
                            .table = in_force.table,
                            .registry = in_force.registry,
                            .handlers = in_force.handlers,
                            .moved = conversion::moved_attributes(in_force.table),
                            .file = loaded.file,
                            .method = options.method,
                            .exported = std::move(loaded.exported),
                            .load = frontend_options(options, in_force.table, false)};
  if (auto* program = std::get_if<ir::Program>(&loaded.content))
    file.program = std::make_shared<const ir::Program>(std::move(*program));
  auto state = std::make_shared<Model::State>(std::move(file));
  add_schemas(*state);

  report_stage(options.run, "normalize");
  passes::NormalizeOptions normalize_options;
  normalize_options.method = options.method;
  normalize_options.watch = watch;
  normalize_options.gradients = options.gradients;
  if (!options.model.empty() && loaded.format != frontend::Format::exported_program)
    throw UsageError(path + ": LoadOptions::model " + options.model + ": only archives of torch.export hold several programs");
  if (!state->program && options.method != "forward")
    throw UsageError(path + ": LoadOptions::method " + options.method + ": a graph as text has no methods");
  passes::Normalized normalized = files::naming(path, [&] {
    if (state->program) return passes::normalize(*state->program, state->schemas, normalize_options);
    return passes::normalize(std::move(std::get<ir::Graph>(loaded.content)), state->schemas, normalize_options);
  });
  take_normalized(*state, std::move(normalized), watch);
  if (logging::enabled(LogLevel::info))
    logging::info("{}: {}, {}, {} after {} of normalization", path, frontend::name(state->format),
                  spell_count(state->bytes, "byte"), spell_count(passes::node_count(state->graph), "node"),
                  spell_count(state->steps.size(), "step"));
  return Model(std::move(state));
}

std::string identity_of(const std::filesystem::path& file) {
  return analysis::guarded(file.string(), [&] {
    return files::naming(file.string(), [&] { return frontend::identity_of(files::InputFile(file), file); });
  });
}

std::string format_of(const std::filesystem::path& file) {
  return analysis::guarded(file.string(), [&] {
    return files::naming(file.string(),
                         [&] { return std::string(frontend::name(frontend::recognise(files::InputFile(file), file).format)); });
  });
}

struct RangedFile::State {
  std::string name;
  std::shared_ptr<files::BlockCache> ranges;
  std::shared_ptr<const files::InputFile> file;
};

RangedFile::RangedFile(std::string name, std::uint64_t bytes, ReadRanges read) {
  auto ranges = std::make_shared<files::BlockCache>(bytes, std::move(read));
  auto file = std::make_shared<const files::InputFile>(ranges);
  state_ = std::make_shared<const State>(State{std::move(name), std::move(ranges), std::move(file)});
}

const std::string& RangedFile::name() const { return state_->name; }
std::uint64_t RangedFile::bytes() const { return state_->ranges->size(); }
std::uint64_t RangedFile::bytes_read() const { return state_->ranges->bytes_read(); }
std::uint64_t RangedFile::requests() const { return state_->ranges->requests(); }

std::string identity_of(const RangedFile& file) {
  return analysis::guarded(file.name(), [&] {
    return files::naming(file.name(), [&] { return frontend::identity_of(*file.state().file, file.name()); });
  });
}

std::string format_of(const RangedFile& file) {
  return analysis::guarded(file.name(), [&] {
    return files::naming(
        file.name(), [&] { return std::string(frontend::name(frontend::recognise(*file.state().file, file.name()).format)); });
  });
}

const std::string& Model::path() const { return state_->path; }

Loader::Loader(LoadOptions options)
    : state_(analysis::guarded("the loader", [&] { return std::make_unique<State>(std::move(options), false); })) {}
Loader::~Loader() = default;
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;

Model Loader::load(const std::filesystem::path& file) {
  return state_->load(file.string(), [&](frontend::Frontend& frontend) { return frontend.load(file); });
}

Model Loader::load(std::span<const std::byte> bytes, const std::string& display_name) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return state_->load(display_name, [&](frontend::Frontend& frontend) {
    return frontend.load_bytes({data, bytes.size()}, display_name);
  });
}

Model Loader::load(const RangedFile& file) {
  return state_->load(file.name(),
                      [&](frontend::Frontend& frontend) { return frontend.load_ranges(file.state().file, file.name()); });
}

Model load(const std::filesystem::path& file, const LoadOptions& options) {
  return analysis::guarded(file.string(), [&] {
    return Loader::State(options, true).load(file.string(), [&](frontend::Frontend& frontend) { return frontend.load(file); });
  });
}

}  // namespace compatcheck
