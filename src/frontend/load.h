// From a file to an ir::Program, whatever the file is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "compatcheck/frontend_kind.h"
#include "frontend/pt2/interface.h"
#include "ir/program.h"

namespace compatcheck::files {
class InputFile;
}

namespace compatcheck::frontend {

enum class Format : std::uint8_t {
  torchscript,       // zip archive with code/
  graph_text,        // TorchScript's textual notation
  exported_program,  // .pt2: what torch.export.save writes
  // Recognised, not read; each has its sentence in foreign.cpp:
  state_dict,
  checkpoint,  // a dict that holds weights among other things
  tensor,
  saved_object,  // anything else that torch.save wrote, made of tensors, numbers, strings, lists and dicts
  pickled_module,
  mobile_bytecode,
  legacy_tar,
  onnx,
  tensorrt_engine,
  tflite,
  hdf5,
  gguf,
  safetensors,
  executorch,
  text,
  unknown,  // may be a damaged or packed model
};
std::string_view name(Format format);

// Looks at the first bytes and, of a zip, at its directory. Throws ModelError for what can't be opened, naming why.
Format detect(const std::filesystem::path& file);

struct LoadOptions {
  std::filesystem::path libtorch;  // a libtorch root or its lib/; empty: search
  std::filesystem::path helper;    // the helper program; empty: beside the executable or in libexec
  std::filesystem::path python{};  // a Python that runs models where no helper does; empty: search
  std::vector<std::filesystem::path> op_libraries;
  std::vector<std::string> op_modules{};  // of Python; models then run in it
  std::function<std::vector<std::uint8_t>(std::span<const std::uint8_t>, int)> run_in_process{};  // instead of a process
  std::vector<std::string> schemas;  // schemas of operators that no library ships, from users' rows
  std::string model{};               // the program to load from an archive with several; empty: the only one
  double timeout_seconds = 120;      // time limit of the helper for one model
  std::uint64_t memory_mb = 8192;    // memory limit of the helper, without mapped weights
  FrontendKind frontend = FrontendKind::automatic;
  bool gradients = false;           // the model runs with gradients
  bool one_file = false;            // the helper ends with its answer: its memory isn't needed any more
  std::function<bool()> cancelled;  // asked several times a second while the helper works; true: Cancelled
};

struct Parameters {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

struct Loaded {
  Format format = Format::torchscript;
  std::uint64_t file_bytes = 0;
  std::string identity;                              // hash of the zip directory: names, sizes, CRCs; of the bytes for text
  Parameters parameters;                             // distinct storages counted once
  std::variant<ir::Program, ir::Graph> content;      // Graph: from text
  std::shared_ptr<const files::InputFile> file;      // open: storages refer to places in it
  std::optional<pt2::ExportedInterface> exported{};  // the interface of an exported program
};

// Loaded::identity, without loading. Throws ModelError for what is no model.
std::string identity_of(const files::InputFile& file, const std::filesystem::path& path);

// Owns at most one helper process, started when the first TorchScript file is opened and again after a crash.
// Not for concurrent use; one per thread.
class Frontend {
 public:
  explicit Frontend(LoadOptions options = {});
  ~Frontend();
  Frontend(Frontend&&) noexcept;
  Frontend& operator=(Frontend&&) noexcept;

  // Throws ModelError for what can't be read, with the reason and what to do; UsageError where no libtorch is found.
  Loaded load(const std::filesystem::path& file);
  Loaded load_ranges(std::shared_ptr<const files::InputFile> file, const std::string& display_name);
  Loaded load_bytes(std::span<const std::uint8_t> bytes, const std::string& display_name);  // stdin

  // Further work that the helper does with libtorch:
  // Runs forward of the loaded file on seeded random inputs, and `graph` by the interpreter on the same inputs;
  // returns the differences as text, empty if all outputs, shapes, dtypes and, if asked for, written inputs agree.
  struct Execution {
    bool agrees = false;
    std::string difference;
  };
  Execution compare_execution(const std::filesystem::path& file, const ir::Graph& graph, const std::string& method,
                              std::uint64_t seed, bool inputs_after = true);

  // Every intermediate value of `graph` on seeded random inputs: dtype and sizes by ir::Value::id().
  struct ObservedTensor {
    std::uint32_t value = 0;
    ir::DType dtype{};
    std::vector<std::int64_t> sizes;
  };
  std::vector<ObservedTensor> observe(const std::filesystem::path& file, const ir::Graph& graph, std::uint64_t seed);

  // Runs `method` of the file that was loaded on the arguments of each call; call i begins with libtorch's generator seeded with
  // `seed` + i. Storages of the arguments carry their bytes. One thread, so that sums come out the same.
  struct Run {
    std::optional<ir::Constant> result;
    std::string failure;
    bool crashed = false;
    ir::Constants before, after;  // the call: the values of the attributes that were asked for
  };
  // A crash of PyTorch is a failure of every call. The module keeps its attributes from call to call; the first finds what the
  // file holds. `nudge`, unless it is 0: the last bits of the module's weights are others, by this draw. `state`: attributes,
  // "layers.0.k_cache".
  std::vector<Run> run(const files::InputFile& file, const std::string& display_name, const std::string& method,
                       const std::vector<ir::Constants>& calls, std::uint64_t seed, std::uint64_t nudge = 0,
                       const std::vector<std::string>& state = {});

  // Whether the last run threw because its time was up.
  bool timed_out() const;

  // Returns inner values of one call of a graph by the interpreter; the graph's constants may be in the file. For the block's
  // executions `first` to `end` it returns the requested values in or around the block, in that order: tensors carry their bytes.
  struct InnerRequest {
    const ir::Block* block = nullptr;
    std::uint64_t first = 0, end = 0;
    std::vector<const ir::Value*> values;
  };
  struct Inner {
    std::unordered_map<const ir::Block*, std::uint64_t> executions;  // of all blocks
    std::unordered_map<const ir::Value*, std::uint64_t> bytes;       // of all values, summed over executions
    bool too_many = false;                                           // the values take more than `most_bytes`: none are here
    std::vector<std::vector<ir::Constants>> values;                  // for each wanted block, by execution
  };
  // Throws ModelError if the graph doesn't run.
  Inner inner_values(const files::InputFile& file, const std::string& display_name, const ir::Graph& graph,
                     const ir::Constants& arguments, std::uint64_t seed, const std::vector<InnerRequest>& requests,
                     std::uint64_t most_bytes);

  // Every schema that this libtorch registers, one a line (test of src/schema).
  std::vector<std::string> registered_schemas();
  // Those that LoadOptions::op_libraries register. Throws UsageError for a library that can't be loaded.
  std::vector<std::string> library_schemas();
  std::string libtorch_version();
  // Bounds later requests, in place of LoadOptions::timeout_seconds.
  void set_timeout(double seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace compatcheck::frontend
