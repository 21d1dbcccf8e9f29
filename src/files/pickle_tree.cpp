// Source: CPython's Lib/pickle.py, class _Unpickler.
#include "files/pickle_tree.h"

#include <algorithm>
#include <bit>
#include <map>

#include "compatcheck/error.h"
#include "files/pickle_steps.h"

namespace compatcheck::files {
namespace {

namespace op = pickle_opcode;

class PickleReader {
 public:
  PickleReader(std::span<const std::uint8_t> pickle, std::size_t most_items) : steps_(pickle), most_items_(most_items) {}

  PickleTree run() {
    for (;;) {
      const auto step = steps_.next();
      if (!step) throw ModelError("its pickle is cut short or damaged");
      if (step->opcode == op::stop) break;
      take(*step);
    }
    tree_.root = pop();
    return std::move(tree_);
  }

 private:
  using Kind = PickleItem::Kind;

  [[noreturn]] static void damaged() { throw ModelError("its pickle is damaged"); }
  void bound(std::size_t count) const {
    if (count >= most_items_) throw ModelError("its pickle holds more than " + std::to_string(most_items_) + " values");
  }

  PickleItemId make(PickleItem item) {
    bound(tree_.items.size());
    tree_.items.push_back(std::move(item));
    return static_cast<PickleItemId>(tree_.items.size() - 1);
  }
  PickleItem& item(PickleItemId id) { return tree_.items[id]; }

  void push(PickleItemId id) { stack_.push_back(id); }
  void push(PickleItem item) { push(make(std::move(item))); }
  void push(Kind kind) { push(PickleItem{.kind = kind}); }
  void push_integer(std::int64_t value) { push(PickleItem{.kind = Kind::integer, .integer = value}); }
  void push_text(std::string_view text) { push(PickleItem{.kind = Kind::text, .text = text}); }
  void push_name(std::string_view module, std::string_view name) {
    push(PickleItem{.kind = Kind::name, .text = name, .module = module});
  }

  PickleItemId top() {
    if (stack_.size() == floor()) damaged();
    return stack_.back();
  }
  PickleItemId pop() {
    const PickleItemId id = top();
    stack_.pop_back();
    return id;
  }
  // Items above the last mark belong to the innermost container.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  // Where the last `count` values on the stack begin, or those above the last mark, which is removed.
  std::size_t last(std::size_t count) const {
    if (stack_.size() - floor() < count) damaged();
    return stack_.size() - count;
  }
  std::size_t above_mark() {
    if (marks_.empty()) damaged();
    const std::size_t first = marks_.back();
    marks_.pop_back();
    return first;
  }
  void drop(std::size_t first) { stack_.resize(first); }

  void push_sequence(Kind kind, std::size_t first) {
    PickleItem made{.kind = kind};
    tree_.arena.append(made.members, std::span(stack_).subspan(first));
    drop(first);
    push(std::move(made));
  }

  void push_dict() {
    const std::size_t first = above_mark();
    if ((stack_.size() - first) % 2 != 0) damaged();
    push_sequence(Kind::dict, first);
  }

  // APPENDS and SETITEMS reach a list or dict, or an object that has such methods.
  void add(Kind plain, std::size_t first) {
    const auto more = std::span<const PickleItemId>(stack_).subspan(first);
    if (first == floor() || (plain == Kind::dict && more.size() % 2 != 0)) damaged();
    bound(added_ += more.size());
    PickleItem& target = item(stack_[first - 1]);
    tree_.arena.append(target.kind == plain ? target.members : target.added, more);
    drop(first);
  }

  void put(std::uint64_t place) {
    bound(memo_.size() + sparse_memo_.size());
    if (place < memo_.size())
      memo_[place] = top();
    else if (place == memo_.size())
      memo_.push_back(top()), sparse_memo_.erase(place);
    else
      sparse_memo_[place] = top();
  }
  void get(std::uint64_t place) {
    if (place < memo_.size()) return push(memo_[place]);
    const auto known = sparse_memo_.find(place);
    if (known == sparse_memo_.end()) damaged();
    push(known->second);
  }

  // Little-endian, of any length; most are short.
  void push_long(std::string_view bytes) {
    if (bytes.size() > 8) return push(Kind::other);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << 8 * i;
    const bool negative = !bytes.empty() && (static_cast<std::uint8_t>(bytes.back()) & 0x80);
    if (negative && bytes.size() < 8) value |= ~std::uint64_t{0} << 8 * bytes.size();
    push_integer(static_cast<std::int64_t>(value));
  }

  void push_float(std::uint64_t little_endian) {
    std::uint64_t bits = 0;
    for (int byte = 0; byte < 8; ++byte) bits = bits << 8 | (little_endian >> 8 * byte & 0xff);
    push(PickleItem{.kind = Kind::floating, .floating = std::bit_cast<double>(bits)});
  }

