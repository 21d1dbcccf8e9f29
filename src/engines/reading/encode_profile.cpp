#include "engines/reading/read_profile.h"
#include "mapping/reading/archive.h"

namespace compatcheck::engines {

using mapping::all;
using mapping::is;

template <class Archive, is<Versions> T>
void transfer(Archive& archive, T& v) {
  all(archive, v.first, v.last);
}
template <class Archive, is<TypeList> T>
void transfer(Archive& archive, T& t) {
  all(archive, t.of, t.excluded, t.names);
}
template <class Archive, is<Entry> T>
void transfer(Archive& archive, T& e) {
  all(archive, e.versions, e.types, e.when, e.support, e.decides, e.words, e.note, e.place);
}
template <class Archive, is<Behind> T>
void transfer(Archive& archive, T& b) {
  all(archive, b.engine, b.place);
}
template <class Archive, is<OperatorEntries> T>
void transfer(Archive& archive, T& o) {
  all(archive, o.name, o.entries);
}
template <class Archive, is<Profile> T>
void transfer(Archive& archive, T& p) {
  all(archive, p.engine, p.title, p.version, p.source, p.date, p.opsets, p.ir, p.match, p.unlisted, p.functions,
      p.local_functions, p.behind, p.initializers, p.own, p.dtypes, p.reads, p.casts, p.fallback, p.operators);
}

std::string encode(const Profile& profile) {
  std::vector<std::string> files;
  mapping::Writer body(files), whole(files);
  transfer(body, profile);
  whole.number(files.size());
  for (const std::string& file : files) whole.text(file);
  whole.text(std::move(body).take());
  return std::move(whole).take();
}

Profile decode(std::string_view bytes) {
  mapping::Reader whole(bytes, {});
  std::vector<std::string_view> files;
  for (std::uint64_t count = whole.number(); count > 0; --count) files.push_back(whole.text());
  mapping::Reader body(whole.text(), files);
  Profile profile;
  transfer(body, profile);
  return profile;
}

}  // namespace compatcheck::engines
