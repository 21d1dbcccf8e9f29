// Complex numbers' operators on real tensors, which pass through what would conjugate them.
#include <numeric>
#include <utility>

#include "handlers/elementary.h"
#include "handlers/families.h"

namespace compatcheck::handlers {
namespace {

void adjoint(Emission& e) {
  const auto rank = static_cast<std::size_t>(e.rank("self"));
  const Value x = e.tensor("self");
  if (rank < 2) return e.give(x);
  Ints permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  e.give(e.build.transpose(x, permutation));
}

}  // namespace

void register_complex(Registry& registry) {
  for (const char* op : {"aten::mH", "aten::matrix_H", "aten::adjoint"}) registry.handler(op, adjoint);
}

}  // namespace compatcheck::handlers
