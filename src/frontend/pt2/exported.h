// Reads an exported program (torch.export.save) into an ir::Program, whose root object holds the tensors.
#pragma once

#include <string>

#include "files/input_file.h"
#include "files/zip.h"
#include "frontend/pt2/interface.h"
#include "ir/program.h"
#include "ir/watch.h"
#include "schema/schema.h"

namespace compatcheck::frontend::pt2 {

struct Exported {
  ir::Program program;
  ExportedInterface interface;
};

// `model`: which program of several; may be empty. Throws ModelError for what can't be read.
Exported read_exported(const files::InputFile& file, const files::ZipDirectory& directory, const std::string& model,
                       const schema::Registry& schemas, const ir::Watch& watch = {});

}  // namespace compatcheck::frontend::pt2
