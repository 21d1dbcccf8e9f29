// Reads an exported program (torch.export.save) into an ir::Program, whose root object holds the tensors.
#pragma once

#include <string>
#include <vector>

#include "frontend/input_file.h"
#include "frontend/pt2/interface.h"
#include "frontend/zip.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::frontend::pt2 {

struct Exported {
  ir::Program program;
  ExportedInterface interface;
};

// The program's graph as the file has it, with the tensors as constants: what is run to know what the program computes. Those
// that `state` names are inputs at the end instead, and what they hold after the call are outputs at the end.
ir::Graph reference_graph(const ir::Program& program, const std::vector<std::string>& state = {});

// `model`: which program of several; may be empty. Throws ModelError for what can't be read.
Exported read_exported(const InputFile& file, const ZipDirectory& directory, const std::string& model,
                       const schema::Registry& schemas, const ir::Watch& watch = {});

}  // namespace compatcheck::frontend::pt2
