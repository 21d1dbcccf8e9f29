#include "plugin/host_call.h"

#include "compatcheck/error.h"
#include "plugin/registration.h"

namespace compatcheck::plugins {

std::string_view view(compatcheck_text text) { return text.data ? std::string_view(text.data, text.size) : std::string_view(); }

compatcheck_value put(compatcheck_call& call, const onnx::Value& value) {
  if (!value) return 0;
  call.values.push_back(value);
  return static_cast<compatcheck_value>(call.values.size());
}

onnx::Value value_at(const compatcheck_call& call, compatcheck_value id) {
  if (id == 0) return {};
  if (id > call.values.size()) throw Misuse{"a value of another call, or none at all, is used"};
  return call.values[id - 1];
}

compatcheck_dim put(compatcheck_call& call, const symbolic::Dim& dim) {
  if (dim.is_unknown()) return 0;
  call.dims.push_back(dim);
  return static_cast<compatcheck_dim>(call.dims.size());
}

symbolic::Dim dim_at(const compatcheck_call& call, compatcheck_dim id) {
  if (id == 0) return symbolic::Dim::unknown();
  if (id > call.dims.size()) throw Misuse{"a size of another call, or none at all, is used"};
  return call.dims[id - 1];
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
