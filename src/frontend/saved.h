// Names the kind of a file of torch.save in the words of PyTorch's users, by the top of its pickle.
#pragma once

#include <cstdint>
#include <span>

#include "frontend/foreign.h"

namespace compatcheck::frontend {

// A state_dict, a checkpoint, a tensor, a pickled module or other objects. Nothing is made or called.
Recognition recognise_saved(std::span<const std::uint8_t> pickle);

}  // namespace compatcheck::frontend
