// Reads answers of the TorchScript helper program.
#pragma once

#include <string>

#include "compatcheck/error.h"
#include "process/transfer.h"

namespace compatcheck::frontend {

// Returns the result of `read`. Throws ModelError for damaged bytes: the helper may have died.
template <class Read>
auto undamaged(Read&& read) {
  try {
    return read();
  } catch (const process::CutShort&) {
    throw ModelError("the loader's answer is cut short");
  } catch (const process::Damaged& damaged) {
    throw ModelError(std::string("the loader's answer is damaged: ") + damaged.what());
  }
}

}  // namespace compatcheck::frontend
