#include "frontend/libtorch_message.h"

#include <cctype>

namespace compatcheck::frontend {
namespace {

constexpr std::string_view blank = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(blank);
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(blank) + 1 - first);
}

std::string_view without_frames(std::string_view text) {
  for (const std::string_view start : {"\nException raised from ", "\nframe #"}) text = text.substr(0, text.find(start));
  return trimmed(text);
}

// The failure is below TorchScript's own traceback.
std::string_view without_traceback(std::string_view text) {
  constexpr std::string_view raised = "RuntimeError: ";
  if (!text.starts_with("The following operation failed")) return text;
  if (const auto at = text.rfind(raised); at != text.npos) return trimmed(text.substr(at + raised.size()));
  const auto line = text.rfind('\n');
  return line == text.npos ? text : trimmed(text.substr(line));
}

// A full stop before a new word: not one inside of a name, a number or a file.
std::size_t end_of_sentence(std::string_view line) {
  for (auto stop = line.find(". "); stop != line.npos; stop = line.find(". ", stop + 1)) {
    const auto next = line.find_first_not_of(' ', stop + 1);
    if (next != line.npos && std::isupper(static_cast<unsigned char>(line[next])) && stop > 0 && line[stop - 1] != '.')
      return stop + 1;
  }
  return line.size();
}

// `File "code/net.py", line 3` as "code/net.py:3".
std::string place_in(std::string_view lines) {
  constexpr std::string_view file = "File \"", line = "\", line ";
  const auto start = lines.find(file);
  const auto end = start == lines.npos ? start : lines.find(line, start + file.size());
  if (end == lines.npos) return {};
  const std::string_view number = lines.substr(end + line.size());
  return std::string(lines.substr(start + file.size(), end - start - file.size())) + ":" +
         std::string(number.substr(0, number.find_first_not_of("0123456789")));
}

}  // namespace

std::string first_sentence(std::string_view message) {
  const std::string_view text = without_traceback(without_frames(message));
  const std::string_view line = trimmed(text.substr(0, text.find('\n')));
  std::string sentence(line.substr(0, end_of_sentence(line)));
  if (const auto check = sentence.find(" INTERNAL ASSERT FAILED at \""); check != sentence.npos)
    return "a check inside of libtorch failed: " + sentence.substr(0, check);
  if (!sentence.ends_with(':')) return sentence;
  sentence.pop_back();
  if (constexpr std::string_view here = " here"; sentence.starts_with("expected ") && sentence.ends_with(here))
    sentence = "syntax error: " + sentence.substr(0, sentence.size() - here.size());
  const std::string place = place_in(text.substr(line.size()));
  return place.empty() ? sentence : sentence + " (" + place + ")";
}

}  // namespace compatcheck::frontend
