#include "frontend/torchscript/pickle_scan.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <variant>

#include "compatcheck/error.h"

namespace compatcheck::frontend::torchscript {
namespace {

// Opcodes of protocol 2 that torch's pickler writes (torch/csrc/jit/serialization/pickler_helper.h).
enum Opcode : std::uint8_t {
  mark = '(', stop = '.', pop = '0', bin_int = 'J', bin_int1 = 'K', bin_int2 = 'M', none = 'N', persistent_id = 'Q',
  reduce = 'R', bin_unicode = 'X', appends = 'e', append = 'a', build = 'b', global = 'c', dict = 'd', empty_dict = '}',
  bin_get = 'h', long_bin_get = 'j', list = 'l', empty_list = ']', bin_put = 'q', long_bin_put = 'r', set_item = 's',
  set_items = 'u', tuple = 't', empty_tuple = ')', bin_float = 'G', proto = 0x80, new_object = 0x81, tuple1 = 0x85,
  tuple2 = 0x86, tuple3 = 0x87, new_true = 0x88, new_false = 0x89, long1 = 0x8a,
};

struct Mark {};
struct Opaque {};
struct Global { std::string_view name; };
struct Numbers { std::vector<std::int64_t> values; };  // a tuple of ints
using Item = std::variant<Opaque, Mark, std::string_view, std::int64_t, Global, Numbers, PickledStorage>;

class Scan {
 public:
  Scan(std::span<const std::uint8_t> pickle, const std::string& record) : pickle_(pickle), record_(record) {}

  PickledWeights run() {
    while (step()) {}
    return std::move(found_);
  }

 private:
  [[noreturn]] void damaged() const { throw ModelError("record " + record_ + " is damaged: it isn't a pickle that torch writes"); }

  template <class Number> Number number() {
    if (pickle_.size() - at_ < sizeof(Number)) damaged();
    Number value;
    std::memcpy(&value, pickle_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::string_view text(std::size_t size) {
    if (pickle_.size() - at_ < size) damaged();
    const std::string_view text(reinterpret_cast<const char*>(pickle_.data()) + at_, size);
    at_ += size;
    return text;
  }

  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(pickle_.data()) + at_, pickle_.size() - at_);
    const auto end = rest.find('\n');
    if (end == rest.npos) damaged();
    at_ += end + 1;
    return rest.substr(0, end);
  }

  Item take() {
    if (stack_.empty()) damaged();
    Item item = std::move(stack_.back());
    stack_.pop_back();
    return item;
  }
  void drop(std::size_t count) {
    if (stack_.size() < count) damaged();
    stack_.resize(stack_.size() - count);
  }
  void push(Item item) { stack_.push_back(std::move(item)); }

  std::size_t last_mark() const {
    for (std::size_t i = stack_.size(); i > 0; --i)
      if (std::holds_alternative<Mark>(stack_[i - 1])) return i - 1;
    damaged();
  }
  void drop_to_mark() { stack_.resize(last_mark()); }

  void put(std::size_t place) {
    if (stack_.empty() || place > pickle_.size()) damaged();
    if (place >= memo_.size()) memo_.resize(place + 1);
    memo_[place] = stack_.back();
  }
  void get(std::size_t place) {
    if (place >= memo_.size()) damaged();
    push(memo_[place]);
  }

  // The tuples that matter: of ints; ('storage', type, key, device, elements), which the persistent id turns into a
  // storage; (storage, offset, sizes, strides, ...), a tensor.
  Item tuple_of(std::span<const Item> items) {
    if (items.size() >= 5) {
      const auto* kind = std::get_if<std::string_view>(&items[0]);
      const auto* type = std::get_if<Global>(&items[1]);
      const auto* key = std::get_if<std::string_view>(&items[2]);
      const auto* device = std::get_if<std::string_view>(&items[3]);
      const auto* elements = std::get_if<std::int64_t>(&items[4]);
      if (kind && *kind == "storage" && type && key && device && elements)
        return PickledStorage{std::string(type->name), std::string(*key), std::string(*device), *elements};
    }
    if (items.size() >= 4) {
      const auto* storage = std::get_if<PickledStorage>(&items[0]);
      const auto* offset = std::get_if<std::int64_t>(&items[1]);
      const auto* sizes = std::get_if<Numbers>(&items[2]);
      const auto* strides = std::get_if<Numbers>(&items[3]);
      if (storage && offset && sizes && strides) found_.tensors.push_back({*storage, *offset, sizes->values, strides->values});
    }
    Numbers numbers;
    for (const Item& item : items) {
      const auto* number = std::get_if<std::int64_t>(&item);
      if (!number) return Opaque{};
      numbers.values.push_back(*number);
    }
    return numbers;
  }

  void make_tuple(std::size_t count) {
    if (stack_.size() < count) damaged();
    Item made = tuple_of(std::span(stack_).last(count));
    drop(count);
    push(std::move(made));
  }

  void make_marked_tuple() {
    const std::size_t start = last_mark();
    make_tuple(stack_.size() - start - 1);
    stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(start));
  }

  bool step() {
    switch (number<std::uint8_t>()) {
      case stop: return false;
      case proto: number<std::uint8_t>(); break;
      case mark: push(Mark{}); break;
      case pop: drop(1); break;
      case bin_int: push(std::int64_t{number<std::int32_t>()}); break;
      case bin_int1: push(std::int64_t{number<std::uint8_t>()}); break;
      case bin_int2: push(std::int64_t{number<std::uint16_t>()}); break;
      case long1: read_long(); break;
      case bin_float: text(8); push(Opaque{}); break;
      case bin_unicode: { const auto size = number<std::uint32_t>(); push(text(size)); break; }
      case none: case new_true: case new_false: case empty_dict: case empty_list: push(Opaque{}); break;
      case empty_tuple: push(Numbers{}); break;
      case persistent_id: read_persistent_id(); break;
      case reduce: case build: case new_object: drop(2); push(Opaque{}); break;
      case appends: case set_items: drop_to_mark(); break;
      case append: drop(1); break;
      case set_item: drop(2); break;
      case dict: case list: drop_to_mark(); push(Opaque{}); break;
      case tuple: make_marked_tuple(); break;
      case tuple1: make_tuple(1); break;
      case tuple2: make_tuple(2); break;
      case tuple3: make_tuple(3); break;
      case global: line(); push(Global{line()}); break;
      case bin_get: get(number<std::uint8_t>()); break;
      case long_bin_get: get(number<std::uint32_t>()); break;
      case bin_put: put(number<std::uint8_t>()); break;
      case long_bin_put: put(number<std::uint32_t>()); break;
      default: damaged();
    }
    return true;
  }

  void read_long() {
    if (number<std::uint8_t>() != 8) damaged();
    push(number<std::int64_t>());
  }

  void read_persistent_id() {
    const Item item = take();
    const auto* storage = std::get_if<PickledStorage>(&item);
    if (storage) found_.storages.push_back(*storage);
    push(storage ? item : Item(Opaque{}));
  }

  std::span<const std::uint8_t> pickle_;
  const std::string& record_;
  std::size_t at_ = 0;
  std::vector<Item> stack_, memo_;
  PickledWeights found_;
};

}  // namespace

PickledWeights scan_weights(std::span<const std::uint8_t> pickle, const std::string& record) {
  return Scan(pickle, record).run();
}

}  // namespace compatcheck::frontend::torchscript
