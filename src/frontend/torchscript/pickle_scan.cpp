#include "frontend/torchscript/pickle_scan.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <variant>

#include "compatcheck/error.h"
#include "files/pickle_steps.h"

namespace compatcheck::frontend::torchscript {
namespace {

namespace op = files::pickle_opcode;

struct Mark {};
struct Opaque {};
struct Global {
  std::string_view name;
};
struct Numbers {
  std::vector<std::int64_t> values;
};  // a tuple of ints
using Item = std::variant<Opaque, Mark, std::string_view, std::int64_t, Global, Numbers, PickledStorage>;

class WeightScan {
 public:
  WeightScan(std::span<const std::uint8_t> pickle, const std::string& record)
      : bytes_(pickle.size()), steps_(pickle), record_(record) {}

  PickledWeights run() {
    for (;;) {
      const auto step = steps_.next();
      if (!step) damaged();
      if (step->opcode == op::stop) return std::move(found_);
      take_step(*step);
    }
  }

 private:
  [[noreturn]] void damaged() const {
    throw ModelError("record " + record_ + " is damaged: it isn't a pickle that torch writes");
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
    if (stack_.empty() || place > bytes_) damaged();
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

  // Those of protocol 2 that torch's pickler writes (torch/csrc/jit/serialization/pickler_helper.h).
  void take_step(const files::PickleStep& step) {
    switch (step.opcode) {
      case op::proto: break;
      case op::mark: push(Mark{}); break;
      case op::pop: drop(1); break;
      case op::binint: push(std::int64_t{static_cast<std::int32_t>(step.number)}); break;
      case op::binint1:
      case op::binint2: push(static_cast<std::int64_t>(step.number)); break;
      case op::long1: push(long_number(step.text)); break;
      case op::binunicode: push(step.text); break;
      case op::binfloat:
      case op::none:
      case op::newtrue:
      case op::newfalse:
      case op::empty_dict:
      case op::empty_list: push(Opaque{}); break;
      case op::empty_tuple: push(Numbers{}); break;
      case op::binpersid: read_persistent_id(); break;
      case op::reduce:
      case op::build:
      case op::newobj:
        drop(2);
        push(Opaque{});
        break;
      case op::appends:
      case op::setitems: drop_to_mark(); break;
      case op::append: drop(1); break;
      case op::setitem: drop(2); break;
      case op::dict:
      case op::list:
        drop_to_mark();
        push(Opaque{});
        break;
      case op::tuple: make_marked_tuple(); break;
      case op::tuple1: make_tuple(1); break;
      case op::tuple2: make_tuple(2); break;
      case op::tuple3: make_tuple(3); break;
      case op::global: push(Global{step.second}); break;
      case op::get:
      case op::long_get: get(step.number); break;
      case op::put:
      case op::long_put: put(step.number); break;
      default: damaged();
    }
  }

  std::int64_t long_number(std::string_view bytes) const {
    std::int64_t value = 0;
    if (bytes.size() != sizeof value) damaged();
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  void read_persistent_id() {
    const Item item = take();
    const auto* storage = std::get_if<PickledStorage>(&item);
    if (storage) found_.storages.push_back(*storage);
    push(storage ? item : Item(Opaque{}));
  }

  std::size_t bytes_;
  files::PickleSteps steps_;
  const std::string& record_;
  std::vector<Item> stack_, memo_;
  PickledWeights found_;
};

}  // namespace

PickledWeights scan_weights(std::span<const std::uint8_t> pickle, const std::string& record) {
  return WeightScan(pickle, record).run();
}

}  // namespace compatcheck::frontend::torchscript
