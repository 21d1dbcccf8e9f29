// Objects that stay where they are until the pool is gone, side by side in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>
#include <vector>

namespace compatcheck::ir {

// The objects stand in `memory` of the call that makes them, which must outlive the pool.
template <class T>
class Pool {
 public:
  Pool() = default;
  Pool(Pool&&) noexcept = default;
  Pool& operator=(Pool&& other) noexcept {
    std::swap(chunks_, other.chunks_);
    return *this;
  }
  ~Pool() {
    for_each([](T& object) { std::destroy_at(&object); });
  }

  template <class... Arguments>
  T& add(std::pmr::memory_resource& memory, Arguments&&... arguments) {
    if (chunks_.empty() || chunks_.back().used == chunks_.back().size) {
      const std::size_t size = chunks_.empty() ? smallest : std::min(2 * chunks_.back().size, largest);
      chunks_.push_back({static_cast<T*>(memory.allocate(size * sizeof(T), alignof(T))), size});
    }
    Chunk& chunk = chunks_.back();
    T& made = *std::construct_at(chunk.objects + chunk.used, std::forward<Arguments>(arguments)...);
    ++chunk.used;
    return made;
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (Chunk& chunk : chunks_)
      for (std::size_t i = 0; i < chunk.used; ++i) visit(chunk.objects[i]);
  }

 private:
  static constexpr std::size_t smallest = 4, largest = 256;  // many graphs are small
  struct Chunk {
    T* objects;
    std::size_t size, used = 0;
  };
  std::vector<Chunk> chunks_;
};

}  // namespace compatcheck::ir
