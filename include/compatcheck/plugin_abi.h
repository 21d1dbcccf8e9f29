/* What crosses between compatcheck and a plugin: C types alone. Authors include compatcheck/plugin.h, which wraps all of it.
 *
 * compatcheck opens the library, reads the structure `compatcheck_plugin` in it, checks its version, and calls `enter` with a
 * table of functions, once each time a loader is made. New functions go to the end of the table: a plugin runs with every
 * compatcheck of the same `abi` whose table is at least as long as the one it was built with. What changes otherwise changes
 * `compatcheck_abi`.
 *
 * Every function answers with a status. Where it isn't `compatcheck_ok`, a callback either hands the status on, by returning it,
 * and compatcheck does what it would do for a handler of its own, or goes on, and the problem is forgotten. Nothing is thrown
 * across. Texts and lists that compatcheck gives live until the callback returns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(modernize-use-using): C, too, reads this. */
#ifdef __cplusplus
extern "C" {
#endif

enum { compatcheck_abi = 1 };

typedef int32_t compatcheck_status;
enum {
  compatcheck_ok = 0,
  compatcheck_unknown = 1, /* a fact isn't known before the model runs, or needs --input */
  compatcheck_refused = 2, /* the call can't be converted, with a reason and a hint */
  compatcheck_failed = 3   /* the plugin asked for what there isn't, or threw */
};

/* Element types have the numbers of ONNX's TensorProto.DataType; 0: unknown. */
typedef int32_t compatcheck_dtype;
/* An ONNX value of one call, or one of its sizes (a number, or an expression over named dimensions); 0: absent, unknown. */
typedef uint32_t compatcheck_value;
typedef uint32_t compatcheck_dim;

typedef struct compatcheck_text {
  const char* data; /* UTF-8, not ended by 0 */
  size_t size;
} compatcheck_text;

typedef struct compatcheck_registry compatcheck_registry;
typedef struct compatcheck_call compatcheck_call;
typedef struct compatcheck_host compatcheck_host;

/* Called from several threads at once, each with a call of its own. */
typedef compatcheck_status (*compatcheck_callback)(void* state, const compatcheck_host* host, compatcheck_call* call);

/* `release` (may be null) is called with `state` once, when nothing calls the function any more; also where registering it fails.
 */
typedef struct compatcheck_function {
  compatcheck_callback call;
  void* state;
  void (*release)(void* state);
} compatcheck_function;

typedef struct compatcheck_handler {
  uint32_t size;                 /* of this structure */
  int32_t from, to;              /* opsets, both included */
  compatcheck_text op;           /* "acme::swish", or with an overload "aten::max.dim" */
  const compatcheck_text* emits; /* the ONNX operators that the call becomes; none: a row lists them */
  size_t emits_count;
  compatcheck_text facts;  /* word of docs/mappings.md, or empty */
  compatcheck_text schema; /* of an operator that isn't shipped, or empty */
  compatcheck_function function;
} compatcheck_handler;

enum {
  compatcheck_attribute_int,
  compatcheck_attribute_float,
  compatcheck_attribute_text,
  compatcheck_attribute_ints,
  compatcheck_attribute_floats,
  compatcheck_attribute_texts,
  compatcheck_attribute_value
};

typedef struct compatcheck_attribute {
  uint32_t kind;
  compatcheck_text name;
  const void* data; /* int64_t, double, compatcheck_text or compatcheck_value: `count` of them */
  size_t count;     /* 1, but of lists */
} compatcheck_attribute;

struct compatcheck_host {
  uint32_t abi, size;
  const char* version; /* of compatcheck */

  /* ---- While `enter` runs */
  compatcheck_status (*add_handler)(compatcheck_registry*, const compatcheck_handler*);
  /* States the facts of the operator's results; the name may have an overload. */
  compatcheck_status (*add_facts)(compatcheck_registry*, compatcheck_text op, compatcheck_function);
  /* What rows name by `requires`. The function answers `refused`, by refuse(), with why the call doesn't meet it. */
  compatcheck_status (*add_condition)(compatcheck_registry*, compatcheck_text name, compatcheck_function);
  compatcheck_status (*add_rows)(compatcheck_registry*, compatcheck_text yaml);
  /* Tells why the plugin can't be used; `enter` then returns `failed`. */
  void (*reject)(compatcheck_registry*, compatcheck_text reason);

  /* ---- Problems. Each of the first three answers with its status, to be returned */
  compatcheck_status (*refuse)(compatcheck_call*, compatcheck_text reason, compatcheck_text hint);
  compatcheck_status (*want)(compatcheck_call*, compatcheck_text argument, compatcheck_text what);
  compatcheck_status (*fail)(compatcheck_call*, compatcheck_text reason);
  compatcheck_text (*problem)(compatcheck_call*); /* of the last function that wasn't ok */

  /* ---- The call. Arguments are named as in the operator's schema */
  compatcheck_text (*op)(compatcheck_call*);
  int32_t (*at_least)(compatcheck_call*, int32_t opset);           /* of handlers: 1 or 0 */
  int32_t (*row_has)(compatcheck_call*, compatcheck_text onnx_op); /* of handlers: the row in force names it */
  compatcheck_status (*given)(compatcheck_call*, compatcheck_text argument, int32_t* answer); /* there, and not None */
  compatcheck_status (*dtype)(compatcheck_call*, compatcheck_text tensor, compatcheck_dtype* answer);
  compatcheck_status (*rank)(compatcheck_call*, compatcheck_text tensor, int64_t* answer);
  compatcheck_status (*shape)(compatcheck_call*, compatcheck_text tensor, const compatcheck_dim** answer, size_t* count);
  compatcheck_status (*known_size)(compatcheck_call*, compatcheck_text tensor, int64_t axis, int64_t* answer);
  compatcheck_status (*integer)(compatcheck_call*, compatcheck_text argument, int64_t* answer);
  compatcheck_status (*number)(compatcheck_call*, compatcheck_text argument, double* answer);
  compatcheck_status (*boolean)(compatcheck_call*, compatcheck_text argument, int32_t* answer); /* 0 if the overload lacks it */
  compatcheck_status (*string)(compatcheck_call*, compatcheck_text argument, compatcheck_text* answer);
  compatcheck_status (*integers)(compatcheck_call*, compatcheck_text argument, const int64_t** answer, size_t* count);
  compatcheck_status (*numbers)(compatcheck_call*, compatcheck_text argument, const double** answer, size_t* count);
  /* Dimensions as axes of `tensor` that aren't negative; of axes: sorted, None and an empty list mean all. */
  compatcheck_status (*axis)(compatcheck_call*, compatcheck_text argument, compatcheck_text tensor, int64_t* answer);
  compatcheck_status (*axes)(compatcheck_call*, compatcheck_text argument, compatcheck_text tensor, const int64_t** answer,
                             size_t* count);
  /* Of the call's results, as the facts state them: of handlers. */
  compatcheck_status (*output_dtype)(compatcheck_call*, size_t output, compatcheck_dtype* answer);
  compatcheck_status (*output_shape)(compatcheck_call*, size_t output, const compatcheck_dim** answer, size_t* count);
  int32_t (*output_used)(compatcheck_call*, size_t output);

  /* ---- Sizes */
  compatcheck_dim (*size_of_number)(compatcheck_call*, int64_t number);
  compatcheck_status (*number_of_size)(compatcheck_call*, compatcheck_dim size, int64_t* answer);
  compatcheck_status (*integer_as_size)(compatcheck_call*, compatcheck_text argument,
                                        compatcheck_dim* answer); /* perhaps symbolic */
  compatcheck_dim (*combine_sizes)(compatcheck_call*, char operation, compatcheck_dim a,
                                   compatcheck_dim b);                             /* + - * / % (floored) */
  int32_t (*sizes_equal)(compatcheck_call*, compatcheck_dim a, compatcheck_dim b); /* proved */
  compatcheck_status (*broadcast)(compatcheck_call*, const compatcheck_dim* a, size_t a_count, const compatcheck_dim* b,
                                  size_t b_count, const compatcheck_dim** answer, size_t* count);

  /* ---- Results of facts */
  /* Of every result, by a word of docs/mappings.md: "same", "pointwise". */
  compatcheck_status (*state_by_word)(compatcheck_call*, compatcheck_text word);
  /* `dtype` 0: unknown; `dims` null: unknown rank. */
  compatcheck_status (*state_tensor)(compatcheck_call*, size_t output, compatcheck_dtype dtype, const compatcheck_dim* dims,
                                     size_t rank);
  compatcheck_status (*state_integer)(compatcheck_call*, size_t output, compatcheck_dim value);

  /* ---- Arguments as ONNX values; this and what follows is of handlers */
  compatcheck_status (*tensor)(compatcheck_call*, compatcheck_text argument,
                               compatcheck_value* answer); /* numbers too, of rank 0 */
  compatcheck_status (*tensors)(compatcheck_call*, compatcheck_text argument, const compatcheck_value** answer, size_t* count);
  compatcheck_status (*number_value)(compatcheck_call*, compatcheck_text argument, compatcheck_dtype dtype,
                                     compatcheck_value* answer);
  compatcheck_status (*int_vector)(compatcheck_call*, compatcheck_text argument, compatcheck_value* answer);
  compatcheck_status (*shape_of)(compatcheck_call*, compatcheck_text tensor, compatcheck_value* answer); /* i64 vector */
  compatcheck_status (*size_of)(compatcheck_call*, compatcheck_text tensor, int64_t axis, compatcheck_value* answer); /* of one */
  compatcheck_dtype (*dtype_of)(compatcheck_call*, compatcheck_value value);

  /* ---- Constants and nodes */
  compatcheck_status (*integer_scalar)(compatcheck_call*, compatcheck_dtype dtype, int64_t number, compatcheck_value* answer);
  compatcheck_status (*floating_scalar)(compatcheck_call*, compatcheck_dtype dtype, double number, compatcheck_value* answer);
  compatcheck_status (*int_constant)(compatcheck_call*, const int64_t* numbers, size_t count,
                                     compatcheck_value* answer); /* i64 vector */
  /* Row-major, little-endian. */
  compatcheck_status (*constant)(compatcheck_call*, compatcheck_dtype dtype, const int64_t* dims, size_t rank, const void* bytes,
                                 size_t size, compatcheck_value* answer);
  /* "Conv", or "com.acme::Swish". Attributes that became inputs are named as attributes at every opset. `dtype` is the results'
     where no input tells; 0 otherwise. `answer` takes `outputs` values. */
  compatcheck_status (*node)(compatcheck_call*, compatcheck_text op, const compatcheck_value* inputs, size_t count,
                             const compatcheck_attribute* attributes, size_t attribute_count, compatcheck_dtype dtype,
                             compatcheck_value* answer, size_t outputs);
  compatcheck_status (*cast)(compatcheck_call*, compatcheck_value value, compatcheck_dtype dtype, compatcheck_value* answer);
  /* Folded where the value is constant. Axes and dimensions as in ONNX, axes not negative. */
  compatcheck_status (*reshape)(compatcheck_call*, compatcheck_value value, const int64_t* dims, size_t count,
                                compatcheck_value* answer);
  compatcheck_status (*transpose)(compatcheck_call*, compatcheck_value value, const int64_t* order, size_t count,
                                  compatcheck_value* answer);
  compatcheck_status (*unsqueeze)(compatcheck_call*, compatcheck_value value, const int64_t* axes, size_t count,
                                  compatcheck_value* answer);
  compatcheck_status (*squeeze)(compatcheck_call*, compatcheck_value value, const int64_t* axes, size_t count,
                                compatcheck_value* answer);
  compatcheck_status (*concat)(compatcheck_call*, const compatcheck_value* parts, size_t count, int64_t axis,
                               compatcheck_value* answer);
  compatcheck_status (*gather)(compatcheck_call*, compatcheck_value data, compatcheck_value indices, int64_t axis,
                               compatcheck_value* answer);

  /* ---- Results of handlers: of every output that is used, cast to the dtype that the facts state */
  compatcheck_status (*give)(compatcheck_call*, size_t output, compatcheck_value value);
  compatcheck_status (*give_list)(compatcheck_call*, size_t output, const compatcheck_value* values, size_t count); /* Tensor[] */
};

/* What a plugin's library exports by the name `compatcheck_plugin`. The first two members stand here in every version. */
typedef struct compatcheck_plugin_entry {
  uint32_t abi;       /* compatcheck_abi of the header that it was built with */
  uint32_t host_size; /* sizeof(compatcheck_host) there */
  compatcheck_status (*enter)(const compatcheck_host*, compatcheck_registry*);
} compatcheck_plugin_entry;

#ifdef __cplusplus
} /* extern "C" */
#endif
/* NOLINTEND(modernize-use-using) */
