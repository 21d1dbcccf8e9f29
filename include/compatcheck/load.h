// Reading a model.
//
//   auto model = compatcheck::load("model.pt");
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/error.h"
#include "compatcheck/frontend_kind.h"
#include "compatcheck/ranged_file.h"
#include "compatcheck/run.h"

namespace compatcheck {

struct LoadOptions {
  std::string method = "forward";
  std::string model{};  // name of a program in a .pt2 archive that holds several; empty: the only one
  // Mapping files or folders of them (docs/mappings.md); later ones win. They take part in loading because a row may
  // state the schema of a custom operator.
  std::vector<std::filesystem::path> mappings{};
  // Shared libraries with handlers and rows (docs/plugins.md); later ones win, and `mappings` over all of them. Their code runs
  // in this process, in every thread that checks or converts.
  std::vector<std::filesystem::path> plugins{};
  FrontendKind frontend = FrontendKind::automatic;    // reader of TorchScript files
  bool gradients = false;                             // what torch.is_grad_enabled() says in the model's code; false in inference
  std::vector<std::filesystem::path> op_libraries{};  // shared libraries that register custom operators
  std::vector<std::string> op_modules{};              // Python modules that register custom operators
  std::filesystem::path libtorch{};                   // root or lib folder; empty: searched for
  std::filesystem::path helper{};                     // the TorchScript helper program; empty: searched for
  std::filesystem::path python{};  // a Python with torch, which runs models without a helper; empty: searched for
  // Runs models in this process instead of a helper's, so that the limits of time and memory don't hold there. Answers a request
  // of the helper's protocol, with a descriptor of the model's file (-1: none), as python/compatcheck/torch_helper.py does.
  std::function<std::vector<std::uint8_t>(std::span<const std::uint8_t> request, int descriptor)> run_in_process{};
  double timeout_seconds = 120;    // limit for reading one model, and again for its graph
  std::uint64_t memory_mb = 8192;  // limit of libtorch for one model, without weights
  RunOptions run{};
};

class Model;

// ModelInfo::identity of a file, without loading it. Throws ModelError for a file that is no model.
std::string identity_of(const std::filesystem::path& file);

// Returns the format of a file by its content. "torchscript", "exported_program" and "graph_text" can be loaded. These can't:
// "state_dict", "checkpoint", "tensor", "saved_object" and "pickled_module" of torch.save, "mobile_bytecode", "legacy_tar",
// "onnx", "tensorrt_engine", "tflite", "hdf5", "gguf", "safetensors", "executorch", "text". "unknown" may be a damaged or packed
// model. Throws ModelError for a file that is absent, empty or damaged.
std::string format_of(const std::filesystem::path& file);

// One model, with a Loader of its own. A helper process that it starts ends as soon as the file is read.
Model load(const std::filesystem::path& file, const LoadOptions& options = {});

// A loaded, normalized model. Cheap to copy, immutable, safe to use from several threads.
class Model {
 public:
  struct State;
  explicit Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }
  // As the report shows it; as given to load().
  const std::string& path() const;

 private:
  std::shared_ptr<const State> state_;
};

// Reads TorchScript archives (.pt), exported programs (.pt2) and TorchScript's textual notation. Where libtorch is needed, one
// helper process serves all models of a Loader, and is started again when a model crashes it. Not for use from several threads at
// once: one Loader each.
class Loader {
 public:
  explicit Loader(LoadOptions options = {});
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  // Throws ModelError (can't be read), UsageError (no libtorch, no such method), TableError (a mapping file or plugin).
  Model load(const std::filesystem::path& file);
  Model load(std::span<const std::byte> bytes, const std::string& display_name);
  // For check() alone: convert() and verify() need a file. TorchScript is read by compatcheck's own reader, because libtorch
  // needs a file.
  Model load(const RangedFile& file);

 private:
  friend Model load(const std::filesystem::path& file, const LoadOptions& options);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace compatcheck
