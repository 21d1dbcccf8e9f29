// The structs of options of the public headers, as the Python package fills them.
#pragma once

#include <nanobind/nanobind.h>

namespace compatcheck::python {

void bind_options(nanobind::module_& module);

}  // namespace compatcheck::python
