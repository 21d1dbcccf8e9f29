// Values known before the model runs: what prim::Constant holds, what module attributes hold.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/dtype.h"
#include "ir/quantizer.h"
#include "ir/type.h"

namespace compatcheck::ir {

// The bytes behind one or more tensors: a place in the model file, or bytes carried along.
struct Storage {
  std::uint64_t file_offset = 0;  // offset of the first byte in the model file, if `in_file`
  std::uint64_t bytes = 0;
  bool in_file = false;
  std::vector<std::uint8_t> data;  // the bytes, if not `in_file` or if the storage is small; little-endian
  std::string record;              // the archive's record name, for messages ("data/12")
};

// A strided window on a storage. Offset and strides count elements.
struct TensorView {
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  std::shared_ptr<const Storage> storage;  // null: a tensor without data (meta device)
  bool requires_grad = false;
  std::string device = "cpu";  // the device from which the model was saved
  std::shared_ptr<const Quantizer> quantizer;

  std::int64_t elements() const;
  bool contiguous() const;
};

struct Constant;
using Constants = std::vector<Constant>;

// The list or dictionary of the file that a value is: two places of one program that have the same number hold one object. 0: it
// isn't known to be held anywhere else.
using ContainerIdentity = std::uint32_t;

struct ListConstant {
  TypeRef element;
  Constants items;
  ContainerIdentity identity = 0;
};
struct TupleConstant {
  TypeRef type;
  Constants items;
};  // type: kind tuple, may name a NamedTuple
struct DictConstant {
  TypeRef key, value;
  std::vector<std::pair<Constant, Constant>> items;
  ContainerIdentity identity = 0;

  // Defined where Constant is complete: clang wants the pair whole when it meets an implicit destructor.
  DictConstant();
  DictConstant(TypeRef key, TypeRef value, std::vector<std::pair<Constant, Constant>> items);
  DictConstant(const DictConstant&);
  DictConstant(DictConstant&&) noexcept;
  DictConstant& operator=(const DictConstant&);
  DictConstant& operator=(DictConstant&&) noexcept;
  ~DictConstant();
};
struct ObjectConstant {
  std::uint32_t object = 0;
};  // index into Program::objects
struct EnumConstant {
  std::string class_name, name;
  std::shared_ptr<const Constant> value;
};
struct DeviceConstant {
  std::string device;
};  // "cpu", "cuda:0"
struct FunctionConstant {
  std::string name;
};  // qualified, a key of Program::functions
struct OpaqueConstant {
  std::string type_name;
};  // a class that nobody registered, a generator …

struct Constant {
  using Variant =
      std::variant<std::monostate,  // None
                   std::int64_t, double, bool, std::complex<double>, std::string, TensorView, ListConstant, TupleConstant,
                   DictConstant, ObjectConstant, EnumConstant, DeviceConstant, FunctionConstant, OpaqueConstant>;
  Variant value;

  bool is_none() const { return std::holds_alternative<std::monostate>(value); }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
  template <class T>
  T* get() {
    return std::get_if<T>(&value);
  }
};

// Deep equality, whichever object of the file it is; tensors are equal when they are the same view of the same storage. NaN
// equals NaN.
bool equal(const Constant& a, const Constant& b);

// The type that prim::Constant with this value has.
TypeRef type_of(const Constant& constant);

// Roughly the memory that a copy takes, in bytes: what is shared isn't copied.
std::size_t footprint(const Constant& constant);

// Returns the identity of a list or dictionary; 0 for anything else.
ContainerIdentity identity_of(const Constant& constant);

// A list of ints or bools as plain numbers; nullopt if it is anything else.
std::optional<std::vector<std::int64_t>> as_ints(const Constant& constant);

}  // namespace compatcheck::ir
