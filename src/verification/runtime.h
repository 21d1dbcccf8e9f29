// ONNX Runtime, loaded on first use. It is the user's own, so that the verified runtime is the one in use.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/constant.h"
#include "verification/bounded_run.h"

namespace compatcheck::verification {

enum class Optimize : bool { no, yes };

struct SessionOptions {
  Optimize optimize = Optimize::yes;  // the runtime's own rewriting of the graph
  int threads = 1;                    // one: sums come out the same
};

class Runtime;

// A model loaded in the runtime. Values are contiguous tensors with their bytes, lists of them (sequences), or None (an
// optional without a value). Numbers count as tensors of rank 0, lists of numbers as tensors of rank 1.
class Session {
 public:
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const std::vector<std::string>& inputs() const;
  const std::vector<std::string>& outputs() const;

  // `values`: of every input, in the order of inputs(). Throws ModelError with the runtime's own words, or if the run takes
  // longer than its bound; Cancelled.
  ir::Constants run(const ir::Constants& values) const;

 private:
  friend class Runtime;
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Runtime {
 public:
  // `library`: libonnxruntime.so, or a folder that holds it; empty: COMPATCHECK_ORT_LIBRARY, beside the program, or the wheel of
  // the active Python environment. Throws UsageError saying what was looked for and where.
  // `custom_ops`: libraries of operators that each session has besides; UsageError for one that doesn't load.
  explicit Runtime(const std::filesystem::path& library = {}, const std::vector<std::filesystem::path>& custom_ops = {},
                   RunBounds bounds = {});

  const std::string& version() const;
  const std::filesystem::path& library() const;

  // Throw ModelError with the runtime's own message for a model that it rejects. Bytes: of a ModelProto.
  Session open(const std::filesystem::path& onnx, const SessionOptions& options = {}) const;
  Session open_bytes(std::string_view model, const SessionOptions& options = {}) const;

 private:
  friend class Session;
  struct State;
  template <class Create>
  Session make(const SessionOptions& options, const Create& create) const;
  std::shared_ptr<const State> state_;  // sessions hold it, too
};

}  // namespace compatcheck::verification
