// Objects that stay where they are until the pool is gone, side by side in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace compatcheck::ir {

template <class T>
class Pool {
 public:
  T& add() {
    if (chunks_.empty() || used_ == chunks_.back().size) {
      const std::size_t size = chunks_.empty() ? smallest : std::min(2 * chunks_.back().size, largest);
      chunks_.push_back({std::make_unique<T[]>(size), size});
      used_ = 0;
    }
    return chunks_.back().objects[used_++];
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (Chunk& chunk : chunks_)
      for (std::size_t i = 0; i < (&chunk == &chunks_.back() ? used_ : chunk.size); ++i) visit(chunk.objects[i]);
  }

 private:
  static constexpr std::size_t smallest = 4, largest = 256;  // many graphs are small
  struct Chunk {
    std::unique_ptr<T[]> objects;
    std::size_t size = 0;
  };
  std::vector<Chunk> chunks_;
  std::size_t used_ = 0;  // of the last chunk
};

}  // namespace compatcheck::ir
