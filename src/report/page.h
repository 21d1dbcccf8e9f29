// A page of tables, as text for people or as markdown.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compatcheck/render.h"

namespace compatcheck::report {

struct TableRow {
  std::vector<std::string> cells;
  std::vector<std::string> details{};  // text: a line each under the row; markdown: a last cell
};

struct Table {
  std::string title;
  std::vector<std::string> columns;  // headings in markdown; omitted in text
  std::vector<TableRow> rows;        // none: the table isn't shown
  std::string folded{};              // "place": what details are one of, where markdown folds them
};

struct Page {
  std::string title;
  std::vector<std::string> lines;
  std::vector<Table> tables;
};

// All texts in it must be printable.
std::string text(const Page& page, const RenderOptions& options);
std::string markdown(const Page& page);  // nothing of it is markup
// One file without scripts, of the sections of its pages.
std::string html_section(const Page& page);
std::string html_of_sections(const std::string& title, std::span<const std::string> sections);

std::string bytes(std::uint64_t count);                    // "512 B", "97.5 MB"
std::string shape(const std::vector<std::string>& sizes);  // "[2,3]"
std::string type(const TensorInfo& info);                  // "f32[batch,3]"

}  // namespace compatcheck::report
