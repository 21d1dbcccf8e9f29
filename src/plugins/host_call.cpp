#include "plugins/host_call.h"

#include <atomic>

#include "compatcheck/error.h"
#include "plugins/registration.h"

namespace compatcheck::plugins {

std::string_view view(compatcheck_text text) { return text.data ? std::string_view(text.data, text.size) : std::string_view(); }

namespace {

// A number that a plugin kept from another call must not be read as one of this call.
std::uint32_t fresh_number() {
  static std::atomic<std::uint32_t> last = 0;
  std::uint32_t number = ++last;
  while (number == 0) number = ++last;
  return number;
}

template <class Kept>
const auto& kept_at(const Kept& kept, std::uint32_t id, const char* what) {
  const auto found = kept.find(id);
  if (found == kept.end()) throw Misuse{std::string(what) + " of another call, or none at all, is used"};
  return found->second;
}

}  // namespace

compatcheck_value put(compatcheck_call& call, const onnx::Value& value) {
  if (!value) return 0;
  const compatcheck_value id = fresh_number();
  call.values.emplace(id, value);
  return id;
}

onnx::Value value_at(const compatcheck_call& call, compatcheck_value id) {
  return id == 0 ? onnx::Value{} : kept_at(call.values, id, "a value");
}

compatcheck_dim put(compatcheck_call& call, const symbolic::Dim& dim) {
  if (dim.is_unknown()) return 0;
  const compatcheck_dim id = fresh_number();
  call.dims.emplace(id, dim);
  return id;
}

symbolic::Dim dim_at(const compatcheck_call& call, compatcheck_dim id) {
  return id == 0 ? symbolic::Dim::unknown() : kept_at(call.dims, id, "a size");
}

compatcheck_dtype number_of(ir::DType dtype) {
  const int number = onnx::data_type(dtype);
  if (!number) throw onnx::Refusal{"ONNX has no dtype " + std::string(ir::name(dtype))};
  return number;
}

std::optional<ir::DType> dtype_at(compatcheck_dtype number) {
  if (number == 0) return std::nullopt;
  const auto dtype = onnx::dtype_from_data_type(number);
  if (!dtype) throw Misuse{std::to_string(number) + " is no dtype of tensors"};
  return dtype;
}

void give_dims(compatcheck_call& call, const symbolic::Shape& shape, const compatcheck_dim** answer, std::size_t* count) {
  auto& made = call.ids.emplace_back();
  for (const symbolic::Dim& dim : shape) made.push_back(put(call, dim));
  *answer = made.data();
  *count = made.size();
}

void remember(compatcheck_call& call, compatcheck_status status, std::string problem, std::exception_ptr thrown) {
  call.problem = std::move(problem);
  call.pending[static_cast<std::size_t>(status)] = std::move(thrown);
}

compatcheck_status remember_current(compatcheck_call& call) {
  const auto kept = [&](compatcheck_status status, std::string problem) {
    remember(call, status, std::move(problem), std::current_exception());
    return status;
  };
  try {
    throw;
  } catch (const handlers::Wanting& wanting) {
    return kept(compatcheck_unknown, wanting.verdict.message);
  } catch (const onnx::Refusal& refusal) {
    return kept(compatcheck_refused, refusal.reason);
  } catch (const symbolic::Impossible& arguments) {
    return kept(compatcheck_refused, arguments.reason);
  } catch (const Misuse& misuse) {
    return kept(compatcheck_failed, misuse.reason);
  } catch (const std::exception& error) {
    return kept(compatcheck_failed, error.what());
  }
}

namespace {

compatcheck_status refuse(compatcheck_call* call, compatcheck_text reason, compatcheck_text hint) {
  return guarded(call, [&](auto&, auto&) { throw onnx::Refusal{std::string(view(reason)), std::string(view(hint))}; });
}

compatcheck_status want(compatcheck_call* call, compatcheck_text argument, compatcheck_text what) {
  return guarded(call, [&](auto&, handlers::Emission& e) { e.want(view(argument), view(what)); });
}

compatcheck_status fail(compatcheck_call* call, compatcheck_text reason) {
  return guarded(call, [&](auto&, auto&) { throw Misuse{std::string(view(reason))}; });
}

compatcheck_text problem(compatcheck_call* call) { return {call->problem.data(), call->problem.size()}; }

compatcheck_host made() {
  compatcheck_host host{};
  host.abi = compatcheck_abi;
  host.size = sizeof(compatcheck_host);
  host.version = COMPATCHECK_VERSION;
  host.add_handler = add_handler;
  host.add_facts = add_facts;
  host.add_condition = add_condition;
  host.add_rows = add_rows;
  host.reject = reject;
  host.refuse = refuse;
  host.want = want;
  host.fail = fail;
  host.problem = problem;
  add_reads(host);
  add_sizes_and_facts(host);
  add_nodes(host);
  return host;
}

}  // namespace

const compatcheck_host& host() {
  static const compatcheck_host table = made();
  return table;
}

}  // namespace compatcheck::plugins
