// Runs a model for tests and on request; loading never runs one.
#pragma once

#include "frontend/protocol.h"

namespace compatcheck::frontend::torchscript {

// The method of the module against the graph by the interpreter, on the same random inputs; what either writes to its
// inputs counts as output. Throws ModelError if the module itself can't be run on any inputs that can be made.
protocol::ExecutionReply compare_execution(const protocol::ExecutionRequest& request);

// Returns every tensor value of the graph in a run on random inputs; several entries for a value in a loop whose
// iterations differ. Throws ModelError if it can't be run.
protocol::ObserveReply observe(const protocol::ObserveRequest& request);

// The method on given arguments, call by call; a call that fails gives its reason.
protocol::RunReply run(const protocol::RunRequest& request);

// Inner values of a graph on given arguments. Values that weren't requested are freed as soon as nothing reads them. Throws
// ModelError if the graph doesn't run.
protocol::ValuesReply values(const protocol::ValuesRequest& request);

}  // namespace compatcheck::frontend::torchscript
