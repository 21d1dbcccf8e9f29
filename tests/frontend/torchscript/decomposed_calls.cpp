// Runs operators as the interpreter does, for check_decomposed.py.
//   decomposed_calls < lines of "operator<tab>arguments.pt<tab>results.pt"
// reads each tuple of arguments as torch.save writes it, and writes the list of results.
#include <torch/csrc/jit/serialization/pickle.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "frontend/torchscript/interpreter_operators.h"

int main() {
  compatcheck::frontend::torchscript::Operators operators;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string op, from, to;
    words >> op >> from >> to;
    std::ifstream file(from, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    const c10::IValue loaded = torch::jit::pickle_load(bytes);
    const auto arguments = loaded.toTupleRef().elements();
    const auto results = operators.call(op, "", std::vector<c10::IValue>(arguments.begin(), arguments.end()));
    const auto written = torch::jit::pickle_save(c10::ivalue::Tuple::create(results));
    std::ofstream(to, std::ios::binary).write(written.data(), static_cast<std::streamsize>(written.size()));
  }
}
