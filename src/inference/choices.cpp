#include "inference/choices.h"

#include <algorithm>
#include <string>

namespace compatcheck::inference {
namespace {

// Whether the reader takes pictures, with or without a batch.
bool reads_pictures(const ir::Node& reader) {
  return reader.is("aten::pixel_shuffle") || reader.is("aten::pixel_unshuffle") || reader.is("aten::channel_shuffle");
}

// Whether the reader takes pictures or volumes, always with a batch.
bool reads_batches(const ir::Node& reader) { return reader.op().starts_with("aten::grid_sampler"); }

// Returns the choice of the first hint. An operand of fewer dimensions may lead to the same rank: the highest is as its
// neighbours are.
std::optional<Choice> hinted(const std::vector<Candidate>& candidates, Hint::Kind kind) {
  std::optional<Choice> choice;
  std::size_t first = 0;
  for (std::size_t rank = 0; rank < candidates.size(); ++rank)
    for (const Hint& hint : candidates[rank].hints) {
      if (!is_left(candidates[rank]) || hint.kind != kind || (choice && hint.place > first)) continue;
      const bool open = kind == Hint::Kind::constant || kind == Hint::Kind::rank_test;
      choice = Choice{.candidate = rank, .reader = hint.reader, .open = open};
      first = hint.place;
    }
  return choice;
}

bool is_assertion(const ir::Node* reader) { return reader && reader->is("prim::If"); }

}  // namespace

void forget_unsure(std::vector<Candidate>& candidates) {
  if (std::ranges::any_of(candidates, is_left)) return;
  for (Candidate& candidate : candidates)
    if (!candidate.for_sure) candidate.refused_by = nullptr;
}

// Masks and flags, where a reader that works on bits or picks by a mask keeps floats out. Beside a number, bits are an integer's.
bool reads_masks(const ir::Node& reader) {
  const std::string& op = reader.op();
  if (op.starts_with("aten::masked_") || op.starts_with("aten::where")) return true;
  return (op.starts_with("aten::bitwise_") || op.starts_with("aten::__")) &&
         std::ranges::none_of(reader.inputs(),
                              [](const ir::Value* input) { return ir::is(input->type(), ir::TypeKind::integer); });
}

std::optional<Choice> choose_dtype(const std::vector<Candidate>& candidates, Strength strength, bool mask) {
  const auto left = std::ranges::count_if(candidates, is_left);
  if (left == 0) return std::nullopt;
  const bool all = static_cast<std::size_t>(left) == candidates.size();
  if (all && strength == Strength::decisive) return std::nullopt;
  std::size_t chosen = 0;
  while (!is_left(candidates[chosen])) ++chosen;
  const ir::Node* reader = chosen == 0 ? candidates[1].refused_by : candidates[0].refused_by;
  constexpr std::size_t truth = 2;
  if (chosen == 1 && is_left(candidates[truth]) && (mask || reads_masks(*reader))) chosen = truth;
  if (!reader)
    for (const Candidate& candidate : candidates)
      if (!reader) reader = candidate.refused_by;
  return Choice{.candidate = chosen, .reader = all ? nullptr : reader};
}

std::optional<Choice> choose_rank(const std::vector<Candidate>& candidates, Strength strength) {
  const auto left = std::ranges::count_if(candidates, is_left);
  if (left == 0) return std::nullopt;
  for (const Hint::Kind kind : {Hint::Kind::number, Hint::Kind::operand})
    if (const auto choice = hinted(candidates, kind)) return choice;
  std::size_t least = 0, most = highest_rank;
  while (!is_left(candidates[least])) ++least;
  while (!is_left(candidates[most])) --most;
  const auto reader = [&](std::size_t rank) {
    const ir::Node* above = rank < highest_rank ? candidates[rank + 1].refused_by : nullptr;
    return above || rank == 0 ? above : candidates[rank - 1].refused_by;
  };
  if (left == 2 && least == pictures && reads_batches(*candidates[least - 1].refused_by))
    return Choice{.candidate = least, .reader = candidates[least - 1].refused_by, .open = true};
  if (left <= 2 && most < highest_rank)
    return Choice{.candidate = most, .reader = reader(most), .batch = is_assertion(reader(most))};
  if (most < highest_rank && least == pictures - 1 && is_left(candidates[pictures]))  // one or two dimensions more fit, too
    return Choice{.candidate = pictures, .reader = reader(least), .open = true};
  if (const auto choice = hinted(candidates, Hint::Kind::rank_test)) return choice;
  if (strength == Strength::decisive) return std::nullopt;
  if (auto choice = hinted(candidates, Hint::Kind::constant)) {  // a weight of each member of a batch
    const std::size_t batch = choice->candidate + 1;
    if (batch <= pictures && is_left(candidates[batch])) choice->candidate = batch;
    return choice;
  }
  if (least == 0 && strength != Strength::guess) return std::nullopt;
  const bool of_pictures = least == pictures - 1 && reads_pictures(*candidates[least - 1].refused_by);
  std::size_t rank = of_pictures ? pictures : std::max(least, rank_of_batch);
  while (rank > least && !is_left(candidates[rank])) --rank;
  const ir::Node* reader_of_least = least == 0 ? nullptr : candidates[least - 1].refused_by;
  return Choice{.candidate = rank, .reader = reader_of_least, .open = true, .guess = true};
}

}  // namespace compatcheck::inference
