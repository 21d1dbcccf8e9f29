#include "frontend/libtorch_message.h"

#include <gtest/gtest.h>

namespace compatcheck::frontend {
namespace {

TEST(FirstSentence, OfADispatchersText) {
  EXPECT_EQ(
      first_sentence("Could not run 'aten::empty_quantized' with arguments from the 'Meta' backend. This could be because the "
                     "operator doesn't exist for this backend.\n\nCPU: registered at x.cpp:1\nException raised from y"),
      "Could not run 'aten::empty_quantized' with arguments from the 'Meta' backend.");
}

TEST(FirstSentence, LeavesNamesAndNumbersWhole) {
  EXPECT_EQ(first_sentence("\n\ntorch.nn.Linear has 1.5 of v. 2 ... Not more\nframe #0: f"),
            "torch.nn.Linear has 1.5 of v. 2 ... Not more");
}

TEST(FirstSentence, NamesThePlaceThatItPointsAt) {
  EXPECT_EQ(
      first_sentence("expected ; but found 'x' here:\n  File \"code/__torch__/net.py\", line 12\n    return x x\n  ~ <--- HERE"),
      "syntax error: expected ; but found 'x' (code/__torch__/net.py:12)");
  EXPECT_EQ(
      first_sentence("type.present() INTERNAL ASSERT FAILED at \"/torch/parser.cpp\":531, please report a bug to PyTorch. "),
      "a check inside of libtorch failed: type.present()");
  EXPECT_EQ(first_sentence("Unknown builtin op: acme::f.\nHere are some suggestions:"), "Unknown builtin op: acme::f.");
}

TEST(FirstSentence, StandsBelowATraceback) {
  EXPECT_EQ(
      first_sentence("The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent "
                     "call last):\nRuntimeError: size mismatch\n"),
      "size mismatch");
}

TEST(FirstSentence, MayBeNone) { EXPECT_EQ(first_sentence("\n \n"), ""); }

}  // namespace
}  // namespace compatcheck::frontend
