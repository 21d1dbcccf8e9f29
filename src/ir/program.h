// A loaded model before normalizing: classes with their methods, free functions, objects with their attributes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/constant.h"
#include "ir/graph.h"
#include "ir/lost_write.h"

namespace compatcheck::ir {

struct Parameter {
  std::string name;
  TypeRef type;
  std::optional<Constant> default_value;
};

struct Function {
  std::string name;                   // qualified: "__torch__.net.Net.forward"
  std::vector<Parameter> parameters;  // the graph's inputs, `self` of a method included
  std::vector<TypeRef> returns;
  Graph graph;
};

struct ClassAttribute {
  std::string name;
  TypeRef type;
  bool is_parameter = false;
  bool is_buffer = false;
};

struct Class {
  std::string name;  // qualified; empty methods and attributes: an unknown class
  bool is_module = false;
  bool is_interface = false;
  std::vector<ClassAttribute> attributes;
  std::map<std::string, Constant> constants;   // class-level constants
  std::map<std::string, std::string> methods;  // "forward" → key of Program::functions
};

struct Object {
  std::string class_name;
  Constants attributes;  // in the order of Class::attributes
};

// An input as the file records it (traced_inputs.pkl), or as the graph's own type says.
struct RecordedInput {
  std::string name;
  TypeRef type;
};

// An assumption or change made while loading; shown in the report.
struct LoadNote {
  enum class Kind : std::uint8_t {
    stub_operator,
    opaque_class,
    cuda_to_cpu,
    setstate_skipped,
    fallback_loader,
    read_by_libtorch,
    matched_by_position,  // arguments that a user's schema names otherwise than the file
    other
  };
  Kind kind = Kind::other;
  std::string subject;  // operator or class name
  std::string message;
};

struct Program {
  std::map<std::string, Class> classes;
  std::map<std::string, Function> functions;
  std::vector<Object> objects;
  std::uint32_t root = 0;                      // object that the file holds
  std::vector<RecordedInput> recorded_inputs;  // inputs of forward; empty if the file records none
  std::vector<LoadNote> notes;
  std::vector<LostWrite> lost_writes;        // writes that the front end left out
  std::vector<std::string> stub_schemas;     // schemas in force for operators that no library registered
  std::vector<std::string> library_schemas;  // schemas of operators that --op-library registered
  std::string producer;                      // "torch 2.13" if the archive states it, else empty
  std::string libtorch_version;              // version of the library that read the model
  bool traced = false;                       // any module was made by tracing, or exported
  bool training = false;                     // the root module was saved in training mode
  bool exported = false;                     // by torch.export: the sizes that types state hold at every run
};

}  // namespace compatcheck::ir
