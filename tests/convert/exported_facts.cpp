// What we state of every value of exported programs against what torch.export wrote of it: dtypes, ranks and sizes that are
// numbers in both.
//   exported_facts FOLDER...     folders of *.pt2 files, however deep
#include <filesystem>
#include <iostream>
#include <set>

#include "analysis/prepare.h"
#include "compatcheck/error.h"
#include "compatcheck/load.h"
#include "ir/value_name.h"

namespace compatcheck::analysis {
namespace {

std::string difference(const symbolic::TensorFact& fact, const ir::TensorType& type) {
  if (fact.dtype && type.dtype && *fact.dtype != *type.dtype)
    return std::string(ir::name(*fact.dtype)) + ", and the file says " + std::string(ir::name(*type.dtype));
  if (!fact.shape || !type.sizes) return {};
  if (fact.shape->size() != type.sizes->size())
    return "rank " + std::to_string(fact.shape->size()) + ", and the file says " + std::to_string(type.sizes->size());
  for (std::size_t i = 0; i < type.sizes->size(); ++i) {
    const auto ours = (*fact.shape)[i].number();
    const auto theirs = (*type.sizes)[i];
    if (ours && theirs && *ours != *theirs)
      return "dimension " + std::to_string(i) + " is " + std::to_string(*ours) + ", and the file says " + std::to_string(*theirs);
  }
  return {};
}

class Programs {
 public:
  void compare(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    try {
      const Model model = loader_.load(file);
      const Prepared prepared = prepare(model.state(), {}, {});
      ++programs_;
      ir::for_each_node(*prepared.graph.top(), [&](const ir::Node* node) {
        for (const ir::Value* output : node->outputs()) compare(name, *node, *output, prepared.facts.of(output));
      });
    } catch (const ModelError& error) {  // what can't be read is tested elsewhere
      std::cout << name << ": not read: " << std::string(error.what()).substr(0, 120) << "\n";
    }
  }

  int summarize() const {
    std::cout << programs_ << " programs, " << values_ << " values, " << sized_ << " with a size that both state, "
              << differences_ << " differences\n";
    return differences_ > 0 || programs_ == 0 || sized_ == 0 ? 1 : 0;
  }

 private:
  void compare(const std::string& name, const ir::Node& node, const ir::Value& output, const symbolic::Fact& fact) {
    const auto* tensor = fact.tensor();
    if (!ir::is(output.type(), ir::TypeKind::tensor) || !tensor) return;
    const ir::TensorType& type = output.type()->tensor;
    if (!type.dtype && !type.sizes) return;
    ++values_;
    sized_ += tensor->shape && !tensor->shape->empty() && type.sizes;
    if (const std::string different = difference(*tensor, type); !different.empty()) {
      ++differences_;
      std::cout << name << ": %" << output.name() << " of " << node.op() << " is " << different << "\n";
    }
  }

  Loader loader_{LoadOptions{.helper = COMPATCHECK_HELPER}};
  std::size_t programs_ = 0, values_ = 0, sized_ = 0, differences_ = 0;
};

}  // namespace
}  // namespace compatcheck::analysis

int main(int count, char** arguments) {
  compatcheck::analysis::Programs programs;
  std::set<std::filesystem::path> files;
  for (int i = 1; i < count; ++i)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(arguments[i]))
      if (entry.path().extension() == ".pt2") files.insert(entry.path());
  for (const auto& file : files) programs.compare(file);
  return programs.summarize();
}
