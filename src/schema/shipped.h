// The text of torch_schemas.txt and torchvision_schemas.txt, one schema a line, overloads of a name together.
#pragma once

#include <string_view>

namespace compatcheck::schema {

extern const std::string_view shipped[2];

}  // namespace compatcheck::schema
