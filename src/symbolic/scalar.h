// Tensors that become Python's numbers.
#pragma once

#include <string_view>

namespace compatcheck::symbolic {

// int(x), bool(x), x.item(): of exactly one element.
bool takes_one_element(std::string_view op, std::string_view overload);

}  // namespace compatcheck::symbolic
