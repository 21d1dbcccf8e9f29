// reports/*.schema.json, embedded at build time.
#pragma once

namespace compatcheck::report {

extern const char* const schema_text;
extern const char* const verify_schema_text;
extern const char* const inspect_schema_text;
extern const char* const diff_schema_text;

}  // namespace compatcheck::report
