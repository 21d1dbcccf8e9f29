// Stand-ins for operators and methods of classes that nobody registered, so that the model can be loaded all the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/native/calls.h"
#include "frontend/native/calls_in_code.h"
#include "ir/program.h"

namespace compatcheck::frontend::native {

class Stubs {
 public:
  // An operator, or a method of a class, as its calls show it.
  struct Stub {
    CallShape shape;
    std::vector<std::string> candidates;  // result types to try, best first: "Tensor", "(Tensor, Tensor)", "Tensor[]"
    std::size_t tried = 0;

    const std::string& result() const { return candidates[tried]; }
    std::vector<ir::TypeRef> results() const;
    // In the order of the arguments that the calls show; what a call leaves out is None.
    std::vector<Typed> inputs(const Arguments& given, GraphBuilder& builder) const;
  };

  // "my_lib::scale", "__torch__.torch.classes.my_lib.Net.run".
  const Stub& find(const std::string& callee, Definitions& definitions);
  void add(const std::string& callee, CallShape shape);
  const std::map<std::string, Stub>& all() const { return stubs_; }

  // After code didn't fit the results: whether there is something else to try.
  bool try_other_results();

  // The schemas that were assumed, with the types that the program's graphs show, and what was assumed.
  void describe(ir::Program& program) const;

 private:
  std::map<std::string, Stub> stubs_;
  std::size_t attempts_ = 0;
  std::size_t varied_ = 0;  // index of the stub whose result type is being varied
};

}  // namespace compatcheck::frontend::native
