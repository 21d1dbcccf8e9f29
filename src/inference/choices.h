// The choice of a dtype or rank among those that an input may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "inference/fitting.h"
#include "ir/graph.h"

namespace compatcheck::inference {

constexpr std::size_t highest_rank = 6;

// The least rank that is assumed if readers leave higher ranks open: a batch of what the reader accepts.
constexpr std::size_t rank_of_batch = 2;

// The rank of a batch of pictures.
constexpr std::size_t pictures = 4;

// Readers leave only one candidate; or nothing speaks against the likeliest one; or nothing speaks for any.
enum class Strength : std::uint8_t { decisive, likely, guess };

struct Choice {
  std::size_t candidate = 0;
  const ir::Node* reader = nullptr;
  bool open = false;   // whether readers accept others as well
  bool guess = false;  // whether it was chosen without evidence
  bool batch = false;  // whether an assertion accepts one dimension less as well
};

inline bool is_left(const Candidate& candidate) { return !candidate.refused_by; }

// Ignores refusals of readers that may not run, if no candidate remains otherwise.
void forget_unsure(std::vector<Candidate>& candidates);

// Candidates are dtypes, the likely ones first. `mask`: a reader reads masks, though another one may decide first.
std::optional<Choice> choose_dtype(const std::vector<Candidate>& candidates, Strength strength, bool mask);

// Candidates are in the order of their ranks, from 0 to highest_rank.
std::optional<Choice> choose_rank(const std::vector<Candidate>& candidates, Strength strength);

// Whether a reader of the input takes masks or flags.
bool reads_masks(const ir::Node& reader);

}  // namespace compatcheck::inference