  void push_stack_global() {
    const std::size_t first = last(2);
    const PickleItem &module = item(stack_[first]), &name = item(stack_[first + 1]);
    if (module.kind != Kind::text || name.kind != Kind::text) damaged();
    drop(first);
    push_name(module.text, name.text);
  }

  void take(const PickleStep& step) {
    switch (step.opcode) {
      case op::proto:
      case op::frame: return;
      case op::mark: bound(marks_.size()); return marks_.push_back(stack_.size());
      case op::pop: pop(); return;
      case op::pop_mark: return drop(above_mark());
      case op::dup: return push(top());
      case op::put:
      case op::long_put: return put(step.number);
      case op::memoize: return put(memo_.size() + sparse_memo_.size());
      case op::get:
      case op::long_get: return get(step.number);
      case op::binint: return push_integer(static_cast<std::int32_t>(step.number));
      case op::binint1:
      case op::binint2: return push_integer(static_cast<std::int64_t>(step.number));
      case op::long1: return push_long(step.text);
      case op::newtrue:
      case op::newfalse: return push(PickleItem{.kind = Kind::boolean, .integer = step.opcode == op::newtrue});
      case op::binfloat: return push_float(step.number);
      case op::binunicode:
      case op::short_binunicode:
      case op::binunicode8: return push_text(step.text);
      case op::none: return push(Kind::none);
      case op::global: return push_name(step.text, step.second);
      case op::stack_global: return push_stack_global();
      default: take_container(step);
    }
  }

  void take_container(const PickleStep& step) {
    switch (step.opcode) {
      case op::empty_tuple: return push(Kind::tuple);
      case op::tuple1: return push_sequence(Kind::tuple, last(1));
      case op::tuple2: return push_sequence(Kind::tuple, last(2));
      case op::tuple3: return push_sequence(Kind::tuple, last(3));
      case op::tuple: return push_sequence(Kind::tuple, above_mark());
      case op::empty_list: return push(Kind::list);
      case op::list: return push_sequence(Kind::list, above_mark());
      case op::empty_dict: return push(Kind::dict);
      case op::dict: return push_dict();
      case op::append: return add(Kind::list, last(1));
      case op::appends: return add(Kind::list, above_mark());
      case op::setitem: return add(Kind::dict, last(2));
      case op::setitems: return add(Kind::dict, above_mark());
      case op::binpersid: return push_sequence(Kind::persistent, last(1));
      case op::reduce: return push_sequence(Kind::call, last(2));
      case op::newobj: return push_sequence(Kind::object, last(2));
      case op::build: {
        const PickleItemId state = pop();
        item(top()).has_state = true;
        item(top()).state = state;
        return;
      }
      default: take_other(step);
    }
  }

  // Skips instructions that a pickle may have, but that don't matter here.
  void take_other(const PickleStep& step) {
    switch (step.opcode) {
      case op::binbytes:
      case op::short_binbytes:
      case op::binbytes8:
      case op::bytearray8:
      case op::binstring:
      case op::short_binstring:
      case op::long4:
      case op::empty_set: return push(Kind::other);
      case op::additems: return drop(above_mark());
      case op::frozenset: drop(above_mark()); return push(Kind::other);
      case op::newobj_ex: drop(last(3)); return push(Kind::other);
      default: throw ModelError("its pickle is of an old protocol or damaged; save it with torch.save as it is by default");
    }
  }

  PickleSteps steps_;
  std::size_t most_items_;
  PickleTree tree_;
  std::vector<PickleItemId> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleItemId> memo_;  // places are given in order, as a rule
  std::map<std::uint64_t, PickleItemId> sparse_memo_;
  std::size_t added_ = 0;
};

}  // namespace

void PickleArena::append(PickleMembers& members, std::span<const PickleItemId> more) {
  const std::size_t size = members.size_ + more.size();
  if (size > members.room_) {
    const std::size_t room = members.size_ == 0 ? size : std::max<std::size_t>(size, 2 * std::size_t{members.room_});
    PickleItemId* moved = allocate(room);
    std::ranges::copy(members, moved);
    members.first_ = moved;
    members.room_ = static_cast<std::uint32_t>(room);
  }
  std::ranges::copy(more, members.first_ + members.size_);
  members.size_ = static_cast<std::uint32_t>(size);
}

PickleItemId* PickleArena::allocate(std::size_t count) {
  constexpr std::size_t block = 4096;
  if (count > free_) {
    free_ = std::max(block, count);
    blocks_.push_back(std::make_unique_for_overwrite<PickleItemId[]>(free_));
    end_ = blocks_.back().get() + free_;
  }
  PickleItemId* made = end_ - free_;
  free_ -= count;
  return made;
}

PickleTree read_pickle(std::span<const std::uint8_t> pickle, std::size_t most_items) {
  return PickleReader(pickle, most_items).run();
}

}  // namespace compatcheck::files
