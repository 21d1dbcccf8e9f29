// Chooses the forms of calls that the engines of --target take.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "conversion/assess.h"
#include "conversion/forms.h"
#include "engines/look.h"

namespace compatcheck::analysis {

// A form's costs with one engine: nodes that it doesn't support, and nodes of which its profile doesn't say.
struct FormCost {
  int unsupported = 0, unknown = 0;
  auto operator<=>(const FormCost&) const = default;
  friend FormCost operator+(FormCost a, FormCost b) { return {a.unsupported + b.unsupported, a.unknown + b.unknown}; }
  bool none() const { return *this == FormCost{}; }
};

// A call that isn't written in the form of the model's opset.
struct ReplacedForm {
  const ir::Node* node = nullptr;
  int form = 0;                                    // opset
  std::vector<std::string> newer, older;           // ONNX operators of the nodes of either form
  std::vector<std::optional<std::string>> limits;  // for each engine, why it doesn't take the newer form; absent: it does
};

// Two engines each take some form of a call, but no form is taken by both.
struct Conflict {
  const ir::Node* node = nullptr;
  std::size_t first = 0, second = 0;  // engines
};

class FormChoice {
 public:
  // Looks at the model with the forms that `forms` states, one for each engine; empty if no model can be made. What it returns
  // holds until the next call.
  using Look = std::function<std::span<const engines::Look>()>;

  // For one opset, at which the model converts. All must outlive it.
  FormChoice(conversion::Assessor& assessor, conversion::Forms& forms, int opset, Look look)
      : assessor_(assessor), forms_(forms), opset_(opset), look_(std::move(look)) {}

  // Leaves in `forms`, for each call with nodes that an engine doesn't support, the newest of the forms that cost least. The
  // whole never costs more than without other forms. The last look was at the result.
  void choose();

  const std::vector<ReplacedForm>& replaced() const { return replaced_; }
  const std::vector<Conflict>& conflicts() const { return conflicts_; }

 private:
  struct Seen {
    std::vector<std::string> operators;
    std::vector<FormCost> costs;                     // for each engine
    std::vector<std::optional<std::string>> limits;  // for each engine, the first message about an unsupported node
    FormCost total() const;
  };
  struct Candidate {
    std::vector<int> forms;    // that can be tried, newest first
    std::map<int, Seen> seen;  // by form; the model's own among them
    int best = 0;
  };
  struct Calls {
    std::unordered_map<const ir::Node*, Seen> seen;
    std::vector<const ir::Node*> order;  // of the model's nodes
  };
  using Candidates = std::vector<std::pair<const ir::Node*, Candidate>>;

  Calls look();
  void try_forms(Candidates& candidates);
  void note_conflicts(const ir::Node* node, const Candidate& candidate);

  conversion::Assessor& assessor_;
  conversion::Forms& forms_;
  int opset_;
  Look look_;
  FormCost whole_;  // of the last look
  std::vector<ReplacedForm> replaced_;
  std::vector<Conflict> conflicts_;
};

}  // namespace compatcheck::analysis
