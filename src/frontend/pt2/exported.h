// Exported programs (torch.export.save) as the rest of the tool takes models: an ir::Program whose root object holds the tensors.
#pragma once

#include <string>

#include "frontend/input_file.h"
#include "frontend/pt2/interface.h"
#include "frontend/zip.h"
#include "ir/program.h"
#include "schema/schema.h"

namespace compatcheck::frontend::pt2 {

struct Exported {
  ir::Program program;
  ExportedInterface interface;
};

// The program's graph as the file has it, with the tensors as constants: what is run to know what the program computes. What it
// writes to its state isn't seen after the call.
ir::Graph reference_graph(const ir::Program& program);

// `model`: which program of several; may be empty. Throws ModelError for what can't be read.
Exported read_exported(const InputFile& file, const ZipDirectory& directory, const std::string& model, const schema::Registry& schemas);

}  // namespace compatcheck::frontend::pt2
