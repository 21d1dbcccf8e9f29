// The files of reports/html/, as the build found them.
#pragma once

#include <string_view>

namespace compatcheck::report {

// The page, with @style@, @style_hash@, @script@, @script_hash@ and @data@ where these belong.
extern const std::string_view html_page, html_style, html_script;
// The script of the page of very many reports.
extern const std::string_view html_registry_script;

}  // namespace compatcheck::report
