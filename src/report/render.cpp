#include "compatcheck/render.h"

#include "analysis/boundary.h"
#include "report/json.h"
#include "report/schema_text.h"
#include "report/text.h"
#include "report/verification.h"

namespace compatcheck {

std::string render(std::span<const Report> reports, Format format, const RenderOptions& options) {
  return analysis::guarded("the report", [&]() -> std::string {
    switch (format) {
      case Format::text: return report::text(reports, options);
      case Format::json: return report::json(reports, options.as_list);
      case Format::jsonl: return report::json_lines(reports);
    }
    return {};
  });
}

std::string render(const Report& report, Format format, const RenderOptions& options) {
  return render(std::span(&report, 1), format, options);
}

std::string render(const Verification& verification, Format format, const RenderOptions& options) {
  return analysis::guarded("the report", [&] {
    return format == Format::text ? report::text(verification, options) : report::json(verification, format == Format::jsonl);
  });
}

std::string json_schema() { return report::schema_text; }

}  // namespace compatcheck
