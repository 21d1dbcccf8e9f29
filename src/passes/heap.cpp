#include "passes/heap.h"

#include <algorithm>
#include <utility>

#include "passes/evaluate.h"
#include "passes/rewrite.h"

namespace compatcheck::passes {

bool Abstract::is_none() const {
  if (!value || parts) return false;
  const ir::Constant* constant = ir::constant_of(value);
  return constant ? constant->is_none() : ir::is(value->type(), ir::TypeKind::none) && !is_undefined(value);
}

bool is_label_constant(const ir::Constant& constant) {
  return constant.get<std::string>() || constant.get<ir::EnumConstant>() || constant.get<ir::DeviceConstant>();
}

bool is_label(const Abstract& abstract) {
  const ir::Constant* constant = abstract.value && !abstract.parts ? ir::constant_of(abstract.value) : nullptr;
  return constant && is_label_constant(*constant);
}

const Abstract* defined(const Abstract* abstract) {
  return abstract && (abstract->followed() || !is_undefined(abstract->value)) ? abstract : nullptr;
}

bool is_undefined_label(const Abstract& abstract) {
  using enum ir::TypeKind;
  if (abstract.followed() || !is_undefined(abstract.value)) return false;
  const ir::TypeRef& type = abstract.value->type();
  return ir::is(type, string) || ir::is(type, named) || ir::is(type, device);
}

const Abstract* content(const Abstract& abstract) {
  if (abstract.present) return &abstract.parts->front();
  return abstract.is_none() ? nullptr : &abstract;
}

bool same(const Abstract& a, const Abstract& b) {
  if (a.present != b.present || a.code != b.code) return false;
  if (a.parts && b.parts) return a.parts == b.parts || std::ranges::equal(*a.parts, *b.parts, same);
  if (a.parts || b.parts || a.cell != b.cell) return false;
  if (a.value == b.value) return true;
  const ir::Constant *left = a.value ? ir::constant_of(a.value) : nullptr, *right = b.value ? ir::constant_of(b.value) : nullptr;
  return left && right && ir::equal(*left, *right) && ir::equal(*a.value->type(), *b.value->type());
}

bool same_keys(const std::vector<ir::Constant>& a, const std::vector<ir::Constant>& b) {
  return std::ranges::equal(a, b, [](const ir::Constant& one, const ir::Constant& other) { return ir::equal(one, other); });
}

const Abstract* Cell::find(const ir::Constant& key) const {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (values_equal(keys[i], key) == true) return &items[i];
  return nullptr;
}

void Cell::set(const ir::Constant& key, Abstract item) {
  if (const Abstract* place = find(key)) {
    const auto at = static_cast<std::size_t>(place - items.data());
    items[at] = std::move(item);
    if (present.empty()) return;
    unordered = unordered || (present[at] && at + 1 < keys.size());  // it is the last one if it wasn't there
    present[at] = nullptr;
    return forget_presence();
  }
  keys.push_back(key);
  items.push_back(std::move(item));
  if (!present.empty()) present.push_back(nullptr);
}

void Cell::erase(std::size_t place) {
  const auto at = static_cast<std::ptrdiff_t>(place);
  keys.erase(keys.begin() + at);
  items.erase(items.begin() + at);
  if (!present.empty()) present.erase(present.begin() + at);
  forget_presence();
}

void Cell::be_there(std::size_t place) {
  present[place] = nullptr;
  forget_presence();
}

void Cell::forget_presence() {
  if (std::ranges::none_of(present, [](const ir::Value* value) { return value; })) present.clear();
}

ir::Value* Cell::presence(const Abstract* item) const {
  return present.empty() ? nullptr : present[static_cast<std::size_t>(item - items.data())];
}

bool Sameness::is_known_in(const ir::Block* block) const { return known && (!when || available_in(when, block)); }

CellId Heap::add(Cell cell, CellOrigin origin) {
  cells_.push_back(std::make_shared<Cell>(std::move(cell)));
  origins_.push_back(std::move(origin));
  identities_.emplace_back();
  ended_.push_back(false);
  const auto id = static_cast<CellId>(cells_.size() - 1);
  not_ended_.push_back(id);
  set_identities(id, {{new_identity(), {}}});
  return id;
}

Cell& Heap::change(CellId id) {
  auto& cell = cells_[id];
  if (!frames_.empty()) frames_.back().before.try_emplace(id, cell);
  if (cell.use_count() > 1) cell = std::make_shared<Cell>(*cell);
  return *cell;
}

HeapChanges Heap::close() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  std::fill(ended_.begin() + static_cast<std::ptrdiff_t>(frame.first), ended_.end(), true);
  while (!not_ended_.empty() && not_ended_.back() >= frame.first) not_ended_.pop_back();
  for (const CellId id : frame.again) ended_[id] = true;
  not_ended_.resize(not_ended_.size() - frame.again.size());
  HeapChanges after;
  for (auto& [id, cell] : frame.before) {
    after[id] = cells_[id];
    cells_[id] = std::move(cell);
  }
  return after;
}

std::vector<CellId> Heap::living_since(CellId first) const {
  std::vector<CellId> living;
  std::ranges::copy_if(not_ended_, std::back_inserter(living), [&](CellId id) { return id >= first; });
  return living;
}

void Heap::reopen(const HeapChanges& after, const std::vector<CellId>& living) {
  open();
  frames_.back().again = living;
  for (const CellId id : living) ended_[id] = false;
  not_ended_.insert(not_ended_.end(), living.begin(), living.end());
  for (const auto& [id, cell] : after) {
    change(id);
    cells_[id] = cell;
  }
}

void Heap::add_elements(CellId list, const std::set<Identity>& identities) {
  elements_[list].insert(identities.begin(), identities.end());
}

const std::set<Identity>& Heap::elements(CellId list) const {
  static const std::set<Identity> none;
  const auto found = elements_.find(list);
  return found == elements_.end() ? none : found->second;
}

std::vector<CellId> Heap::lists_that_may_hold(CellId id) const {
  std::vector<CellId> lists;
  for (const auto& [list, elements] : elements_)
    if (list != id && !ended_[list] &&
        std::ranges::any_of(identities_[id], [&](const auto& entry) { return elements.contains(entry.first); }))
      lists.push_back(list);
  return lists;
}

void Heap::set_identities(CellId id, Identities identities) {
  cells_of_.resize(next_identity_);
  for (const auto& [identity, same] : identities_[id]) std::erase(cells_of_[identity], id);
  for (const auto& [identity, same] : identities) cells_of_[identity].push_back(id);
  identities_[id] = std::move(identities);
}

const std::vector<CellId>& Heap::cells_of(Identity identity) const {
  static const std::vector<CellId> none;
  return identity < cells_of_.size() ? cells_of_[identity] : none;
}

std::vector<CellId> Heap::sharing(CellId id) const {
  std::vector<CellId> others;
  for (const auto& [identity, same] : identities_[id])
    for (const CellId other : cells_of(identity))
      if (other != id && !ended_[other] && std::ranges::find(others, other) == others.end()) others.push_back(other);
  return others;
}

}  // namespace compatcheck::passes
