// Reads an exported program (torch.export.save) into an ir::Program, whose root object holds the tensors.
#pragma once

#include <string>

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

// `model`: which program of several; may be empty. Throws ModelError for what can't be read.
Exported read_exported(const InputFile& file, const ZipDirectory& directory, const std::string& model,
                       const schema::Registry& schemas, const ir::Watch& watch = {});

}  // namespace compatcheck::frontend::pt2
