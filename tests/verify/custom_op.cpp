// A library of one custom operator of ONNX Runtime's, acme::Positive, for check_custom_ops.py. The structure is OrtCustomOp of
// onnxruntime_c_api.h as of version 10, which later runtimes take: that header is in no package.
#include <cstddef>
#include <cstdint>

namespace {

struct Api;
struct Status;

template <class Signature>
Signature* at(const Api* api, std::size_t place) {
  return reinterpret_cast<Signature*>(reinterpret_cast<void* const*>(api)[place]);
}

struct ApiBase {
  const Api* (*get_api)(std::uint32_t version);
  const char* (*version)();
};

const Api* runtime = nullptr;

struct CustomOp {
  std::uint32_t version;
  void* (*create_kernel)(const CustomOp*, const Api*, const void* info);
  const char* (*name)(const CustomOp*);
  const char* (*provider)(const CustomOp*);
  int (*input_type)(const CustomOp*, std::size_t);
  std::size_t (*input_count)(const CustomOp*);
  int (*output_type)(const CustomOp*, std::size_t);
  std::size_t (*output_count)(const CustomOp*);
  void (*compute)(void* kernel, void* context);
  void (*destroy)(void* kernel);
  int (*input_characteristic)(const CustomOp*, std::size_t);
  int (*output_characteristic)(const CustomOp*, std::size_t);
};

constexpr int float_type = 1, required = 0;

void compute(void*, void* context) {
  const void* input = nullptr;
  void *info = nullptr, *output = nullptr;
  std::size_t rank = 0;
  std::int64_t dims[8] = {};
  float *from = nullptr, *to = nullptr;
  at<Status*(const void*, std::size_t, const void**)>(runtime, 90)(context, 0, &input);  // KernelContext_GetInput
  at<Status*(const void*, void**)>(runtime, 65)(input, &info);                           // GetTensorTypeAndShape
  at<Status*(const void*, std::size_t*)>(runtime, 61)(info, &rank);
  at<Status*(const void*, std::int64_t*, std::size_t)>(runtime, 62)(info, dims, rank);
  at<void(void*)>(runtime, 99)(info);
  at<Status*(void*, std::size_t, const std::int64_t*, std::size_t, void**)>(runtime, 91)(context, 0, dims, rank, &output);
  at<Status*(const void*, void**)>(runtime, 51)(input, reinterpret_cast<void**>(&from));
  at<Status*(void*, void**)>(runtime, 51)(output, reinterpret_cast<void**>(&to));
  std::int64_t count = 1;
  for (std::size_t i = 0; i < rank; ++i) count *= dims[i];
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] > 0 ? from[i] : 0;
}

char kernel = 0;
const CustomOp positive{10,
                        [](const CustomOp*, const Api*, const void*) -> void* { return &kernel; },
                        [](const CustomOp*) { return "Positive"; },
                        [](const CustomOp*) -> const char* { return nullptr; },
                        [](const CustomOp*, std::size_t) { return float_type; },
                        [](const CustomOp*) -> std::size_t { return 1; },
                        [](const CustomOp*, std::size_t) { return float_type; },
                        [](const CustomOp*) -> std::size_t { return 1; },
                        compute,
                        [](void*) {},
                        [](const CustomOp*, std::size_t) { return required; },
                        [](const CustomOp*, std::size_t) { return required; }};

}  // namespace

extern "C" __attribute__((visibility("default"))) Status* RegisterCustomOps(void* options, const ApiBase* base) {
  runtime = base->get_api(10);
  static void* domain = nullptr;
  if (!domain) {
    if (Status* failed = at<Status*(const char*, void**)>(runtime, 26)("acme", &domain)) return failed;
    if (Status* failed = at<Status*(void*, const CustomOp*)>(runtime, 27)(domain, &positive)) return failed;
  }
  return at<Status*(void*, void*)>(runtime, 28)(options, domain);  // AddCustomOpDomain
}
