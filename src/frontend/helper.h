// The helper as the front end sees it: asked a request, it gives the reply or throws; started, checked and started
// again as needed.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "compatcheck/error.h"
#include "files/input_file.h"
#include "frontend/helper_process.h"
#include "frontend/load.h"
#include "frontend/locate.h"

namespace compatcheck::frontend {

// The helper was stopped because its time was up.
struct HelperTimeout : ModelError {
  using ModelError::ModelError;
};

// The code in the helper crashed, by itself. `how`: "SIGSEGV; it said: …".
struct HelperCrash : ModelError {
  HelperCrash(const std::string& message, std::string text) : ModelError(message), how(std::move(text)) {}
  std::string how;
};

class Helper {
 public:
  explicit Helper(const LoadOptions& options) : options_(options) {}

  // The reply, never an ErrorReply. Throws what the helper reports; ModelError for a request that ended it
  // (HelperCrash: by a crash), UsageError where no helper or libtorch serves. Messages don't name the file. `file` goes along if
  // `attach`.
  protocol::Reply roundtrip(const protocol::Request& request, const files::InputFile* file = nullptr, bool attach = false);
  const std::string& libtorch_version();
  void set_timeout(double seconds) { options_.timeout_seconds = seconds; }

 private:
  // nullopt: ask again, a fresh helper.
  std::optional<protocol::Reply> try_once(const std::vector<std::uint8_t>& request, const files::InputFile* file, bool attach);
  void start();
  void check(const protocol::HelloReply& hello) const;
  protocol::Reply ask_here(const std::vector<std::uint8_t>& request, const files::InputFile* file, bool attach) const;
  HelperBounds bounds() const;
  [[noreturn]] void explain(const HelperEnd& end) const;

  LoadOptions options_;
  std::unique_ptr<HelperProcess> process_;
  bool fresh_ = true;  // has loaded nothing yet
  std::optional<Runner> runner_;
  std::string version_;
};

}  // namespace compatcheck::frontend
