#include "nascent/export/state_dict.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "nascent/core/error.h"
#include "nascent/core/random.h"
#include "nascent/export/safetensors.h"

namespace nascent {
namespace {

// As torch.save writes a state dict.
std::string saved(const StateDict& tensors) {
  c10::Dict<std::string, at::Tensor> dict;
  for (const auto& [name, tensor] : tensors) dict.insert(name, tensor);
  const std::vector<char> bytes = torch::jit::pickle_save(dict);
  return {bytes.begin(), bytes.end()};
}

const StateDict& known_tensors() {
  static const StateDict tensors = {{"stem.0.weight", at::arange(24, at::kFloat).view({2, 3, 2, 2})},
                                    {"stem.1.running_mean", at::arange(5, at::kDouble)},
                                    {"stem.1.num_batches_tracked", at::full({}, 7, at::kLong)},
                                    {"turned", at::arange(6, at::kFloat).view({2, 3}).t()},
                                    {"part", at::arange(10, at::kFloat).slice(0, 3, 9, 2)}};
  return tensors;
}

TEST(StateDict, IsReadAsItWasSaved) {
  const StateDict found = parse_state_dict(saved(known_tensors()), "file");
  ASSERT_EQ(found.size(), known_tensors().size());
  for (const auto& [name, tensor] : known_tensors()) EXPECT_TRUE(found.at(name).equal(tensor)) << name;
}

// Some bytes changed, or the end cut off: tensors or an Error, never anything else.
void read_damaged(const std::string& good, int times) {
  RandomStream random(3, "damage");
  for (int i = 0; i < times; ++i) {
    std::string bytes = good;
    const int64_t changes = 1 + random.below(4);
    for (int64_t change = 0; change < changes; ++change)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    if (i % 10 == 0) bytes.resize(random.below(bytes.size()));
    try {
      parse_state_dict(bytes, "damaged");
    } catch (const Error&) {  // what is expected of most
    }
  }
}

TEST(StateDict, DamagedFilesAreReadOrRefused) {
  EXPECT_NO_THROW(read_damaged(saved(known_tensors()), 5000));
  EXPECT_NO_THROW(read_damaged(write_safetensors({known_tensors(), {{"key", "text"}}}), 5000));
}

TEST(StateDict, WhatIsNoneIsRefusedWithAdvice) {
  const auto refuses = [](const std::string& bytes, const std::string& text) {
    EXPECT_THAT([&] { parse_state_dict(bytes, "file.pt"); },
                testing::ThrowsMessage<Error>(testing::AllOf(testing::HasSubstr("file.pt"), testing::HasSubstr(text))));
  };
  refuses("hello", "neither");
  refuses("", "neither");
  refuses(std::string("\x80\x02\x8a\x0a", 4) + "old", "before PyTorch 1.6");
  const std::vector<char> list = torch::jit::pickle_save(std::vector<at::Tensor>{at::zeros({2})});
  refuses({list.begin(), list.end()}, "state_dict()");
}

}  // namespace
}  // namespace nascent
