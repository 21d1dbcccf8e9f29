/* A plugin without the C++ wrapper, which also does what the wrapper doesn't. */
#include <compatcheck/plugin_abi.h>

static compatcheck_text text(const char* of) {
  compatcheck_text made = {of, 0};
  while (of[made.size]) ++made.size;
  return made;
}

static compatcheck_status negate(void* state, const compatcheck_host* host, compatcheck_call* call) {
  compatcheck_value x = 0, made = 0;
  compatcheck_status status = host->tensor(call, text("x"), &x);
  (void)state;
  if (!status) status = host->node(call, text("Neg"), &x, 1, NULL, 0, 0, &made, 1);
  return status ? status : host->give(call, 0, made);
}

/* A value that no function gave. */
static compatcheck_status forge(void* state, const compatcheck_host* host, compatcheck_call* call) {
  (void)state;
  return host->give(call, 0, 4711);
}

/* A status without a reason. */
static compatcheck_status hide(void* state, const compatcheck_host* host, compatcheck_call* call) {
  (void)state, (void)host, (void)call;
  return compatcheck_refused;
}

static compatcheck_status add(const compatcheck_host* host, compatcheck_registry* registry, const char* op, const char* schema, compatcheck_callback function) {
  const compatcheck_text emits[1] = {text("Neg")};
  const compatcheck_handler handler = {sizeof(compatcheck_handler), 7, 26, text(op), emits, 1, text("same"), text(schema), {function, NULL, NULL}};
  return host->add_handler(registry, &handler);
}

static compatcheck_status enter(const compatcheck_host* host, compatcheck_registry* registry) {
  compatcheck_status status = add(host, registry, "acme::negate", "acme::negate(Tensor x) -> Tensor", negate);
  if (!status) status = add(host, registry, "acme::forge", "acme::forge(Tensor x) -> Tensor", forge);
  return status ? status : add(host, registry, "acme::hide", "acme::hide(Tensor x) -> Tensor", hide);
}

const compatcheck_plugin_entry compatcheck_plugin = {compatcheck_abi, sizeof(compatcheck_host), enter};
