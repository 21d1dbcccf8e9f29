// Vectors: FIPS 180-4's examples (NIST, "SHA256.pdf").
#include "files/sha256.h"

#include <gmock/gmock.h>

#include "compatcheck/error.h"
#include "frontend/sample_archive.h"

namespace compatcheck::frontend {
namespace {

using testing::as_bytes;

TEST(files::Sha256, StandardVectors) {
  EXPECT_EQ(files::sha256_of({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(files::sha256_of(as_bytes("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(files::sha256_of(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(files::sha256_of(as_bytes(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(files::Sha256, PiecesOfAnySizeGiveTheSame) {
  const std::string text(300, 'q');
  for (std::size_t step = 1; step < 130; ++step) {
    files::Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += step) hash.add(std::string_view(text).substr(at, step));
    EXPECT_EQ(std::move(hash).finish(), files::sha256_of(as_bytes(text))) << step;
  }
}

TEST(files::Sha256, OfFile) {
  const testing::Folder folder;
  const std::string content(3000001, 'z');
  EXPECT_EQ(files::sha256_of_file(folder.write("model.pt", content)), files::sha256_of(as_bytes(content)));
  EXPECT_THROW(files::sha256_of_file(folder.path() / "absent"), ModelError);
}

}  // namespace
}  // namespace compatcheck::frontend
