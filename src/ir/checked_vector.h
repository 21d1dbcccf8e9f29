// A vector that nonsense can't break: what facts and handlers index with and count to comes from a model. A place that isn't
// there throws std::out_of_range, more elements than a model should hold std::length_error; either ends the one call that is
// looked at, not the program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

namespace compatcheck::ir {

template <class T>
class CheckedVector : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using typename Base::const_iterator;
  using typename Base::iterator;
  static constexpr std::size_t most = 1 << 23;

  CheckedVector() = default;
  explicit CheckedVector(std::size_t count) : Base(within(count)) {}
  CheckedVector(std::size_t count, const T& value) : Base(within(count), value) {}
  CheckedVector(std::initializer_list<T> items) : Base(items) {}
  template <std::forward_iterator Iterator>
  CheckedVector(Iterator first, Iterator last) : Base(ordered(first, last), last) {}
  CheckedVector(Base plain) : Base(std::move(plain)) {}  // NOLINT: the same but for the checks

  T& operator[](std::size_t i) { return this->at(i); }
  const T& operator[](std::size_t i) const { return this->at(i); }
  T& front() { return this->at(0); }
  const T& front() const { return this->at(0); }
  T& back() { return this->at(this->size() - 1); }
  const T& back() const { return this->at(this->size() - 1); }

  void reserve(std::size_t count) { Base::reserve(within(count)); }
  void resize(std::size_t count) { Base::resize(within(count)); }
  void resize(std::size_t count, const T& value) { Base::resize(within(count), value); }
  void push_back(T value) {
    within(this->size() + 1);
    Base::push_back(std::move(value));
  }
  void pop_back() {
    back();
    Base::pop_back();
  }
  iterator insert(const_iterator at, T value) { return Base::insert(inside(at, 0), std::move(value)); }
  iterator insert(const_iterator at, std::size_t count, const T& value) {
    return Base::insert(inside(at, 0), within(count), value);
  }
  iterator insert(const_iterator at, std::initializer_list<T> items) { return Base::insert(inside(at, 0), items); }
  template <std::forward_iterator Iterator>
  iterator insert(const_iterator at, Iterator first, Iterator last) {
    return Base::insert(inside(at, 0), ordered(first, last), last);
  }
  iterator erase(const_iterator at) { return Base::erase(inside(at, 1)); }
  iterator erase(const_iterator first, const_iterator last) {
    return Base::erase(ordered(inside(first, 0), inside(last, 0)), last);
  }

 private:
  static std::size_t within(std::size_t count) {
    if (count > most) throw std::length_error("too many elements to be written out one by one");
    return count;
  }
  // At least `left` elements stand from there on.
  const_iterator inside(const_iterator at, std::ptrdiff_t left) const {
    const std::ptrdiff_t place = at - this->begin();
    if (place < 0 || place > static_cast<std::ptrdiff_t>(this->size()) - left)
      throw std::out_of_range("a place beyond a list's end");
    return at;
  }
  template <class Iterator>
  static Iterator ordered(Iterator first, Iterator last) {
    if constexpr (std::random_access_iterator<Iterator>)
      if (last - first < 0) throw std::out_of_range("a list ends before it begins");
    return first;
  }
};

// Elements by their places, 0 to length - 1. Too many are refused before the first is made.
template <class T, class Make>
CheckedVector<T> listed(double length, Make&& element_at) {
  CheckedVector<T> made;
  made.reserve(static_cast<std::size_t>(length > 0 ? std::min(length, static_cast<double>(made.most + 1)) : 0));
  for (double i = 0; i < length; ++i) made.push_back(element_at(i));
  return made;
}

}  // namespace compatcheck::ir
