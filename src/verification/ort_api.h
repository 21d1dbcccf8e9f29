// The functions of ONNX Runtime's C API that we call, by their index in its table, which only grows at its end. Source:
// microsoft/onnxruntime include/onnxruntime/core/session/onnxruntime_c_api.h, struct OrtApi. Neither the wheel nor Debian has
// that header; runtime_test.cpp checks each index by calling the function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace compatcheck::verification::ort {

using Api = const void* const*;  // the table

// Opaque to users of the C API.
struct Status;
struct Env;
struct Session;
struct SessionOptions;
struct RunOptions;
struct Value;
struct MemoryInfo;
struct TypeInfo;
struct TensorInfo;
struct Allocator;

// The lowest version whose table holds every function below: HasValue came with 1.10.
inline constexpr std::uint32_t api_version = 10;

struct ApiBase {
  Api (*get_api)(std::uint32_t version);
  const char* (*version)();
};

template <class Signature>
struct Function;
template <class Result, class... Arguments>
struct Function<Result(Arguments...)> {
  std::size_t place;
  Result call(Api api, Arguments... arguments) const {
    return reinterpret_cast<Result (*)(Arguments...)>(const_cast<void*>(api[place]))(arguments...);
  }
};

enum class LogLevel : int { fatal = 4 };
enum class Optimization : int { none = 0, all = 99 };
enum class ValueKind : int { unknown = 0, tensor = 1, sequence = 2, map = 3, optional = 6 };

// Functions that return a Status* return null on success.
inline constexpr Function<const char*(const Status*)> error_message{2};
inline constexpr Function<Status*(LogLevel, const char* id, Env**)> create_env{3};
inline constexpr Function<Status*(const Env*)> disable_telemetry{6};
inline constexpr Function<Status*(const Env*, const char* path, const SessionOptions*, Session**)> create_session{7};
inline constexpr Function<Status*(const Env*, const void* model, std::size_t bytes, const SessionOptions*, Session**)>
    create_session_of_bytes{8};
inline constexpr Function<Status*(Session*, const RunOptions*, const char* const* input_names, const Value* const* inputs,
                                  std::size_t input_count, const char* const* output_names, std::size_t output_count,
                                  Value** outputs)>
    run{9};
inline constexpr Function<Status*(SessionOptions**)> create_session_options{10};
inline constexpr Function<Status*(SessionOptions*, LogLevel)> set_log_level{22};
inline constexpr Function<Status*(SessionOptions*, Optimization)> set_optimization{23};
inline constexpr Function<Status*(SessionOptions*, int)> set_threads_in_operators{24};
inline constexpr Function<Status*(SessionOptions*, int)> set_threads_between_operators{25};
inline constexpr Function<Status*(const Session*, std::size_t*)> input_count{30};
inline constexpr Function<Status*(const Session*, std::size_t*)> output_count{31};
inline constexpr Function<Status*(const Session*, std::size_t, TypeInfo**)> input_type{33};
inline constexpr Function<Status*(const Session*, std::size_t, Allocator*, char**)> input_name{36};
inline constexpr Function<Status*(const Session*, std::size_t, Allocator*, char**)> output_name{37};
inline constexpr Function<Status*(RunOptions**)> create_run_options{39};
inline constexpr Function<Status*(RunOptions*)> terminate{46};
inline constexpr Function<Status*(const MemoryInfo*, void* data, std::size_t bytes, const std::int64_t* dims, std::size_t rank,
                                  int element, Value**)>
    create_tensor{49};
inline constexpr Function<Status*(Value*, void**)> tensor_data{51};
inline constexpr Function<Status*(const TypeInfo*, const TensorInfo**)> tensor_of_type{55};
inline constexpr Function<Status*(const TypeInfo*, ValueKind*)> kind_of_type{56};
inline constexpr Function<Status*(const TensorInfo*, int*)> element_type{60};
inline constexpr Function<Status*(const TensorInfo*, std::size_t*)> rank{61};
inline constexpr Function<Status*(const TensorInfo*, std::int64_t*, std::size_t)> dims{62};
inline constexpr Function<Status*(const Value*, TensorInfo**)> tensor_info{65};
inline constexpr Function<Status*(const Value*, ValueKind*)> value_kind{67};
inline constexpr Function<Status*(int allocator, int memory, MemoryInfo**)> create_cpu_memory{69};
inline constexpr Function<Status*(Allocator*, void*)> free_in{76};
inline constexpr Function<Status*(Allocator**)> default_allocator{78};
inline constexpr Function<Status*(const Value*, int index, Allocator*, Value**)> member{80};
inline constexpr Function<Status*(const Value*, std::size_t*)> member_count{81};
inline constexpr Function<Status*(const Value* const*, std::size_t, ValueKind, Value**)> create_container{82};
inline constexpr Function<Status*(const Value*, int*)> has_value{192};
inline constexpr Function<Status*(SessionOptions*, const char* library)> register_custom_ops{228};  // since 1.14

inline constexpr Function<void(Status*)> release_status{93};
inline constexpr Function<void(Session*)> release_session{95};
inline constexpr Function<void(Value*)> release_value{96};
inline constexpr Function<void(RunOptions*)> release_run_options{97};
inline constexpr Function<void(TypeInfo*)> release_type{98};
inline constexpr Function<void(TensorInfo*)> release_tensor_info{99};
inline constexpr Function<void(SessionOptions*)> release_options{100};

// Owns an object of the runtime, which it releases at the end.
template <class Object>
class Held {
 public:
  Held(Api api, Function<void(Object*)> release) : api_(api), release_(release) {}
  Held(Held&& other) noexcept : api_(other.api_), release_(other.release_), object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held&&) = delete;
  ~Held() {
    if (object_) release_.call(api_, object_);
  }
  Object** out() { return &object_; }
  Object* get() const { return object_; }

 private:
  Api api_;
  Function<void(Object*)> release_;
  Object* object_ = nullptr;
};

}  // namespace compatcheck::verification::ort
