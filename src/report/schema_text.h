// reports/report.schema.json, embedded at build time.
#pragma once

namespace compatcheck::report {

extern const char* const schema_text;

}  // namespace compatcheck::report
