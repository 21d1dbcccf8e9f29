// A list of models on stdin, lines of "model.pt[<tab>--input texts…]", to lines of JSON on stdout: of each, {id, opset, …}.
#pragma once

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "compatcheck/load.h"

namespace compatcheck {

struct ListedModel {
  std::string id;  // the file's name, without its ending
  Model model;
  std::vector<std::string> inputs;  // as --input takes them
};

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// Of "9,17".
inline std::vector<int> opsets_of(const std::string& text) {
  std::vector<int> opsets;
  for (const auto& opset : split(text, ',')) opsets.push_back(std::stoi(opset));
  return opsets;
}

inline std::filesystem::path onnx_file(const std::filesystem::path& folder, const std::string& id, int opset) {
  return folder / (id + "@" + std::to_string(opset) + ".onnx");
}

// Flushed: a crash loses no line before it.
inline void print_line(const std::string& id, int opset, nlohmann::json line) {
  line["id"] = id;
  line["opset"] = opset;
  std::cout << line.dump() << std::endl;
}

// `look` prints a model's lines; where the model can't be loaded, or `look` throws, `failure` makes the line of opset 0.
template <typename Look, typename Failure>
void for_each_listed(const std::filesystem::path& helper, Look look, Failure failure) {
  Loader loader({.helper = helper});
  for (std::string line; std::getline(std::cin, line);) {
    auto words = split(line, '\t');
    const std::filesystem::path file = words.front();
    words.erase(words.begin());
    const std::string id = file.stem().string();
    try {
      look(ListedModel{id, loader.load(file), words});
    } catch (const std::exception& error) {
      print_line(id, 0, failure(error));
    }
  }
}

}  // namespace compatcheck
