#include "report/page.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "report/html.h"
#include "report/html_page.h"
#include "report/style.h"

namespace compatcheck::report {
namespace {

constexpr std::size_t widest_padded = 60;  // longer cells don't widen the column

struct Column {
  std::size_t width = 0;
  bool numbers = true;  // nothing else: to the right
};

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == ','; });
}

std::vector<Column> columns_of(const Table& table) {
  std::vector<Column> made;
  for (const TableRow& row : table.rows) {
    made.resize(std::max(made.size(), row.cells.size()));
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      made[i].numbers &= is_number(row.cells[i]);
      if (const std::size_t width = columns(row.cells[i]); width <= widest_padded) made[i].width = std::max(made[i].width, width);
    }
  }
  return made;
}

std::string row_text(const TableRow& row, const std::vector<Column>& all) {
  std::string line;
  for (std::size_t i = 0; i < row.cells.size(); ++i)
    line += (i ? "  " : "") + (all[i].numbers ? pad_left(row.cells[i], all[i].width) : pad_right(row.cells[i], all[i].width));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// As GitHub and GitLab read it: nothing becomes markup, a link, or a word to somebody.
std::string escaped_markdown(const std::string& cell) {
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const char c = cell[i];
    const char next = i + 1 < cell.size() ? cell[i + 1] : '\0';
    const bool links = (c == ':' && cell.compare(i, 3, "://") == 0) || (c == '.' && i >= 3 && cell.compare(i - 3, 3, "www") == 0);
    const bool ends_link = c == ']' && (next == '(' || next == '[' || next == ':');
    if (c == '|' || c == '*' || c == '_' || c == '`' || c == '\\' || c == '~' || ends_link)
      text += std::string("\\") + c;
    else if (c == '<')
      text += "&lt;";
    else if (c == '&')
      text += "&amp;";
    else if (c == '@' || c == '#' || links)
      text += "&#" + std::to_string(c) + ";";
    else
      text += c;
  }
  return text;
}

std::string folded_details(const TableRow& row, const Table& table) {
  std::string joined;
  for (const auto& detail : row.details) joined += (joined.empty() ? "" : "<br>") + escaped_markdown(detail);
  if (table.folded.empty() || joined.empty()) return joined;
  return "<details><summary>" + count(static_cast<long long>(row.details.size()), table.folded) + "</summary>" + joined +
         "</details>";
}

std::string escaped_html(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '<')
      made += "&lt;";
    else if (c == '&')
      made += "&amp;";
    else
      made += c;
  }
  return made;
}

std::string html_cell(const TableRow& row, std::size_t place, const Column& column) {
  const std::string text = place < row.cells.size() ? escaped_html(row.cells[place]) : "";
  return std::string("<td") + (column.numbers ? " class=\"numeric\">" : ">") + text + "</td>";
}

std::string html_table(const Table& table) {
  const bool has_details = std::ranges::any_of(table.rows, [](const TableRow& row) { return !row.details.empty(); });
  std::vector<Column> all = columns_of(table);
  all.resize(table.columns.size());
  std::string made = "<h2>" + escaped_html(table.title) + "</h2>\n<div class=\"scroll\"><table>\n<thead><tr>";
  for (const std::string& column : table.columns) made += "<th scope=\"col\">" + escaped_html(column) + "</th>";
  made += (has_details ? "<th scope=\"col\">places</th>" : "") + std::string("</tr></thead>\n<tbody>\n");
  for (const TableRow& row : table.rows) {
    made += "<tr>";
    for (std::size_t i = 0; i < table.columns.size(); ++i) made += html_cell(row, i, all[i]);
    std::string details;
    for (const std::string& detail : row.details) details += "<li>" + escaped_html(detail) + "</li>";
    if (has_details) made += "<td>" + (details.empty() ? details : "<ul class=\"plain\">" + details + "</ul>") + "</td>";
    made += "</tr>\n";
  }
  return made + "</tbody>\n</table></div>\n";
}

}  // namespace

std::string text(const Page& page, const RenderOptions& options) {
  const Style style(options.color);
  const auto middle = page.title.find(" · ");
  std::string all =
      style(Color::bold, page.title.substr(0, middle)) + (middle == page.title.npos ? "" : page.title.substr(middle)) + "\n";
  for (const auto& line : page.lines) all += "  " + line + "\n";
  for (const Table& table : page.tables) {
    if (table.rows.empty()) continue;
    all += "\n" + style(Color::bold, table.title) + "\n";
    const auto all_columns = columns_of(table);
    for (const TableRow& row : table.rows) {
      all += "  " + row_text(row, all_columns) + "\n";
      for (const auto& detail : row.details)
        all += "      " + style(Color::dim, fit(detail, options.width > 20 ? options.width - 6 : 20)) + "\n";
    }
  }
  return all;
}

std::string markdown(const Page& page) {
  std::string all = "# " + escaped_markdown(page.title) + "\n";
  for (const auto& line : page.lines) all += "\n" + escaped_markdown(line) + "\n";
  for (const Table& table : page.tables) {
    if (table.rows.empty()) continue;
    const bool has_details = std::ranges::any_of(table.rows, [](const TableRow& row) { return !row.details.empty(); });
    all += "\n## " + escaped_markdown(table.title) + "\n\n|";
    for (const auto& column : table.columns) all += " " + escaped_markdown(column) + " |";
    if (has_details) all += " |";
    all += "\n|";
    for (std::size_t i = 0; i < table.columns.size() + has_details; ++i) all += "---|";
    all += "\n";
    for (const TableRow& row : table.rows) {
      all += "|";
      for (const auto& cell : row.cells) all += " " + escaped_markdown(cell) + " |";
      for (std::size_t i = row.cells.size(); i < table.columns.size(); ++i) all += " |";
      if (has_details) all += " " + folded_details(row, table) + " |";
      all += "\n";
    }
  }
  return all;
}

std::string html_section(const Page& page) {
  std::string all = "<section class=\"part\">\n<h1>" + escaped_html(page.title) + "</h1>\n";
  for (const auto& line : page.lines) all += "<p>" + escaped_html(line) + "</p>\n";
  for (const Table& table : page.tables)
    if (!table.rows.empty()) all += html_table(table);
  return all + "</section>\n";
}

std::string html_of_sections(const std::string& title, std::span<const std::string> sections) {
  std::string all =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src '" +
      policy_hash(html_style) +
      "'; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>" +
      escaped_html(title) + " · compatcheck</title>\n<style>" + std::string(html_style) + "</style>\n</head>\n<body>\n<main>\n";
  for (const std::string& section : sections) all += section;
  return all + "</main>\n</body>\n</html>\n";
}

std::string bytes(std::uint64_t count) {
  if (count < 1000) return std::to_string(count) + " B";
  constexpr std::array units{"kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(count);
  std::size_t unit = 0;
  for (value /= 1000; value >= 999.95 && unit + 1 < units.size(); value /= 1000) ++unit;
  char written[32];
  std::snprintf(written, sizeof written, "%.1f %s", value, units[unit]);
  return written;
}

std::string shape(const std::vector<std::string>& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? "," : "") + sizes[i];
  return text + "]";
}

std::string type(const TensorInfo& info) { return info.dtype + (info.shape ? shape(*info.shape) : ""); }

}  // namespace compatcheck::report
