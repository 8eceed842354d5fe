#include "nascent/train/state.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "train/toy.h"

namespace nascent {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

State example() {
  State state;
  state.put("weights", at::arange(6, at::kFloat).reshape({2, 3}));
  state.put("count", at::tensor(7, at::kLong));
  state.put("nothing", at::empty({0, 4}, at::kDouble));
  state.put("flags", at::arange(3).eq(1));
  state.values["epoch"] = 3;
  state.values["loss"] = 0.1;
  return state;
}

auto parse(const std::string& bytes) {
  return [bytes] { State::parse(bytes, "a.nascent"); };
}

TEST(State, ComesBackAsItWas) {
  const State state = example(), back = State::parse(state.serialise(), "test");
  for (const auto& [name, tensor] : state.tensors()) {
    EXPECT_EQ(back.tensor(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(back.tensor(name).equal(tensor)) << name;
  }
  EXPECT_EQ(back.values, state.values);
  EXPECT_EQ(back.values.at("loss").get<double>(), 0.1);
}

TEST(State, SameStateGivesSameBytes) {
  EXPECT_EQ(example().serialise(), example().serialise());
  EXPECT_EQ(State::parse(example().serialise(), "test").serialise(), example().serialise());
}

TEST(State, BytesDoNotDependOnMemoryFormat) {
  const auto images = at::randn({2, 3, 4, 5});
  State plain, channels_last;
  plain.put("x", images);
  channels_last.put("x", images.contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(plain.serialise(), channels_last.serialise());
}

TEST(State, CopyIntoKeepsTheTargetsMemoryFormat) {
  const auto images = at::randn({2, 3, 4, 5});
  State state;
  state.put("x", images);
  auto target = at::zeros({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  state.copy_into("x", target);
  EXPECT_TRUE(target.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(target.equal(images));
}

TEST(State, PutCopies) {
  auto tensor = at::ones({3});
  State state;
  state.put("x", tensor);
  tensor.zero_();
  EXPECT_TRUE(state.tensor("x").equal(at::ones({3})));
}

TEST(State, MissingOrDifferentTensorsAreNamed) {
  EXPECT_THAT([] { example().tensor("bias"); }, ThrowsMessage<Error>(HasSubstr("no tensor 'bias'")));
  EXPECT_THAT([] { example().value("step"); }, ThrowsMessage<Error>(HasSubstr("no value 'step'")));
  EXPECT_THAT(
      [] {
        example().copy_into("weights", at::zeros({3, 2}));
      },
      ThrowsMessage<Error>(HasSubstr("[2, 3] of float32; expected [3, 2] of float32")));
  EXPECT_THAT(
      [] {
        example().copy_into("weights", at::zeros({2, 3}, at::kDouble));
      },
      ThrowsMessage<Error>(HasSubstr("expected [2, 3] of float64")));
}

TEST(State, ForeignFilesAreRefused) {
  EXPECT_THAT(parse(""), ThrowsMessage<Error>(HasSubstr("a.nascent is not a checkpoint or model")));
  EXPECT_THAT(parse("PK\x03\x04 something else"), ThrowsMessage<Error>(HasSubstr("is not a checkpoint or model")));
}

TEST(State, OtherVersionsAreRefused) {
  std::string bytes = example().serialise();
  bytes[8] = 9;
  EXPECT_THAT(parse(bytes),
              ThrowsMessage<Error>(HasSubstr("format version 9; this version of Nascent reads version 1")));
}

TEST(State, EveryTruncationIsNoticed) {
  const std::string bytes = example().serialise();
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(State::parse(std::string_view(bytes).substr(0, length), "test"), Error) << length;
  }
  EXPECT_THAT(parse(bytes.substr(0, bytes.size() - 9)), ThrowsMessage<Error>(HasSubstr("its header announces")));
}

TEST(State, EveryFlippedByteIsNoticed) {
  const std::string bytes = example().serialise();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_THROW(State::parse(damaged, "test"), Error) << i;
  }
  std::string damaged = bytes;
  damaged[bytes.size() / 2] ^= 1;
  EXPECT_THAT(parse(damaged), ThrowsMessage<Error>(HasSubstr("its checksum is")));
}

TEST(State, FilesNameThemselvesInErrors) {
  const toy::Folder folder;
  const auto path = folder.path() / "x.nascent";
  save_state(example(), path);
  EXPECT_EQ(load_state(path).origin(), path.string());
  write_file(path, "rubbish");
  EXPECT_THAT([&] { load_state(path); }, ThrowsMessage<Error>(HasSubstr(path.string())));
}

}  // namespace
}  // namespace nascent
